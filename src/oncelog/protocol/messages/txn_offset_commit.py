"""TxnOffsetCommit (key 28), versions 0-5. Generated from definitions/txn_offset_commit.txt by oncelog.protocol.generate: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct as Layout
from struct import error as LayoutError

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
_p_iq = Layout(">iq").pack
_p_iqi = Layout(">iqi").pack
_p_qhi = Layout(">qhi").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ih = Layout(">ih").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_iq = Layout(">iq").unpack_from
_u_iqiB = Layout(">iqiB").unpack_from
_u_qhi = Layout(">qhi").unpack_from
_u_qhiB = Layout(">qhiB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class TxnOffsetCommitRequestPartition(Struct):
    """Part of TxnOffsetCommitRequest."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


@dataclass(slots=True, init=False, repr=False, eq=False)
class TxnOffsetCommitRequestTopic(Struct):
    """Part of TxnOffsetCommitRequest."""

    name: str
    partitions: list[TxnOffsetCommitRequestPartition]

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitRequestPartition] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class TxnOffsetCommitRequest(Message):
    """TxnOffsetCommitRequest, versions 0-5."""

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id: int
    member_id: str
    group_instance_id: str | None
    topics: list[TxnOffsetCommitRequestTopic]

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequestTopic] = ABSENT,
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> TxnOffsetCommitRequest:
        if 3 <= version <= 5:
            return _read_txn_offset_commit_request_3_5(data, version, at)
        if 0 <= version <= 2:
            return _read_txn_offset_commit_request_0_2(data, version, at)
        raise MalformedMessage(unsupported('TxnOffsetCommitRequest', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 5:
                return _write_txn_offset_commit_request_3_5(self, out, version)
            if 0 <= version <= 2:
                return _write_txn_offset_commit_request_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('TxnOffsetCommitRequest', version, why) from why
        raise UnwritableMessage(unsupported('TxnOffsetCommitRequest', '0-5', version))


def _read_txn_offset_commit_request_3_5(data: BytesLike, version: int, pos: int) -> TxnOffsetCommitRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = TxnOffsetCommitRequest.__new__(TxnOffsetCommitRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('TxnOffsetCommitRequest.transactional_id', version, pos)
        end = pos + n - 1
        m.transactional_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('TxnOffsetCommitRequest.group_id', version, pos)
        end = pos + n - 1
        m.group_id = buf[pos:end].decode()
        pos = end
        m.producer_id, m.producer_epoch, m.generation_id, n = _u_qhiB(buf, pos)
        pos += 15
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('TxnOffsetCommitRequest.member_id', version, pos)
        end = pos + n - 1
        m.member_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.group_instance_id = None
        else:
            end = pos + n - 1
            m.group_instance_id = buf[pos:end].decode()
            pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('TxnOffsetCommitRequest.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('TxnOffsetCommitRequest.topics', version, pos, n, size)
        list1: list[TxnOffsetCommitRequestTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = TxnOffsetCommitRequestTopic.__new__(TxnOffsetCommitRequestTopic)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('TxnOffsetCommitRequest.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('TxnOffsetCommitRequest.topics.partitions', version, pos)
            n -= 1
            if n * 18 > size - pos:
                raise too_many('TxnOffsetCommitRequest.topics.partitions', version, pos, n, size)
            list2: list[TxnOffsetCommitRequestPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = TxnOffsetCommitRequestPartition.__new__(TxnOffsetCommitRequestPartition)
                e2.partition_index, e2.committed_offset, e2.committed_leader_epoch, n = _u_iqiB(buf, pos)
                pos += 17
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.committed_metadata = None
                else:
                    end = pos + n - 1
                    e2.committed_metadata = buf[pos:end].decode()
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
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('TxnOffsetCommitRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('TxnOffsetCommitRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('TxnOffsetCommitRequest', version, pos, size)
    return m


def _read_txn_offset_commit_request_0_2(data: BytesLike, version: int, pos: int) -> TxnOffsetCommitRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = TxnOffsetCommitRequest.__new__(TxnOffsetCommitRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('TxnOffsetCommitRequest.transactional_id', version, pos)
        end = pos + n
        m.transactional_id = buf[pos:end].decode()
        pos = end
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('TxnOffsetCommitRequest.group_id', version, pos)
        end = pos + n
        m.group_id = buf[pos:end].decode()
        pos = end
        m.generation_id = -1
        m.member_id = ""
        m.group_instance_id = None
        m.producer_id, m.producer_epoch, n = _u_qhi(buf, pos)
        pos += 14
        if n < 0:
            raise null_found('TxnOffsetCommitRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('TxnOffsetCommitRequest.topics', version, pos, n, size)
        list1: list[TxnOffsetCommitRequestTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = TxnOffsetCommitRequestTopic.__new__(TxnOffsetCommitRequestTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('TxnOffsetCommitRequest.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('TxnOffsetCommitRequest.topics.partitions', version, pos)
            if n * 14 > size - pos:
                raise too_many('TxnOffsetCommitRequest.topics.partitions', version, pos, n, size)
            list2: list[TxnOffsetCommitRequestPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = TxnOffsetCommitRequestPartition.__new__(TxnOffsetCommitRequestPartition)
                e2.partition_index, e2.committed_offset = _u_iq(buf, pos)
                pos += 12
                if version >= 2:
                    e2.committed_leader_epoch, = _u_i(buf, pos)
                    pos += 4
                else:
                    e2.committed_leader_epoch = -1
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    e2.committed_metadata = None
                else:
                    end = pos + n
                    e2.committed_metadata = buf[pos:end].decode()
                    pos = end
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('TxnOffsetCommitRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('TxnOffsetCommitRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('TxnOffsetCommitRequest', version, pos, size)
    return m


def _write_txn_offset_commit_request_3_5(m: TxnOffsetCommitRequest, out: bytearray, version: int) -> None:
    text = m.transactional_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    text = m.group_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    text = m.member_id.encode()
    out += _p_qhi(m.producer_id, m.producer_epoch, m.generation_id)
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    if m.group_instance_id is None:
        out.append(0)
    else:
        text = m.group_instance_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        text = e1.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_iqi(e2.partition_index, e2.committed_offset, e2.committed_leader_epoch)
            if e2.committed_metadata is None:
                out.append(0)
            else:
                text = e2.committed_metadata.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            out.append(0)
        out.append(0)
    out.append(0)


def _write_txn_offset_commit_request_0_2(m: TxnOffsetCommitRequest, out: bytearray, version: int) -> None:
    text = m.transactional_id.encode()
    out += _p_h(len(text))
    out += text
    text = m.group_id.encode()
    out += _p_h(len(text))
    out += text
    out += _p_qhi(m.producer_id, m.producer_epoch, len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iq(e2.partition_index, e2.committed_offset)
            if version >= 2:
                out += _p_i(e2.committed_leader_epoch)
            if e2.committed_metadata is None:
                out += b'\xff\xff'
            else:
                text = e2.committed_metadata.encode()
                out += _p_h(len(text))
                out += text


@dataclass(slots=True, init=False, repr=False, eq=False)
class TxnOffsetCommitResponsePartition(Struct):
    """Part of TxnOffsetCommitResponse."""

    partition_index: int
    error_code: int

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


@dataclass(slots=True, init=False, repr=False, eq=False)
class TxnOffsetCommitResponseTopic(Struct):
    """Part of TxnOffsetCommitResponse."""

    name: str
    partitions: list[TxnOffsetCommitResponsePartition]

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitResponsePartition] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class TxnOffsetCommitResponse(Message):
    """TxnOffsetCommitResponse, versions 0-5."""

    throttle_time_ms: int
    topics: list[TxnOffsetCommitResponseTopic]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TxnOffsetCommitResponseTopic] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> TxnOffsetCommitResponse:
        if 3 <= version <= 5:
            return _read_txn_offset_commit_response_3_5(data, version, at)
        if 0 <= version <= 2:
            return _read_txn_offset_commit_response_0_2(data, version, at)
        raise MalformedMessage(unsupported('TxnOffsetCommitResponse', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 5:
                return _write_txn_offset_commit_response_3_5(self, out, version)
            if 0 <= version <= 2:
                return _write_txn_offset_commit_response_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('TxnOffsetCommitResponse', version, why) from why
        raise UnwritableMessage(unsupported('TxnOffsetCommitResponse', '0-5', version))


def _read_txn_offset_commit_response_3_5(data: BytesLike, version: int, pos: int) -> TxnOffsetCommitResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = TxnOffsetCommitResponse.__new__(TxnOffsetCommitResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('TxnOffsetCommitResponse.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('TxnOffsetCommitResponse.topics', version, pos, n, size)
        list1: list[TxnOffsetCommitResponseTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = TxnOffsetCommitResponseTopic.__new__(TxnOffsetCommitResponseTopic)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('TxnOffsetCommitResponse.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('TxnOffsetCommitResponse.topics.partitions', version, pos)
            n -= 1
            if n * 7 > size - pos:
                raise too_many('TxnOffsetCommitResponse.topics.partitions', version, pos, n, size)
            list2: list[TxnOffsetCommitResponsePartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = TxnOffsetCommitResponsePartition.__new__(TxnOffsetCommitResponsePartition)
                e2.partition_index, e2.error_code, n = _u_ihB(buf, pos)
                pos += 7
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
        raise cut_short('TxnOffsetCommitResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('TxnOffsetCommitResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('TxnOffsetCommitResponse', version, pos, size)
    return m


def _read_txn_offset_commit_response_0_2(data: BytesLike, version: int, pos: int) -> TxnOffsetCommitResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = TxnOffsetCommitResponse.__new__(TxnOffsetCommitResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('TxnOffsetCommitResponse.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('TxnOffsetCommitResponse.topics', version, pos, n, size)
        list1: list[TxnOffsetCommitResponseTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = TxnOffsetCommitResponseTopic.__new__(TxnOffsetCommitResponseTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('TxnOffsetCommitResponse.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('TxnOffsetCommitResponse.topics.partitions', version, pos)
            if n * 6 > size - pos:
                raise too_many('TxnOffsetCommitResponse.topics.partitions', version, pos, n, size)
            list2: list[TxnOffsetCommitResponsePartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = TxnOffsetCommitResponsePartition.__new__(TxnOffsetCommitResponsePartition)
                e2.partition_index, e2.error_code = _u_ih(buf, pos)
                pos += 6
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('TxnOffsetCommitResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('TxnOffsetCommitResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('TxnOffsetCommitResponse', version, pos, size)
    return m


def _write_txn_offset_commit_response_3_5(m: TxnOffsetCommitResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        text = e1.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_ihx(e2.partition_index, e2.error_code)
        out.append(0)
    out.append(0)


def _write_txn_offset_commit_response_0_2(m: TxnOffsetCommitResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_ih(e2.partition_index, e2.error_code)
