"""InitProducerId (key 22), versions 0-6. Generated from definitions/init_producer_id.txt by oncelog.protocol.generate: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct as Layout
from struct import error as LayoutError

from oncelog.errors import MalformedMessage
from oncelog.protocol.primitives import (
    BytesLike,
    Message,
    UnwritableMessage,
    WRITE_FAULTS,
    cut_short,
    more_string_length,
    not_text,
    skip_tags,
    string_length,
    unsupported,
    unwritable,
)

_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ihqh = Layout(">ihqh").pack
_p_o = Layout(">?").pack
_p_q = Layout(">q").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_ihqh = Layout(">ihqh").unpack_from
_u_o = Layout(">?").unpack_from
_u_q = Layout(">q").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class InitProducerIdRequest(Message):
    """InitProducerIdRequest, versions 0-6."""

    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int
    producer_epoch: int
    enable2_pc: bool
    keep_prepared_txn: bool

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable2_pc: bool = False,
        keep_prepared_txn: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable2_pc = enable2_pc
        self.keep_prepared_txn = keep_prepared_txn

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> InitProducerIdRequest:
        if 2 <= version <= 6:
            return _read_init_producer_id_request_2_6(data, version, at)
        if 0 <= version <= 1:
            return _read_init_producer_id_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('InitProducerIdRequest', '0-6', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 6:
                return _write_init_producer_id_request_2_6(self, out, version)
            if 0 <= version <= 1:
                return _write_init_producer_id_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('InitProducerIdRequest', version, why) from why
        raise UnwritableMessage(unsupported('InitProducerIdRequest', '0-6', version))


def _read_init_producer_id_request_2_6(data: BytesLike, version: int, pos: int) -> InitProducerIdRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = InitProducerIdRequest.__new__(InitProducerIdRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.transactional_id = None
        else:
            end = pos + n - 1
            m.transactional_id = buf[pos:end].decode()
            pos = end
        m.transaction_timeout_ms, = _u_i(buf, pos)
        pos += 4
        if version >= 3:
            m.producer_id, = _u_q(buf, pos)
            pos += 8
        else:
            m.producer_id = -1
        if version >= 3:
            m.producer_epoch, = _u_h(buf, pos)
            pos += 2
        else:
            m.producer_epoch = -1
        if version >= 6:
            m.enable2_pc, = _u_o(buf, pos)
            pos += 1
        else:
            m.enable2_pc = False
        if version >= 6:
            m.keep_prepared_txn, = _u_o(buf, pos)
            pos += 1
        else:
            m.keep_prepared_txn = False
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('InitProducerIdRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('InitProducerIdRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('InitProducerIdRequest', version, pos, size)
    return m


def _read_init_producer_id_request_0_1(data: BytesLike, version: int, pos: int) -> InitProducerIdRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = InitProducerIdRequest.__new__(InitProducerIdRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            m.transactional_id = None
        else:
            end = pos + n
            m.transactional_id = buf[pos:end].decode()
            pos = end
        m.producer_id = -1
        m.producer_epoch = -1
        m.enable2_pc = False
        m.keep_prepared_txn = False
        m.transaction_timeout_ms, = _u_i(buf, pos)
        pos += 4
    except (IndexError, LayoutError):
        raise cut_short('InitProducerIdRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('InitProducerIdRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('InitProducerIdRequest', version, pos, size)
    return m


def _write_init_producer_id_request_2_6(m: InitProducerIdRequest, out: bytearray, version: int) -> None:
    if m.transactional_id is None:
        out.append(0)
    else:
        text = m.transactional_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_i(m.transaction_timeout_ms)
    if version >= 3:
        out += _p_q(m.producer_id)
    if version >= 3:
        out += _p_h(m.producer_epoch)
    if version >= 6:
        out += _p_o(m.enable2_pc)
    if version >= 6:
        out += _p_o(m.keep_prepared_txn)
    out.append(0)


def _write_init_producer_id_request_0_1(m: InitProducerIdRequest, out: bytearray, version: int) -> None:
    if m.transactional_id is None:
        out += b'\xff\xff'
    else:
        text = m.transactional_id.encode()
        out += _p_h(len(text))
        out += text
    out += _p_i(m.transaction_timeout_ms)


@dataclass(slots=True, init=False, repr=False, eq=False)
class InitProducerIdResponse(Message):
    """InitProducerIdResponse, versions 0-6."""

    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int
    ongoing_txn_producer_id: int
    ongoing_txn_producer_epoch: int

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing_txn_producer_id = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch = ongoing_txn_producer_epoch

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> InitProducerIdResponse:
        if 2 <= version <= 6:
            return _read_init_producer_id_response_2_6(data, version, at)
        if 0 <= version <= 1:
            return _read_init_producer_id_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('InitProducerIdResponse', '0-6', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 6:
                return _write_init_producer_id_response_2_6(self, out, version)
            if 0 <= version <= 1:
                return _write_init_producer_id_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('InitProducerIdResponse', version, why) from why
        raise UnwritableMessage(unsupported('InitProducerIdResponse', '0-6', version))


def _read_init_producer_id_response_2_6(data: BytesLike, version: int, pos: int) -> InitProducerIdResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = InitProducerIdResponse.__new__(InitProducerIdResponse)
        m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch = _u_ihqh(buf, pos)
        pos += 16
        if version >= 6:
            m.ongoing_txn_producer_id, = _u_q(buf, pos)
            pos += 8
        else:
            m.ongoing_txn_producer_id = -1
        if version >= 6:
            m.ongoing_txn_producer_epoch, = _u_h(buf, pos)
            pos += 2
        else:
            m.ongoing_txn_producer_epoch = -1
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('InitProducerIdResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('InitProducerIdResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('InitProducerIdResponse', version, pos, size)
    return m


def _read_init_producer_id_response_0_1(data: BytesLike, version: int, pos: int) -> InitProducerIdResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = InitProducerIdResponse.__new__(InitProducerIdResponse)
        m.ongoing_txn_producer_id = -1
        m.ongoing_txn_producer_epoch = -1
        m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch = _u_ihqh(buf, pos)
        pos += 16
    except (IndexError, LayoutError):
        raise cut_short('InitProducerIdResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('InitProducerIdResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('InitProducerIdResponse', version, pos, size)
    return m


def _write_init_producer_id_response_2_6(m: InitProducerIdResponse, out: bytearray, version: int) -> None:
    out += _p_ihqh(m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch)
    if version >= 6:
        out += _p_q(m.ongoing_txn_producer_id)
    if version >= 6:
        out += _p_h(m.ongoing_txn_producer_epoch)
    out.append(0)


def _write_init_producer_id_response_0_1(m: InitProducerIdResponse, out: bytearray, version: int) -> None:
    out += _p_ihqh(m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch)
