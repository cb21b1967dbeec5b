"""EndTxn (key 26), versions 0-5. Generated from definitions/end_txn.txt by oncelog.protocol.generate: do not edit."""

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
    null_found,
    skip_tags,
    string_length,
    unsupported,
    unwritable,
)

_p_h = Layout(">h").pack
_p_ih = Layout(">ih").pack
_p_q = Layout(">q").pack
_p_qho = Layout(">qh?").pack
_p_qhox = Layout(">qh?x").pack
_u_h = Layout(">h").unpack_from
_u_ih = Layout(">ih").unpack_from
_u_q = Layout(">q").unpack_from
_u_qho = Layout(">qh?").unpack_from
_u_qhoB = Layout(">qh?B").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class EndTxnRequest(Message):
    """EndTxnRequest, versions 0-5."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> EndTxnRequest:
        if 3 <= version <= 5:
            return _read_end_txn_request_3_5(data, version, at)
        if 0 <= version <= 2:
            return _read_end_txn_request_0_2(data, version, at)
        raise MalformedMessage(unsupported('EndTxnRequest', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 5:
                return _write_end_txn_request_3_5(self, out, version)
            if 0 <= version <= 2:
                return _write_end_txn_request_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('EndTxnRequest', version, why) from why
        raise UnwritableMessage(unsupported('EndTxnRequest', '0-5', version))


def _read_end_txn_request_3_5(data: BytesLike, version: int, pos: int) -> EndTxnRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = EndTxnRequest.__new__(EndTxnRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('EndTxnRequest.transactional_id', version, pos)
        end = pos + n - 1
        m.transactional_id = buf[pos:end].decode()
        pos = end
        m.producer_id, m.producer_epoch, m.committed, n = _u_qhoB(buf, pos)
        pos += 12
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('EndTxnRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('EndTxnRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('EndTxnRequest', version, pos, size)
    return m


def _read_end_txn_request_0_2(data: BytesLike, version: int, pos: int) -> EndTxnRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = EndTxnRequest.__new__(EndTxnRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('EndTxnRequest.transactional_id', version, pos)
        end = pos + n
        m.transactional_id = buf[pos:end].decode()
        pos = end
        m.producer_id, m.producer_epoch, m.committed = _u_qho(buf, pos)
        pos += 11
    except (IndexError, LayoutError):
        raise cut_short('EndTxnRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('EndTxnRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('EndTxnRequest', version, pos, size)
    return m


def _write_end_txn_request_3_5(m: EndTxnRequest, out: bytearray, version: int) -> None:
    text = m.transactional_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    out += _p_qhox(m.producer_id, m.producer_epoch, m.committed)


def _write_end_txn_request_0_2(m: EndTxnRequest, out: bytearray, version: int) -> None:
    text = m.transactional_id.encode()
    out += _p_h(len(text))
    out += text
    out += _p_qho(m.producer_id, m.producer_epoch, m.committed)


@dataclass(slots=True, init=False, repr=False, eq=False)
class EndTxnResponse(Message):
    """EndTxnResponse, versions 0-5."""

    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> EndTxnResponse:
        if 3 <= version <= 5:
            return _read_end_txn_response_3_5(data, version, at)
        if 0 <= version <= 2:
            return _read_end_txn_response_0_2(data, version, at)
        raise MalformedMessage(unsupported('EndTxnResponse', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 5:
                return _write_end_txn_response_3_5(self, out, version)
            if 0 <= version <= 2:
                return _write_end_txn_response_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('EndTxnResponse', version, why) from why
        raise UnwritableMessage(unsupported('EndTxnResponse', '0-5', version))


def _read_end_txn_response_3_5(data: BytesLike, version: int, pos: int) -> EndTxnResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = EndTxnResponse.__new__(EndTxnResponse)
        m.throttle_time_ms, m.error_code = _u_ih(buf, pos)
        pos += 6
        if version >= 5:
            m.producer_id, = _u_q(buf, pos)
            pos += 8
        else:
            m.producer_id = -1
        if version >= 5:
            m.producer_epoch, = _u_h(buf, pos)
            pos += 2
        else:
            m.producer_epoch = -1
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('EndTxnResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('EndTxnResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('EndTxnResponse', version, pos, size)
    return m


def _read_end_txn_response_0_2(data: BytesLike, version: int, pos: int) -> EndTxnResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = EndTxnResponse.__new__(EndTxnResponse)
        m.producer_id = -1
        m.producer_epoch = -1
        m.throttle_time_ms, m.error_code = _u_ih(buf, pos)
        pos += 6
    except (IndexError, LayoutError):
        raise cut_short('EndTxnResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('EndTxnResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('EndTxnResponse', version, pos, size)
    return m


def _write_end_txn_response_3_5(m: EndTxnResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    if version >= 5:
        out += _p_q(m.producer_id)
    if version >= 5:
        out += _p_h(m.producer_epoch)
    out.append(0)


def _write_end_txn_response_0_2(m: EndTxnResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
