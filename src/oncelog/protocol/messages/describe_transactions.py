"""DescribeTransactions (key 65), versions 0-0. Generated from definitions/describe_transactions.txt by oncelog.protocol.generate: do not edit."""

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

_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_iqqh = Layout(">iqqh").pack
_u_hB = Layout(">hB").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_iqqhB = Layout(">iqqhB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeTransactionsRequest(Message):
    """DescribeTransactionsRequest, versions 0-0."""

    transactional_ids: list[str]

    def __init__(
        self,
        transactional_ids: list[str] = ABSENT,
    ) -> None:
        self.transactional_ids = [] if transactional_ids is ABSENT else transactional_ids

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeTransactionsRequest:
        if version == 0:
            return _read_describe_transactions_request_0_0(data, version, at)
        raise MalformedMessage(unsupported('DescribeTransactionsRequest', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_describe_transactions_request_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeTransactionsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeTransactionsRequest', '0-0', version))


def _read_describe_transactions_request_0_0(data: BytesLike, version: int, pos: int) -> DescribeTransactionsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeTransactionsRequest.__new__(DescribeTransactionsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeTransactionsRequest.transactional_ids', version, pos)
        n -= 1
        if n > size - pos:
            raise too_many('DescribeTransactionsRequest.transactional_ids', version, pos, n, size)
        list1: list[str] = []
        m.transactional_ids = list1
        count1 = n
        for _ in range(count1):
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeTransactionsRequest.transactional_ids', version, pos)
            end = pos + n - 1
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeTransactionsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeTransactionsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeTransactionsRequest', version, pos, size)
    return m


def _write_describe_transactions_request_0_0(m: DescribeTransactionsRequest, out: bytearray, version: int) -> None:
    n = len(m.transactional_ids) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.transactional_ids:
        text = e1.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class TopicData(Struct):
    """Part of DescribeTransactionsResponse."""

    topic: str
    partitions: list[int]

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = ABSENT,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class TransactionState(Struct):
    """Part of DescribeTransactionsResponse."""

    error_code: int
    transactional_id: str
    transaction_state: str
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    producer_id: int
    producer_epoch: int
    topics: list[TopicData]

    def __init__(
        self,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[TopicData] = ABSENT,
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics = [] if topics is ABSENT else topics


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeTransactionsResponse(Message):
    """DescribeTransactionsResponse, versions 0-0."""

    throttle_time_ms: int
    transaction_states: list[TransactionState]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        transaction_states: list[TransactionState] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states = [] if transaction_states is ABSENT else transaction_states

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeTransactionsResponse:
        if version == 0:
            return _read_describe_transactions_response_0_0(data, version, at)
        raise MalformedMessage(unsupported('DescribeTransactionsResponse', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_describe_transactions_response_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeTransactionsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeTransactionsResponse', '0-0', version))


def _read_describe_transactions_response_0_0(data: BytesLike, version: int, pos: int) -> DescribeTransactionsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeTransactionsResponse.__new__(DescribeTransactionsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeTransactionsResponse.transaction_states', version, pos)
        n -= 1
        if n * 28 > size - pos:
            raise too_many('DescribeTransactionsResponse.transaction_states', version, pos, n, size)
        list1: list[TransactionState] = []
        m.transaction_states = list1
        count1 = n
        for _ in range(count1):
            e1 = TransactionState.__new__(TransactionState)
            e1.error_code, n = _u_hB(buf, pos)
            pos += 3
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeTransactionsResponse.transaction_states.transactional_id', version, pos)
            end = pos + n - 1
            e1.transactional_id = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeTransactionsResponse.transaction_states.transaction_state', version, pos)
            end = pos + n - 1
            e1.transaction_state = buf[pos:end].decode()
            pos = end
            e1.transaction_timeout_ms, e1.transaction_start_time_ms, e1.producer_id, e1.producer_epoch, n = _u_iqqhB(buf, pos)
            pos += 23
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeTransactionsResponse.transaction_states.topics', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('DescribeTransactionsResponse.transaction_states.topics', version, pos, n, size)
            list2: list[TopicData] = []
            e1.topics = list2
            count2 = n
            for _ in range(count2):
                e2 = TopicData.__new__(TopicData)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeTransactionsResponse.transaction_states.topics.topic', version, pos)
                end = pos + n - 1
                e2.topic = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeTransactionsResponse.transaction_states.topics.partitions', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('DescribeTransactionsResponse.transaction_states.topics.partitions', version, pos, n, size)
                e2.partitions = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeTransactionsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeTransactionsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeTransactionsResponse', version, pos, size)
    return m


def _write_describe_transactions_response_0_0(m: DescribeTransactionsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.transaction_states) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.transaction_states:
        text = e1.transactional_id.encode()
        out += _p_h(e1.error_code)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        text = e1.transaction_state.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_iqqh(e1.transaction_timeout_ms, e1.transaction_start_time_ms, e1.producer_id, e1.producer_epoch)
        n = len(e1.topics) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.topics:
            text = e2.topic.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            n = len(e2.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e2.partitions)}i', *e2.partitions)
            out.append(0)
        out.append(0)
    out.append(0)
