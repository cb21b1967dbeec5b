"""ListTransactions (key 66), versions 0-2. Generated from definitions/list_transactions.txt by oncelog.protocol.generate: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct as Layout
from struct import error as LayoutError
from struct import pack
from struct import unpack_from

from oncelog.errors import MalformedMessage
from oncelog.protocol.primitives import (
    ABSENT,
    BytesLike,
    Message,
    Struct,
    UnwritableMessage,
    WRITE_FAULTS,
    cut_short,
    more_string_length,
    more_varint,
    not_text,
    null_found,
    skip_tags,
    string_length,
    too_many,
    unsupported,
    unwritable,
    varint,
)

_p_ih = Layout(">ih").pack
_p_q = Layout(">q").pack
_u_ihB = Layout(">ihB").unpack_from
_u_q = Layout(">q").unpack_from
_u_qB = Layout(">qB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListTransactionsRequest(Message):
    """ListTransactionsRequest, versions 0-2."""

    state_filters: list[str]
    producer_id_filters: list[int]
    duration_filter: int
    transactional_id_pattern: str | None

    def __init__(
        self,
        state_filters: list[str] = ABSENT,
        producer_id_filters: list[int] = ABSENT,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters = [] if state_filters is ABSENT else state_filters
        self.producer_id_filters = [] if producer_id_filters is ABSENT else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ListTransactionsRequest:
        if 0 <= version <= 2:
            return _read_list_transactions_request_0_2(data, version, at)
        raise MalformedMessage(unsupported('ListTransactionsRequest', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 2:
                return _write_list_transactions_request_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ListTransactionsRequest', version, why) from why
        raise UnwritableMessage(unsupported('ListTransactionsRequest', '0-2', version))


def _read_list_transactions_request_0_2(data: BytesLike, version: int, pos: int) -> ListTransactionsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListTransactionsRequest.__new__(ListTransactionsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ListTransactionsRequest.state_filters', version, pos)
        n -= 1
        if n > size - pos:
            raise too_many('ListTransactionsRequest.state_filters', version, pos, n, size)
        list1: list[str] = []
        m.state_filters = list1
        count1 = n
        for _ in range(count1):
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ListTransactionsRequest.state_filters', version, pos)
            end = pos + n - 1
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ListTransactionsRequest.producer_id_filters', version, pos)
        n -= 1
        if n * 8 > size - pos:
            raise too_many('ListTransactionsRequest.producer_id_filters', version, pos, n, size)
        m.producer_id_filters = list(unpack_from(f'>{n}q', buf, pos))
        pos += 8 * n
        if version >= 1:
            m.duration_filter, = _u_q(buf, pos)
            pos += 8
        else:
            m.duration_filter = -1
        if version >= 2:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                m.transactional_id_pattern = None
            else:
                end = pos + n - 1
                m.transactional_id_pattern = buf[pos:end].decode()
                pos = end
        else:
            m.transactional_id_pattern = None
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('ListTransactionsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListTransactionsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ListTransactionsRequest', version, pos, size)
    return m


def _write_list_transactions_request_0_2(m: ListTransactionsRequest, out: bytearray, version: int) -> None:
    n = len(m.state_filters) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.state_filters:
        text = e1.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    n = len(m.producer_id_filters) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    out += pack(f'>{len(m.producer_id_filters)}q', *m.producer_id_filters)
    if version >= 1:
        out += _p_q(m.duration_filter)
    if version >= 2:
        if m.transactional_id_pattern is None:
            out.append(0)
        else:
            text = m.transactional_id_pattern.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class TransactionState(Struct):
    """Part of ListTransactionsResponse."""

    transactional_id: str
    producer_id: int
    transaction_state: str

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListTransactionsResponse(Message):
    """ListTransactionsResponse, versions 0-2."""

    throttle_time_ms: int
    error_code: int
    unknown_state_filters: list[str]
    transaction_states: list[TransactionState]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = ABSENT,
        transaction_states: list[TransactionState] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters = [] if unknown_state_filters is ABSENT else unknown_state_filters
        self.transaction_states = [] if transaction_states is ABSENT else transaction_states

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ListTransactionsResponse:
        if 0 <= version <= 2:
            return _read_list_transactions_response_0_2(data, version, at)
        raise MalformedMessage(unsupported('ListTransactionsResponse', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 2:
                return _write_list_transactions_response_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ListTransactionsResponse', version, why) from why
        raise UnwritableMessage(unsupported('ListTransactionsResponse', '0-2', version))


def _read_list_transactions_response_0_2(data: BytesLike, version: int, pos: int) -> ListTransactionsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListTransactionsResponse.__new__(ListTransactionsResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihB(buf, pos)
        pos += 7
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ListTransactionsResponse.unknown_state_filters', version, pos)
        n -= 1
        if n > size - pos:
            raise too_many('ListTransactionsResponse.unknown_state_filters', version, pos, n, size)
        list1: list[str] = []
        m.unknown_state_filters = list1
        count1 = n
        for _ in range(count1):
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ListTransactionsResponse.unknown_state_filters', version, pos)
            end = pos + n - 1
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ListTransactionsResponse.transaction_states', version, pos)
        n -= 1
        if n * 11 > size - pos:
            raise too_many('ListTransactionsResponse.transaction_states', version, pos, n, size)
        list2: list[TransactionState] = []
        m.transaction_states = list2
        count2 = n
        for _ in range(count2):
            e2 = TransactionState.__new__(TransactionState)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ListTransactionsResponse.transaction_states.transactional_id', version, pos)
            end = pos + n - 1
            e2.transactional_id = buf[pos:end].decode()
            pos = end
            e2.producer_id, n = _u_qB(buf, pos)
            pos += 9
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ListTransactionsResponse.transaction_states.transaction_state', version, pos)
            end = pos + n - 1
            e2.transaction_state = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list2.append(e2)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('ListTransactionsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListTransactionsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ListTransactionsResponse', version, pos, size)
    return m


def _write_list_transactions_response_0_2(m: ListTransactionsResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    n = len(m.unknown_state_filters) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.unknown_state_filters:
        text = e1.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    n = len(m.transaction_states) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e2 in m.transaction_states:
        text = e2.transactional_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        text = e2.transaction_state.encode()
        out += _p_q(e2.producer_id)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out.append(0)
    out.append(0)
