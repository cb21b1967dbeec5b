"""AddPartitionsToTxn (key 24), versions 0-5. Generated from definitions/add_partitions_to_txn.txt by oncelog.protocol.generate: do not edit."""

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
_p_ih = Layout(">ih").pack
_p_ihx = Layout(">ihx").pack
_p_ii = Layout(">ii").pack
_p_o = Layout(">?").pack
_p_q = Layout(">q").pack
_p_qhi = Layout(">qhi").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_ih = Layout(">ih").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_o = Layout(">?").unpack_from
_u_q = Layout(">q").unpack_from
_u_qhi = Layout(">qhi").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class AddPartitionsToTxnTopic(Struct):
    """Part of AddPartitionsToTxnRequest."""

    name: str
    partitions: list[int]

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class AddPartitionsToTxnTransaction(Struct):
    """Part of AddPartitionsToTxnRequest."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    topics: list[AddPartitionsToTxnTopic]

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnTopic] = ABSENT,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics = [] if topics is ABSENT else topics


@dataclass(slots=True, init=False, repr=False, eq=False)
class AddPartitionsToTxnRequest(Message):
    """AddPartitionsToTxnRequest, versions 0-5."""

    transactions: list[AddPartitionsToTxnTransaction]
    v3_and_below_transactional_id: str
    v3_and_below_producer_id: int
    v3_and_below_producer_epoch: int
    v3_and_below_topics: list[AddPartitionsToTxnTopic]

    def __init__(
        self,
        transactions: list[AddPartitionsToTxnTransaction] = ABSENT,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = ABSENT,
    ) -> None:
        self.transactions = [] if transactions is ABSENT else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = [] if v3_and_below_topics is ABSENT else v3_and_below_topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AddPartitionsToTxnRequest:
        if 3 <= version <= 5:
            return _read_add_partitions_to_txn_request_3_5(data, version, at)
        if 0 <= version <= 2:
            return _read_add_partitions_to_txn_request_0_2(data, version, at)
        raise MalformedMessage(unsupported('AddPartitionsToTxnRequest', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 5:
                return _write_add_partitions_to_txn_request_3_5(self, out, version)
            if 0 <= version <= 2:
                return _write_add_partitions_to_txn_request_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AddPartitionsToTxnRequest', version, why) from why
        raise UnwritableMessage(unsupported('AddPartitionsToTxnRequest', '0-5', version))


def _read_add_partitions_to_txn_request_3_5(data: BytesLike, version: int, pos: int) -> AddPartitionsToTxnRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AddPartitionsToTxnRequest.__new__(AddPartitionsToTxnRequest)
        if version >= 4:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AddPartitionsToTxnRequest.transactions', version, pos)
            n -= 1
            if n * 14 > size - pos:
                raise too_many('AddPartitionsToTxnRequest.transactions', version, pos, n, size)
            list1: list[AddPartitionsToTxnTransaction] = []
            m.transactions = list1
            count1 = n
            for _ in range(count1):
                e1 = AddPartitionsToTxnTransaction.__new__(AddPartitionsToTxnTransaction)
                if version >= 4:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('AddPartitionsToTxnRequest.transactions.transactional_id', version, pos)
                    end = pos + n - 1
                    e1.transactional_id = buf[pos:end].decode()
                    pos = end
                else:
                    e1.transactional_id = ""
                if version >= 4:
                    e1.producer_id, = _u_q(buf, pos)
                    pos += 8
                else:
                    e1.producer_id = 0
                if version >= 4:
                    e1.producer_epoch, = _u_h(buf, pos)
                    pos += 2
                else:
                    e1.producer_epoch = 0
                if version >= 4:
                    e1.verify_only, = _u_o(buf, pos)
                    pos += 1
                else:
                    e1.verify_only = False
                if version >= 4:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('AddPartitionsToTxnRequest.transactions.topics', version, pos)
                    n -= 1
                    if n * 3 > size - pos:
                        raise too_many('AddPartitionsToTxnRequest.transactions.topics', version, pos, n, size)
                    list2: list[AddPartitionsToTxnTopic] = []
                    e1.topics = list2
                    count2 = n
                    for _ in range(count2):
                        e2 = AddPartitionsToTxnTopic.__new__(AddPartitionsToTxnTopic)
                        n = buf[pos]
                        pos += 1
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            raise null_found('AddPartitionsToTxnRequest.transactions.topics.name', version, pos)
                        end = pos + n - 1
                        e2.name = buf[pos:end].decode()
                        pos = end
                        n = buf[pos]
                        pos += 1
                        if n > 127:
                            n, pos = more_varint(buf, pos, n)
                        if not n:
                            raise null_found('AddPartitionsToTxnRequest.transactions.topics.partitions', version, pos)
                        n -= 1
                        if n * 4 > size - pos:
                            raise too_many('AddPartitionsToTxnRequest.transactions.topics.partitions', version, pos, n, size)
                        e2.partitions = list(unpack_from(f'>{n}i', buf, pos))
                        pos += 4 * n
                        n = buf[pos]
                        pos += 1
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list2.append(e2)
                else:
                    e1.topics = []
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list1.append(e1)
        else:
            m.transactions = []
        if version <= 3:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('AddPartitionsToTxnRequest.v3_and_below_transactional_id', version, pos)
            end = pos + n - 1
            m.v3_and_below_transactional_id = buf[pos:end].decode()
            pos = end
        else:
            m.v3_and_below_transactional_id = ""
        if version <= 3:
            m.v3_and_below_producer_id, = _u_q(buf, pos)
            pos += 8
        else:
            m.v3_and_below_producer_id = 0
        if version <= 3:
            m.v3_and_below_producer_epoch, = _u_h(buf, pos)
            pos += 2
        else:
            m.v3_and_below_producer_epoch = 0
        if version <= 3:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AddPartitionsToTxnRequest.v3_and_below_topics', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('AddPartitionsToTxnRequest.v3_and_below_topics', version, pos, n, size)
            list3: list[AddPartitionsToTxnTopic] = []
            m.v3_and_below_topics = list3
            count3 = n
            for _ in range(count3):
                e3 = AddPartitionsToTxnTopic.__new__(AddPartitionsToTxnTopic)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('AddPartitionsToTxnRequest.v3_and_below_topics.name', version, pos)
                end = pos + n - 1
                e3.name = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('AddPartitionsToTxnRequest.v3_and_below_topics.partitions', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('AddPartitionsToTxnRequest.v3_and_below_topics.partitions', version, pos, n, size)
                e3.partitions = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list3.append(e3)
        else:
            m.v3_and_below_topics = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('AddPartitionsToTxnRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AddPartitionsToTxnRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AddPartitionsToTxnRequest', version, pos, size)
    return m


def _read_add_partitions_to_txn_request_0_2(data: BytesLike, version: int, pos: int) -> AddPartitionsToTxnRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AddPartitionsToTxnRequest.__new__(AddPartitionsToTxnRequest)
        m.transactions = []
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('AddPartitionsToTxnRequest.v3_and_below_transactional_id', version, pos)
        end = pos + n
        m.v3_and_below_transactional_id = buf[pos:end].decode()
        pos = end
        m.v3_and_below_producer_id, m.v3_and_below_producer_epoch, n = _u_qhi(buf, pos)
        pos += 14
        if n < 0:
            raise null_found('AddPartitionsToTxnRequest.v3_and_below_topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('AddPartitionsToTxnRequest.v3_and_below_topics', version, pos, n, size)
        list1: list[AddPartitionsToTxnTopic] = []
        m.v3_and_below_topics = list1
        count1 = n
        for _ in range(count1):
            e1 = AddPartitionsToTxnTopic.__new__(AddPartitionsToTxnTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('AddPartitionsToTxnRequest.v3_and_below_topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('AddPartitionsToTxnRequest.v3_and_below_topics.partitions', version, pos)
            if n * 4 > size - pos:
                raise too_many('AddPartitionsToTxnRequest.v3_and_below_topics.partitions', version, pos, n, size)
            e1.partitions = list(unpack_from(f'>{n}i', buf, pos))
            pos += 4 * n
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('AddPartitionsToTxnRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AddPartitionsToTxnRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AddPartitionsToTxnRequest', version, pos, size)
    return m


def _write_add_partitions_to_txn_request_3_5(m: AddPartitionsToTxnRequest, out: bytearray, version: int) -> None:
    if version >= 4:
        n = len(m.transactions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.transactions:
            if version >= 4:
                text = e1.transactional_id.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if version >= 4:
                out += _p_q(e1.producer_id)
            if version >= 4:
                out += _p_h(e1.producer_epoch)
            if version >= 4:
                out += _p_o(e1.verify_only)
            if version >= 4:
                n = len(e1.topics) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                for e2 in e1.topics:
                    text = e2.name.encode()
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
    if version <= 3:
        text = m.v3_and_below_transactional_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    if version <= 3:
        out += _p_q(m.v3_and_below_producer_id)
    if version <= 3:
        out += _p_h(m.v3_and_below_producer_epoch)
    if version <= 3:
        n = len(m.v3_and_below_topics) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e3 in m.v3_and_below_topics:
            text = e3.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            n = len(e3.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e3.partitions)}i', *e3.partitions)
            out.append(0)
    out.append(0)


def _write_add_partitions_to_txn_request_0_2(m: AddPartitionsToTxnRequest, out: bytearray, version: int) -> None:
    text = m.v3_and_below_transactional_id.encode()
    out += _p_h(len(text))
    out += text
    out += _p_qhi(m.v3_and_below_producer_id, m.v3_and_below_producer_epoch, len(m.v3_and_below_topics))
    for e1 in m.v3_and_below_topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        out += pack(f'>{len(e1.partitions)}i', *e1.partitions)


@dataclass(slots=True, init=False, repr=False, eq=False)
class AddPartitionsToTxnPartitionResult(Struct):
    """Part of AddPartitionsToTxnResponse."""

    partition_index: int
    partition_error_code: int

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


@dataclass(slots=True, init=False, repr=False, eq=False)
class AddPartitionsToTxnTopicResult(Struct):
    """Part of AddPartitionsToTxnResponse."""

    name: str
    results_by_partition: list[AddPartitionsToTxnPartitionResult]

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = ABSENT,
    ) -> None:
        self.name = name
        self.results_by_partition = [] if results_by_partition is ABSENT else results_by_partition


@dataclass(slots=True, init=False, repr=False, eq=False)
class AddPartitionsToTxnResult(Struct):
    """Part of AddPartitionsToTxnResponse."""

    transactional_id: str
    topic_results: list[AddPartitionsToTxnTopicResult]

    def __init__(
        self,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnTopicResult] = ABSENT,
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results = [] if topic_results is ABSENT else topic_results


@dataclass(slots=True, init=False, repr=False, eq=False)
class AddPartitionsToTxnResponse(Message):
    """AddPartitionsToTxnResponse, versions 0-5."""

    throttle_time_ms: int
    error_code: int
    results_by_transaction: list[AddPartitionsToTxnResult]
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] = ABSENT,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = [] if results_by_transaction is ABSENT else results_by_transaction
        self.results_by_topic_v3_and_below = [] if results_by_topic_v3_and_below is ABSENT else results_by_topic_v3_and_below

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AddPartitionsToTxnResponse:
        if 3 <= version <= 5:
            return _read_add_partitions_to_txn_response_3_5(data, version, at)
        if 0 <= version <= 2:
            return _read_add_partitions_to_txn_response_0_2(data, version, at)
        raise MalformedMessage(unsupported('AddPartitionsToTxnResponse', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 5:
                return _write_add_partitions_to_txn_response_3_5(self, out, version)
            if 0 <= version <= 2:
                return _write_add_partitions_to_txn_response_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AddPartitionsToTxnResponse', version, why) from why
        raise UnwritableMessage(unsupported('AddPartitionsToTxnResponse', '0-5', version))


def _read_add_partitions_to_txn_response_3_5(data: BytesLike, version: int, pos: int) -> AddPartitionsToTxnResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AddPartitionsToTxnResponse.__new__(AddPartitionsToTxnResponse)
        m.throttle_time_ms, = _u_i(buf, pos)
        pos += 4
        if version >= 4:
            m.error_code, = _u_h(buf, pos)
            pos += 2
        else:
            m.error_code = 0
        if version >= 4:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AddPartitionsToTxnResponse.results_by_transaction', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('AddPartitionsToTxnResponse.results_by_transaction', version, pos, n, size)
            list1: list[AddPartitionsToTxnResult] = []
            m.results_by_transaction = list1
            count1 = n
            for _ in range(count1):
                e1 = AddPartitionsToTxnResult.__new__(AddPartitionsToTxnResult)
                if version >= 4:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('AddPartitionsToTxnResponse.results_by_transaction.transactional_id', version, pos)
                    end = pos + n - 1
                    e1.transactional_id = buf[pos:end].decode()
                    pos = end
                else:
                    e1.transactional_id = ""
                if version >= 4:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('AddPartitionsToTxnResponse.results_by_transaction.topic_results', version, pos)
                    n -= 1
                    if n * 3 > size - pos:
                        raise too_many('AddPartitionsToTxnResponse.results_by_transaction.topic_results', version, pos, n, size)
                    list2: list[AddPartitionsToTxnTopicResult] = []
                    e1.topic_results = list2
                    count2 = n
                    for _ in range(count2):
                        e2 = AddPartitionsToTxnTopicResult.__new__(AddPartitionsToTxnTopicResult)
                        n = buf[pos]
                        pos += 1
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            raise null_found('AddPartitionsToTxnResponse.results_by_transaction.topic_results.name', version, pos)
                        end = pos + n - 1
                        e2.name = buf[pos:end].decode()
                        pos = end
                        n = buf[pos]
                        pos += 1
                        if n > 127:
                            n, pos = more_varint(buf, pos, n)
                        if not n:
                            raise null_found('AddPartitionsToTxnResponse.results_by_transaction.topic_results.results_by_partition', version, pos)
                        n -= 1
                        if n * 7 > size - pos:
                            raise too_many('AddPartitionsToTxnResponse.results_by_transaction.topic_results.results_by_partition', version, pos, n, size)
                        list3: list[AddPartitionsToTxnPartitionResult] = []
                        e2.results_by_partition = list3
                        count3 = n
                        for _ in range(count3):
                            e3 = AddPartitionsToTxnPartitionResult.__new__(AddPartitionsToTxnPartitionResult)
                            e3.partition_index, e3.partition_error_code, n = _u_ihB(buf, pos)
                            pos += 7
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            list3.append(e3)
                        n = buf[pos]
                        pos += 1
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list2.append(e2)
                else:
                    e1.topic_results = []
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list1.append(e1)
        else:
            m.results_by_transaction = []
        if version <= 3:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AddPartitionsToTxnResponse.results_by_topic_v3_and_below', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('AddPartitionsToTxnResponse.results_by_topic_v3_and_below', version, pos, n, size)
            list4: list[AddPartitionsToTxnTopicResult] = []
            m.results_by_topic_v3_and_below = list4
            count4 = n
            for _ in range(count4):
                e4 = AddPartitionsToTxnTopicResult.__new__(AddPartitionsToTxnTopicResult)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('AddPartitionsToTxnResponse.results_by_topic_v3_and_below.name', version, pos)
                end = pos + n - 1
                e4.name = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('AddPartitionsToTxnResponse.results_by_topic_v3_and_below.results_by_partition', version, pos)
                n -= 1
                if n * 7 > size - pos:
                    raise too_many('AddPartitionsToTxnResponse.results_by_topic_v3_and_below.results_by_partition', version, pos, n, size)
                list5: list[AddPartitionsToTxnPartitionResult] = []
                e4.results_by_partition = list5
                count5 = n
                for _ in range(count5):
                    e5 = AddPartitionsToTxnPartitionResult.__new__(AddPartitionsToTxnPartitionResult)
                    e5.partition_index, e5.partition_error_code, n = _u_ihB(buf, pos)
                    pos += 7
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list5.append(e5)
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list4.append(e4)
        else:
            m.results_by_topic_v3_and_below = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('AddPartitionsToTxnResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AddPartitionsToTxnResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AddPartitionsToTxnResponse', version, pos, size)
    return m


def _read_add_partitions_to_txn_response_0_2(data: BytesLike, version: int, pos: int) -> AddPartitionsToTxnResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AddPartitionsToTxnResponse.__new__(AddPartitionsToTxnResponse)
        m.error_code = 0
        m.results_by_transaction = []
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('AddPartitionsToTxnResponse.results_by_topic_v3_and_below', version, pos)
        if n * 6 > size - pos:
            raise too_many('AddPartitionsToTxnResponse.results_by_topic_v3_and_below', version, pos, n, size)
        list1: list[AddPartitionsToTxnTopicResult] = []
        m.results_by_topic_v3_and_below = list1
        count1 = n
        for _ in range(count1):
            e1 = AddPartitionsToTxnTopicResult.__new__(AddPartitionsToTxnTopicResult)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('AddPartitionsToTxnResponse.results_by_topic_v3_and_below.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('AddPartitionsToTxnResponse.results_by_topic_v3_and_below.results_by_partition', version, pos)
            if n * 6 > size - pos:
                raise too_many('AddPartitionsToTxnResponse.results_by_topic_v3_and_below.results_by_partition', version, pos, n, size)
            list2: list[AddPartitionsToTxnPartitionResult] = []
            e1.results_by_partition = list2
            count2 = n
            for _ in range(count2):
                e2 = AddPartitionsToTxnPartitionResult.__new__(AddPartitionsToTxnPartitionResult)
                e2.partition_index, e2.partition_error_code = _u_ih(buf, pos)
                pos += 6
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('AddPartitionsToTxnResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AddPartitionsToTxnResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AddPartitionsToTxnResponse', version, pos, size)
    return m


def _write_add_partitions_to_txn_response_3_5(m: AddPartitionsToTxnResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    if version >= 4:
        out += _p_h(m.error_code)
    if version >= 4:
        n = len(m.results_by_transaction) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.results_by_transaction:
            if version >= 4:
                text = e1.transactional_id.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if version >= 4:
                n = len(e1.topic_results) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                for e2 in e1.topic_results:
                    text = e2.name.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
                    n = len(e2.results_by_partition) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += varint(n)
                    for e3 in e2.results_by_partition:
                        out += _p_ihx(e3.partition_index, e3.partition_error_code)
                    out.append(0)
            out.append(0)
    if version <= 3:
        n = len(m.results_by_topic_v3_and_below) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e4 in m.results_by_topic_v3_and_below:
            text = e4.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            n = len(e4.results_by_partition) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e5 in e4.results_by_partition:
                out += _p_ihx(e5.partition_index, e5.partition_error_code)
            out.append(0)
    out.append(0)


def _write_add_partitions_to_txn_response_0_2(m: AddPartitionsToTxnResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.results_by_topic_v3_and_below))
    for e1 in m.results_by_topic_v3_and_below:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.results_by_partition))
        for e2 in e1.results_by_partition:
            out += _p_ih(e2.partition_index, e2.partition_error_code)
