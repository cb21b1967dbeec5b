"""AddOffsetsToTxn (key 25), versions 0-4. Generated from definitions/add_offsets_to_txn.txt by oncelog.protocol.generate: do not edit."""

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
_p_ihx = Layout(">ihx").pack
_p_qh = Layout(">qh").pack
_p_qhh = Layout(">qhh").pack
_u_h = Layout(">h").unpack_from
_u_ih = Layout(">ih").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_qhB = Layout(">qhB").unpack_from
_u_qhh = Layout(">qhh").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class AddOffsetsToTxnRequest(Message):
    """AddOffsetsToTxnRequest, versions 0-4."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AddOffsetsToTxnRequest:
        if 3 <= version <= 4:
            return _read_add_offsets_to_txn_request_3_4(data, version, at)
        if 0 <= version <= 2:
            return _read_add_offsets_to_txn_request_0_2(data, version, at)
        raise MalformedMessage(unsupported('AddOffsetsToTxnRequest', '0-4', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 4:
                return _write_add_offsets_to_txn_request_3_4(self, out, version)
            if 0 <= version <= 2:
                return _write_add_offsets_to_txn_request_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AddOffsetsToTxnRequest', version, why) from why
        raise UnwritableMessage(unsupported('AddOffsetsToTxnRequest', '0-4', version))


def _read_add_offsets_to_txn_request_3_4(data: BytesLike, version: int, pos: int) -> AddOffsetsToTxnRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AddOffsetsToTxnRequest.__new__(AddOffsetsToTxnRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('AddOffsetsToTxnRequest.transactional_id', version, pos)
        end = pos + n - 1
        m.transactional_id = buf[pos:end].decode()
        pos = end
        m.producer_id, m.producer_epoch, n = _u_qhB(buf, pos)
        pos += 11
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('AddOffsetsToTxnRequest.group_id', version, pos)
        end = pos + n - 1
        m.group_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('AddOffsetsToTxnRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AddOffsetsToTxnRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AddOffsetsToTxnRequest', version, pos, size)
    return m


def _read_add_offsets_to_txn_request_0_2(data: BytesLike, version: int, pos: int) -> AddOffsetsToTxnRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AddOffsetsToTxnRequest.__new__(AddOffsetsToTxnRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('AddOffsetsToTxnRequest.transactional_id', version, pos)
        end = pos + n
        m.transactional_id = buf[pos:end].decode()
        pos = end
        m.producer_id, m.producer_epoch, n = _u_qhh(buf, pos)
        pos += 12
        if n < 0:
            raise null_found('AddOffsetsToTxnRequest.group_id', version, pos)
        end = pos + n
        m.group_id = buf[pos:end].decode()
        pos = end
    except (IndexError, LayoutError):
        raise cut_short('AddOffsetsToTxnRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AddOffsetsToTxnRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AddOffsetsToTxnRequest', version, pos, size)
    return m


def _write_add_offsets_to_txn_request_3_4(m: AddOffsetsToTxnRequest, out: bytearray, version: int) -> None:
    text = m.transactional_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    text = m.group_id.encode()
    out += _p_qh(m.producer_id, m.producer_epoch)
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    out.append(0)


def _write_add_offsets_to_txn_request_0_2(m: AddOffsetsToTxnRequest, out: bytearray, version: int) -> None:
    text = m.transactional_id.encode()
    out += _p_h(len(text))
    out += text
    text = m.group_id.encode()
    out += _p_qhh(m.producer_id, m.producer_epoch, len(text))
    out += text


@dataclass(slots=True, init=False, repr=False, eq=False)
class AddOffsetsToTxnResponse(Message):
    """AddOffsetsToTxnResponse, versions 0-4."""

    throttle_time_ms: int
    error_code: int

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AddOffsetsToTxnResponse:
        if 3 <= version <= 4:
            return _read_add_offsets_to_txn_response_3_4(data, version, at)
        if 0 <= version <= 2:
            return _read_add_offsets_to_txn_response_0_2(data, version, at)
        raise MalformedMessage(unsupported('AddOffsetsToTxnResponse', '0-4', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 4:
                return _write_add_offsets_to_txn_response_3_4(self, out, version)
            if 0 <= version <= 2:
                return _write_add_offsets_to_txn_response_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AddOffsetsToTxnResponse', version, why) from why
        raise UnwritableMessage(unsupported('AddOffsetsToTxnResponse', '0-4', version))


def _read_add_offsets_to_txn_response_3_4(data: BytesLike, version: int, pos: int) -> AddOffsetsToTxnResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AddOffsetsToTxnResponse.__new__(AddOffsetsToTxnResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihB(buf, pos)
        pos += 7
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('AddOffsetsToTxnResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AddOffsetsToTxnResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AddOffsetsToTxnResponse', version, pos, size)
    return m


def _read_add_offsets_to_txn_response_0_2(data: BytesLike, version: int, pos: int) -> AddOffsetsToTxnResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AddOffsetsToTxnResponse.__new__(AddOffsetsToTxnResponse)
        m.throttle_time_ms, m.error_code = _u_ih(buf, pos)
        pos += 6
    except (IndexError, LayoutError):
        raise cut_short('AddOffsetsToTxnResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AddOffsetsToTxnResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AddOffsetsToTxnResponse', version, pos, size)
    return m


def _write_add_offsets_to_txn_response_3_4(m: AddOffsetsToTxnResponse, out: bytearray, version: int) -> None:
    out += _p_ihx(m.throttle_time_ms, m.error_code)


def _write_add_offsets_to_txn_response_0_2(m: AddOffsetsToTxnResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
