"""Fetch (key 1), versions 4-18. Generated from definitions/fetch.txt by oncelog.protocol.generate: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct as Layout
from struct import error as LayoutError
from struct import pack
from struct import unpack_from

from oncelog.errors import MalformedMessage
from oncelog.protocol.primitives import (
    ABSENT,
    APART_BYTES,
    BytesLike,
    Message,
    Struct,
    UnwritableMessage,
    WRITE_FAULTS,
    ZERO_UUID,
    count_tags,
    cut_short,
    more_string_length,
    more_varint,
    not_text,
    not_uuid,
    null_found,
    read_tag,
    skip_tags,
    string_length,
    tagged,
    too_many,
    unsupported,
    unwritable,
    varint,
    wrong_tag_size,
)

_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ihi = Layout(">ihi").pack
_p_ihii = Layout(">ihii").pack
_p_ihqq = Layout(">ihqq").pack
_p_ihqqq = Layout(">ihqqq").pack
_p_ii = Layout(">ii").pack
_p_iiibii = Layout(">iiibii").pack
_p_iiiibi = Layout(">iiiibi").pack
_p_iiiibii = Layout(">iiiibii").pack
_p_iiiibiii = Layout(">iiiibiii").pack
_p_iiqiqi = Layout(">iiqiqi").pack
_p_iiqiqix = Layout(">iiqiqix").pack
_p_iiqqi = Layout(">iiqqi").pack
_p_iix = Layout(">iix").pack
_p_iqi = Layout(">iqi").pack
_p_iqqi = Layout(">iqqi").pack
_p_iqx = Layout(">iqx").pack
_p_q = Layout(">q").pack
_p_qix = Layout(">qix").pack
_p_qq = Layout(">qq").pack
_p_qqx = Layout(">qqx").pack
_p_u = Layout(">16s").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ihiB = Layout(">ihiB").unpack_from
_u_ihii = Layout(">ihii").unpack_from
_u_ihqqi = Layout(">ihqqi").unpack_from
_u_ihqqqB = Layout(">ihqqqB").unpack_from
_u_ihqqqi = Layout(">ihqqqi").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_iiB = Layout(">iiB").unpack_from
_u_iiibiiB = Layout(">iiibiiB").unpack_from
_u_iiiibi = Layout(">iiiibi").unpack_from
_u_iiiibiiB = Layout(">iiiibiiB").unpack_from
_u_iiiibiii = Layout(">iiiibiii").unpack_from
_u_iiqiqiB = Layout(">iiqiqiB").unpack_from
_u_iiqqi = Layout(">iiqqi").unpack_from
_u_iqB = Layout(">iqB").unpack_from
_u_iqi = Layout(">iqi").unpack_from
_u_iqqi = Layout(">iqqi").unpack_from
_u_q = Layout(">q").unpack_from
_u_qiB = Layout(">qiB").unpack_from
_u_qq = Layout(">qq").unpack_from
_u_qqB = Layout(">qqB").unpack_from
_u_u = Layout(">16s").unpack_from
_u_uB = Layout(">16sB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ReplicaState(Struct):
    """Part of FetchRequest."""

    replica_id: int
    replica_epoch: int

    def __init__(
        self,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch


@dataclass(slots=True, init=False, repr=False, eq=False)
class FetchPartition(Struct):
    """Part of FetchRequest."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int
    replica_directory_id: bytes
    high_watermark: int

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark


@dataclass(slots=True, init=False, repr=False, eq=False)
class FetchTopic(Struct):
    """Part of FetchRequest."""

    topic: str
    topic_id: bytes
    partitions: list[FetchPartition]

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[FetchPartition] = ABSENT,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class ForgottenTopic(Struct):
    """Part of FetchRequest."""

    topic: str
    topic_id: bytes
    partitions: list[int]

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = ABSENT,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class FetchRequest(Message):
    """FetchRequest, versions 4-18."""

    cluster_id: str | None
    replica_id: int
    replica_state: ReplicaState | None
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]
    rack_id: str

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = ABSENT,
        forgotten_topics_data: list[ForgottenTopic] = ABSENT,
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is ABSENT else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is ABSENT else forgotten_topics_data
        self.rack_id = rack_id

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> FetchRequest:
        if version == 18:
            return _read_fetch_request_18_18(data, version, at)
        if version == 17:
            return _read_fetch_request_17_17(data, version, at)
        if 15 <= version <= 16:
            return _read_fetch_request_15_16(data, version, at)
        if 13 <= version <= 14:
            return _read_fetch_request_13_14(data, version, at)
        if version == 12:
            return _read_fetch_request_12_12(data, version, at)
        if version == 11:
            return _read_fetch_request_11_11(data, version, at)
        if 9 <= version <= 10:
            return _read_fetch_request_9_10(data, version, at)
        if 7 <= version <= 8:
            return _read_fetch_request_7_8(data, version, at)
        if 5 <= version <= 6:
            return _read_fetch_request_5_6(data, version, at)
        if version == 4:
            return _read_fetch_request_4_4(data, version, at)
        raise MalformedMessage(unsupported('FetchRequest', '4-18', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 18:
                return _write_fetch_request_18_18(self, out, version)
            if version == 17:
                return _write_fetch_request_17_17(self, out, version)
            if 15 <= version <= 16:
                return _write_fetch_request_15_16(self, out, version)
            if 13 <= version <= 14:
                return _write_fetch_request_13_14(self, out, version)
            if version == 12:
                return _write_fetch_request_12_12(self, out, version)
            if version == 11:
                return _write_fetch_request_11_11(self, out, version)
            if 9 <= version <= 10:
                return _write_fetch_request_9_10(self, out, version)
            if 7 <= version <= 8:
                return _write_fetch_request_7_8(self, out, version)
            if 5 <= version <= 6:
                return _write_fetch_request_5_6(self, out, version)
            if version == 4:
                return _write_fetch_request_4_4(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('FetchRequest', version, why) from why
        raise UnwritableMessage(unsupported('FetchRequest', '4-18', version))


def _read_fetch_request_18_18(data: BytesLike, version: int, pos: int) -> FetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_id = -1
        m.replica_state = None
        m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n = _u_iiibiiB(buf, pos)
        pos += 22
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.topics', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('FetchRequest.topics', version, pos, n, size)
        list1: list[FetchTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchTopic.__new__(FetchTopic)
            e1.topic = ""
            e1.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.topics.partitions', version, pos)
            n -= 1
            if n * 33 > size - pos:
                raise too_many('FetchRequest.topics.partitions', version, pos, n, size)
            list2: list[FetchPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = FetchPartition.__new__(FetchPartition)
                e2.replica_directory_id = ZERO_UUID
                e2.high_watermark = 9223372036854775807
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes, n = _u_iiqiqiB(buf, pos)
                pos += 33
                if n:
                    count3, pos = count_tags(buf, pos, size, n)
                    for _ in range(count3):
                        tag3, pos, stop3 = read_tag(buf, pos, size)
                        if tag3 == 0:
                            e2.replica_directory_id, = _u_u(buf, pos)
                            pos += 16
                        elif tag3 == 1:
                            e2.high_watermark, = _u_q(buf, pos)
                            pos += 8
                        else:
                            pos = stop3
                        if pos != stop3:
                            raise wrong_tag_size('FetchRequest.topics.partitions', version, pos, stop3)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.forgotten_topics_data', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('FetchRequest.forgotten_topics_data', version, pos, n, size)
        list3: list[ForgottenTopic] = []
        m.forgotten_topics_data = list3
        count4 = n
        for _ in range(count4):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            e3.topic = ""
            e3.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.forgotten_topics_data.partitions', version, pos)
            n -= 1
            if n * 4 > size - pos:
                raise too_many('FetchRequest.forgotten_topics_data.partitions', version, pos, n, size)
            e3.partitions = list(unpack_from(f'>{n}i', buf, pos))
            pos += 4 * n
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list3.append(e3)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.rack_id', version, pos)
        end = pos + n - 1
        m.rack_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n:
            count5, pos = count_tags(buf, pos, size, n)
            for _ in range(count5):
                tag1, pos, stop1 = read_tag(buf, pos, size)
                if tag1 == 0:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        m.cluster_id = None
                    else:
                        end = pos + n - 1
                        m.cluster_id = buf[pos:end].decode()
                        pos = end
                elif tag1 == 1:
                    e4 = ReplicaState.__new__(ReplicaState)
                    e4.replica_id, e4.replica_epoch, n = _u_iqB(buf, pos)
                    pos += 13
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    m.replica_state = e4
                else:
                    pos = stop1
                if pos != stop1:
                    raise wrong_tag_size('FetchRequest', version, pos, stop1)
    except (IndexError, LayoutError):
        raise cut_short('FetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchRequest', version, pos, size)
    return m


def _read_fetch_request_17_17(data: BytesLike, version: int, pos: int) -> FetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_id = -1
        m.replica_state = None
        m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n = _u_iiibiiB(buf, pos)
        pos += 22
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.topics', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('FetchRequest.topics', version, pos, n, size)
        list1: list[FetchTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchTopic.__new__(FetchTopic)
            e1.topic = ""
            e1.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.topics.partitions', version, pos)
            n -= 1
            if n * 33 > size - pos:
                raise too_many('FetchRequest.topics.partitions', version, pos, n, size)
            list2: list[FetchPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = FetchPartition.__new__(FetchPartition)
                e2.replica_directory_id = ZERO_UUID
                e2.high_watermark = 9223372036854775807
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes, n = _u_iiqiqiB(buf, pos)
                pos += 33
                if n:
                    count3, pos = count_tags(buf, pos, size, n)
                    for _ in range(count3):
                        tag3, pos, stop3 = read_tag(buf, pos, size)
                        if tag3 == 0:
                            e2.replica_directory_id, = _u_u(buf, pos)
                            pos += 16
                        else:
                            pos = stop3
                        if pos != stop3:
                            raise wrong_tag_size('FetchRequest.topics.partitions', version, pos, stop3)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.forgotten_topics_data', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('FetchRequest.forgotten_topics_data', version, pos, n, size)
        list3: list[ForgottenTopic] = []
        m.forgotten_topics_data = list3
        count4 = n
        for _ in range(count4):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            e3.topic = ""
            e3.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.forgotten_topics_data.partitions', version, pos)
            n -= 1
            if n * 4 > size - pos:
                raise too_many('FetchRequest.forgotten_topics_data.partitions', version, pos, n, size)
            e3.partitions = list(unpack_from(f'>{n}i', buf, pos))
            pos += 4 * n
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list3.append(e3)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.rack_id', version, pos)
        end = pos + n - 1
        m.rack_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n:
            count5, pos = count_tags(buf, pos, size, n)
            for _ in range(count5):
                tag1, pos, stop1 = read_tag(buf, pos, size)
                if tag1 == 0:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        m.cluster_id = None
                    else:
                        end = pos + n - 1
                        m.cluster_id = buf[pos:end].decode()
                        pos = end
                elif tag1 == 1:
                    e4 = ReplicaState.__new__(ReplicaState)
                    e4.replica_id, e4.replica_epoch, n = _u_iqB(buf, pos)
                    pos += 13
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    m.replica_state = e4
                else:
                    pos = stop1
                if pos != stop1:
                    raise wrong_tag_size('FetchRequest', version, pos, stop1)
    except (IndexError, LayoutError):
        raise cut_short('FetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchRequest', version, pos, size)
    return m


def _read_fetch_request_15_16(data: BytesLike, version: int, pos: int) -> FetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_id = -1
        m.replica_state = None
        m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n = _u_iiibiiB(buf, pos)
        pos += 22
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.topics', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('FetchRequest.topics', version, pos, n, size)
        list1: list[FetchTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchTopic.__new__(FetchTopic)
            e1.topic = ""
            e1.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.topics.partitions', version, pos)
            n -= 1
            if n * 33 > size - pos:
                raise too_many('FetchRequest.topics.partitions', version, pos, n, size)
            list2: list[FetchPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = FetchPartition.__new__(FetchPartition)
                e2.replica_directory_id = ZERO_UUID
                e2.high_watermark = 9223372036854775807
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes, n = _u_iiqiqiB(buf, pos)
                pos += 33
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
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.forgotten_topics_data', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('FetchRequest.forgotten_topics_data', version, pos, n, size)
        list3: list[ForgottenTopic] = []
        m.forgotten_topics_data = list3
        count3 = n
        for _ in range(count3):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            e3.topic = ""
            e3.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.forgotten_topics_data.partitions', version, pos)
            n -= 1
            if n * 4 > size - pos:
                raise too_many('FetchRequest.forgotten_topics_data.partitions', version, pos, n, size)
            e3.partitions = list(unpack_from(f'>{n}i', buf, pos))
            pos += 4 * n
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list3.append(e3)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.rack_id', version, pos)
        end = pos + n - 1
        m.rack_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n:
            count4, pos = count_tags(buf, pos, size, n)
            for _ in range(count4):
                tag1, pos, stop1 = read_tag(buf, pos, size)
                if tag1 == 0:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        m.cluster_id = None
                    else:
                        end = pos + n - 1
                        m.cluster_id = buf[pos:end].decode()
                        pos = end
                elif tag1 == 1:
                    e4 = ReplicaState.__new__(ReplicaState)
                    e4.replica_id, e4.replica_epoch, n = _u_iqB(buf, pos)
                    pos += 13
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    m.replica_state = e4
                else:
                    pos = stop1
                if pos != stop1:
                    raise wrong_tag_size('FetchRequest', version, pos, stop1)
    except (IndexError, LayoutError):
        raise cut_short('FetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchRequest', version, pos, size)
    return m


def _read_fetch_request_13_14(data: BytesLike, version: int, pos: int) -> FetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_state = None
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n = _u_iiiibiiB(buf, pos)
        pos += 26
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.topics', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('FetchRequest.topics', version, pos, n, size)
        list1: list[FetchTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchTopic.__new__(FetchTopic)
            e1.topic = ""
            e1.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.topics.partitions', version, pos)
            n -= 1
            if n * 33 > size - pos:
                raise too_many('FetchRequest.topics.partitions', version, pos, n, size)
            list2: list[FetchPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = FetchPartition.__new__(FetchPartition)
                e2.replica_directory_id = ZERO_UUID
                e2.high_watermark = 9223372036854775807
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes, n = _u_iiqiqiB(buf, pos)
                pos += 33
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
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.forgotten_topics_data', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('FetchRequest.forgotten_topics_data', version, pos, n, size)
        list3: list[ForgottenTopic] = []
        m.forgotten_topics_data = list3
        count3 = n
        for _ in range(count3):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            e3.topic = ""
            e3.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.forgotten_topics_data.partitions', version, pos)
            n -= 1
            if n * 4 > size - pos:
                raise too_many('FetchRequest.forgotten_topics_data.partitions', version, pos, n, size)
            e3.partitions = list(unpack_from(f'>{n}i', buf, pos))
            pos += 4 * n
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list3.append(e3)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.rack_id', version, pos)
        end = pos + n - 1
        m.rack_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n:
            count4, pos = count_tags(buf, pos, size, n)
            for _ in range(count4):
                tag1, pos, stop1 = read_tag(buf, pos, size)
                if tag1 == 0:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        m.cluster_id = None
                    else:
                        end = pos + n - 1
                        m.cluster_id = buf[pos:end].decode()
                        pos = end
                else:
                    pos = stop1
                if pos != stop1:
                    raise wrong_tag_size('FetchRequest', version, pos, stop1)
    except (IndexError, LayoutError):
        raise cut_short('FetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchRequest', version, pos, size)
    return m


def _read_fetch_request_12_12(data: BytesLike, version: int, pos: int) -> FetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_state = None
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n = _u_iiiibiiB(buf, pos)
        pos += 26
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('FetchRequest.topics', version, pos, n, size)
        list1: list[FetchTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchTopic.__new__(FetchTopic)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.topics.topic', version, pos)
            end = pos + n - 1
            e1.topic = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.topics.partitions', version, pos)
            n -= 1
            if n * 33 > size - pos:
                raise too_many('FetchRequest.topics.partitions', version, pos, n, size)
            list2: list[FetchPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = FetchPartition.__new__(FetchPartition)
                e2.replica_directory_id = ZERO_UUID
                e2.high_watermark = 9223372036854775807
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes, n = _u_iiqiqiB(buf, pos)
                pos += 33
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
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.forgotten_topics_data', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('FetchRequest.forgotten_topics_data', version, pos, n, size)
        list3: list[ForgottenTopic] = []
        m.forgotten_topics_data = list3
        count3 = n
        for _ in range(count3):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.forgotten_topics_data.topic', version, pos)
            end = pos + n - 1
            e3.topic = buf[pos:end].decode()
            pos = end
            e3.topic_id = ZERO_UUID
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchRequest.forgotten_topics_data.partitions', version, pos)
            n -= 1
            if n * 4 > size - pos:
                raise too_many('FetchRequest.forgotten_topics_data.partitions', version, pos, n, size)
            e3.partitions = list(unpack_from(f'>{n}i', buf, pos))
            pos += 4 * n
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list3.append(e3)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('FetchRequest.rack_id', version, pos)
        end = pos + n - 1
        m.rack_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n:
            count4, pos = count_tags(buf, pos, size, n)
            for _ in range(count4):
                tag1, pos, stop1 = read_tag(buf, pos, size)
                if tag1 == 0:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        m.cluster_id = None
                    else:
                        end = pos + n - 1
                        m.cluster_id = buf[pos:end].decode()
                        pos = end
                else:
                    pos = stop1
                if pos != stop1:
                    raise wrong_tag_size('FetchRequest', version, pos, stop1)
    except (IndexError, LayoutError):
        raise cut_short('FetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchRequest', version, pos, size)
    return m


def _read_fetch_request_11_11(data: BytesLike, version: int, pos: int) -> FetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_state = None
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n = _u_iiiibiii(buf, pos)
        pos += 29
        if n < 0:
            raise null_found('FetchRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchRequest.topics', version, pos, n, size)
        list1: list[FetchTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchTopic.__new__(FetchTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchRequest.topics.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchRequest.topics.partitions', version, pos)
            if n * 28 > size - pos:
                raise too_many('FetchRequest.topics.partitions', version, pos, n, size)
            list2: list[FetchPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = FetchPartition.__new__(FetchPartition)
                e2.last_fetched_epoch = -1
                e2.replica_directory_id = ZERO_UUID
                e2.high_watermark = 9223372036854775807
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes = _u_iiqqi(buf, pos)
                pos += 28
                list2.append(e2)
            list1.append(e1)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('FetchRequest.forgotten_topics_data', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchRequest.forgotten_topics_data', version, pos, n, size)
        list3: list[ForgottenTopic] = []
        m.forgotten_topics_data = list3
        count3 = n
        for _ in range(count3):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchRequest.forgotten_topics_data.topic', version, pos)
            end = pos + n
            e3.topic = buf[pos:end].decode()
            pos = end
            e3.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchRequest.forgotten_topics_data.partitions', version, pos)
            if n * 4 > size - pos:
                raise too_many('FetchRequest.forgotten_topics_data.partitions', version, pos, n, size)
            e3.partitions = list(unpack_from(f'>{n}i', buf, pos))
            pos += 4 * n
            list3.append(e3)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('FetchRequest.rack_id', version, pos)
        end = pos + n
        m.rack_id = buf[pos:end].decode()
        pos = end
    except (IndexError, LayoutError):
        raise cut_short('FetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchRequest', version, pos, size)
    return m


def _read_fetch_request_9_10(data: BytesLike, version: int, pos: int) -> FetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_state = None
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n = _u_iiiibiii(buf, pos)
        pos += 29
        if n < 0:
            raise null_found('FetchRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchRequest.topics', version, pos, n, size)
        list1: list[FetchTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchTopic.__new__(FetchTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchRequest.topics.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchRequest.topics.partitions', version, pos)
            if n * 28 > size - pos:
                raise too_many('FetchRequest.topics.partitions', version, pos, n, size)
            list2: list[FetchPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = FetchPartition.__new__(FetchPartition)
                e2.last_fetched_epoch = -1
                e2.replica_directory_id = ZERO_UUID
                e2.high_watermark = 9223372036854775807
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes = _u_iiqqi(buf, pos)
                pos += 28
                list2.append(e2)
            list1.append(e1)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('FetchRequest.forgotten_topics_data', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchRequest.forgotten_topics_data', version, pos, n, size)
        list3: list[ForgottenTopic] = []
        m.forgotten_topics_data = list3
        count3 = n
        for _ in range(count3):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchRequest.forgotten_topics_data.topic', version, pos)
            end = pos + n
            e3.topic = buf[pos:end].decode()
            pos = end
            e3.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchRequest.forgotten_topics_data.partitions', version, pos)
            if n * 4 > size - pos:
                raise too_many('FetchRequest.forgotten_topics_data.partitions', version, pos, n, size)
            e3.partitions = list(unpack_from(f'>{n}i', buf, pos))
            pos += 4 * n
            list3.append(e3)
        m.rack_id = ""
    except (IndexError, LayoutError):
        raise cut_short('FetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchRequest', version, pos, size)
    return m


def _read_fetch_request_7_8(data: BytesLike, version: int, pos: int) -> FetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_state = None
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n = _u_iiiibiii(buf, pos)
        pos += 29
        if n < 0:
            raise null_found('FetchRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchRequest.topics', version, pos, n, size)
        list1: list[FetchTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchTopic.__new__(FetchTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchRequest.topics.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchRequest.topics.partitions', version, pos)
            if n * 24 > size - pos:
                raise too_many('FetchRequest.topics.partitions', version, pos, n, size)
            list2: list[FetchPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = FetchPartition.__new__(FetchPartition)
                e2.current_leader_epoch = -1
                e2.last_fetched_epoch = -1
                e2.replica_directory_id = ZERO_UUID
                e2.high_watermark = 9223372036854775807
                e2.partition, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes = _u_iqqi(buf, pos)
                pos += 24
                list2.append(e2)
            list1.append(e1)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('FetchRequest.forgotten_topics_data', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchRequest.forgotten_topics_data', version, pos, n, size)
        list3: list[ForgottenTopic] = []
        m.forgotten_topics_data = list3
        count3 = n
        for _ in range(count3):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchRequest.forgotten_topics_data.topic', version, pos)
            end = pos + n
            e3.topic = buf[pos:end].decode()
            pos = end
            e3.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchRequest.forgotten_topics_data.partitions', version, pos)
            if n * 4 > size - pos:
                raise too_many('FetchRequest.forgotten_topics_data.partitions', version, pos, n, size)
            e3.partitions = list(unpack_from(f'>{n}i', buf, pos))
            pos += 4 * n
            list3.append(e3)
        m.rack_id = ""
    except (IndexError, LayoutError):
        raise cut_short('FetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchRequest', version, pos, size)
    return m


def _read_fetch_request_5_6(data: BytesLike, version: int, pos: int) -> FetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_state = None
        m.session_id = 0
        m.session_epoch = -1
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, n = _u_iiiibi(buf, pos)
        pos += 21
        if n < 0:
            raise null_found('FetchRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchRequest.topics', version, pos, n, size)
        list1: list[FetchTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchTopic.__new__(FetchTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchRequest.topics.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchRequest.topics.partitions', version, pos)
            if n * 24 > size - pos:
                raise too_many('FetchRequest.topics.partitions', version, pos, n, size)
            list2: list[FetchPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = FetchPartition.__new__(FetchPartition)
                e2.current_leader_epoch = -1
                e2.last_fetched_epoch = -1
                e2.replica_directory_id = ZERO_UUID
                e2.high_watermark = 9223372036854775807
                e2.partition, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes = _u_iqqi(buf, pos)
                pos += 24
                list2.append(e2)
            list1.append(e1)
        m.forgotten_topics_data = []
        m.rack_id = ""
    except (IndexError, LayoutError):
        raise cut_short('FetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchRequest', version, pos, size)
    return m


def _read_fetch_request_4_4(data: BytesLike, version: int, pos: int) -> FetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_state = None
        m.session_id = 0
        m.session_epoch = -1
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, n = _u_iiiibi(buf, pos)
        pos += 21
        if n < 0:
            raise null_found('FetchRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchRequest.topics', version, pos, n, size)
        list1: list[FetchTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchTopic.__new__(FetchTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchRequest.topics.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchRequest.topics.partitions', version, pos)
            if n * 16 > size - pos:
                raise too_many('FetchRequest.topics.partitions', version, pos, n, size)
            list2: list[FetchPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = FetchPartition.__new__(FetchPartition)
                e2.current_leader_epoch = -1
                e2.last_fetched_epoch = -1
                e2.log_start_offset = -1
                e2.replica_directory_id = ZERO_UUID
                e2.high_watermark = 9223372036854775807
                e2.partition, e2.fetch_offset, e2.partition_max_bytes = _u_iqi(buf, pos)
                pos += 16
                list2.append(e2)
            list1.append(e1)
        m.forgotten_topics_data = []
        m.rack_id = ""
    except (IndexError, LayoutError):
        raise cut_short('FetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchRequest', version, pos, size)
    return m


def _write_fetch_request_18_18(m: FetchRequest, out: bytearray, version: int) -> None:
    out += _p_iiibii(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch)
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        if len(e1.topic_id) != 16:
            raise not_uuid('FetchRequest.topics.topic_id', e1.topic_id)
        out += _p_u(e1.topic_id)
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_iiqiqi(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes)
            if e2.replica_directory_id == ZERO_UUID and e2.high_watermark == 9223372036854775807:
                out.append(0)
            else:
                tags3: list[bytes] = []
                if not (e2.replica_directory_id == ZERO_UUID):
                    sub3 = bytearray()
                    if len(e2.replica_directory_id) != 16:
                        raise not_uuid('FetchRequest.topics.partitions.replica_directory_id', e2.replica_directory_id)
                    sub3 += _p_u(e2.replica_directory_id)
                    tags3.append(tagged(0, sub3))
                if not (e2.high_watermark == 9223372036854775807):
                    sub3 = bytearray()
                    sub3 += _p_q(e2.high_watermark)
                    tags3.append(tagged(1, sub3))
                out += varint(len(tags3))
                for tag in tags3:
                    out += tag
        out.append(0)
    n = len(m.forgotten_topics_data) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e3 in m.forgotten_topics_data:
        if len(e3.topic_id) != 16:
            raise not_uuid('FetchRequest.forgotten_topics_data.topic_id', e3.topic_id)
        out += _p_u(e3.topic_id)
        n = len(e3.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += pack(f'>{len(e3.partitions)}i', *e3.partitions)
        out.append(0)
    text = m.rack_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    if m.cluster_id is None and m.replica_state is None:
        out.append(0)
    else:
        tags1: list[bytes] = []
        if not (m.cluster_id is None):
            sub1 = bytearray()
            text = m.cluster_id.encode()
            n = len(text) + 1
            if n < 128:
                sub1.append(n)
            else:
                sub1 += string_length(n)
            sub1 += text
            tags1.append(tagged(0, sub1))
        if not (m.replica_state is None) and m.replica_state != ReplicaState():
            sub1 = bytearray()
            sub1 += _p_iqx(m.replica_state.replica_id, m.replica_state.replica_epoch)
            tags1.append(tagged(1, sub1))
        out += varint(len(tags1))
        for tag in tags1:
            out += tag


def _write_fetch_request_17_17(m: FetchRequest, out: bytearray, version: int) -> None:
    out += _p_iiibii(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch)
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        if len(e1.topic_id) != 16:
            raise not_uuid('FetchRequest.topics.topic_id', e1.topic_id)
        out += _p_u(e1.topic_id)
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_iiqiqi(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes)
            if e2.replica_directory_id == ZERO_UUID:
                out.append(0)
            else:
                tags3: list[bytes] = []
                sub3 = bytearray()
                if len(e2.replica_directory_id) != 16:
                    raise not_uuid('FetchRequest.topics.partitions.replica_directory_id', e2.replica_directory_id)
                sub3 += _p_u(e2.replica_directory_id)
                tags3.append(tagged(0, sub3))
                out += varint(len(tags3))
                for tag in tags3:
                    out += tag
        out.append(0)
    n = len(m.forgotten_topics_data) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e3 in m.forgotten_topics_data:
        if len(e3.topic_id) != 16:
            raise not_uuid('FetchRequest.forgotten_topics_data.topic_id', e3.topic_id)
        out += _p_u(e3.topic_id)
        n = len(e3.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += pack(f'>{len(e3.partitions)}i', *e3.partitions)
        out.append(0)
    text = m.rack_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    if m.cluster_id is None and m.replica_state is None:
        out.append(0)
    else:
        tags1: list[bytes] = []
        if not (m.cluster_id is None):
            sub1 = bytearray()
            text = m.cluster_id.encode()
            n = len(text) + 1
            if n < 128:
                sub1.append(n)
            else:
                sub1 += string_length(n)
            sub1 += text
            tags1.append(tagged(0, sub1))
        if not (m.replica_state is None) and m.replica_state != ReplicaState():
            sub1 = bytearray()
            sub1 += _p_iqx(m.replica_state.replica_id, m.replica_state.replica_epoch)
            tags1.append(tagged(1, sub1))
        out += varint(len(tags1))
        for tag in tags1:
            out += tag


def _write_fetch_request_15_16(m: FetchRequest, out: bytearray, version: int) -> None:
    out += _p_iiibii(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch)
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        if len(e1.topic_id) != 16:
            raise not_uuid('FetchRequest.topics.topic_id', e1.topic_id)
        out += _p_u(e1.topic_id)
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_iiqiqix(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes)
        out.append(0)
    n = len(m.forgotten_topics_data) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e3 in m.forgotten_topics_data:
        if len(e3.topic_id) != 16:
            raise not_uuid('FetchRequest.forgotten_topics_data.topic_id', e3.topic_id)
        out += _p_u(e3.topic_id)
        n = len(e3.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += pack(f'>{len(e3.partitions)}i', *e3.partitions)
        out.append(0)
    text = m.rack_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    if m.cluster_id is None and m.replica_state is None:
        out.append(0)
    else:
        tags1: list[bytes] = []
        if not (m.cluster_id is None):
            sub1 = bytearray()
            text = m.cluster_id.encode()
            n = len(text) + 1
            if n < 128:
                sub1.append(n)
            else:
                sub1 += string_length(n)
            sub1 += text
            tags1.append(tagged(0, sub1))
        if not (m.replica_state is None) and m.replica_state != ReplicaState():
            sub1 = bytearray()
            sub1 += _p_iqx(m.replica_state.replica_id, m.replica_state.replica_epoch)
            tags1.append(tagged(1, sub1))
        out += varint(len(tags1))
        for tag in tags1:
            out += tag


def _write_fetch_request_13_14(m: FetchRequest, out: bytearray, version: int) -> None:
    out += _p_iiiibii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch)
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        if len(e1.topic_id) != 16:
            raise not_uuid('FetchRequest.topics.topic_id', e1.topic_id)
        out += _p_u(e1.topic_id)
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_iiqiqix(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes)
        out.append(0)
    n = len(m.forgotten_topics_data) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e3 in m.forgotten_topics_data:
        if len(e3.topic_id) != 16:
            raise not_uuid('FetchRequest.forgotten_topics_data.topic_id', e3.topic_id)
        out += _p_u(e3.topic_id)
        n = len(e3.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += pack(f'>{len(e3.partitions)}i', *e3.partitions)
        out.append(0)
    text = m.rack_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    if m.cluster_id is None:
        out.append(0)
    else:
        tags1: list[bytes] = []
        sub1 = bytearray()
        text = m.cluster_id.encode()
        n = len(text) + 1
        if n < 128:
            sub1.append(n)
        else:
            sub1 += string_length(n)
        sub1 += text
        tags1.append(tagged(0, sub1))
        out += varint(len(tags1))
        for tag in tags1:
            out += tag


def _write_fetch_request_12_12(m: FetchRequest, out: bytearray, version: int) -> None:
    out += _p_iiiibii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch)
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        text = e1.topic.encode()
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
            out += _p_iiqiqix(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes)
        out.append(0)
    n = len(m.forgotten_topics_data) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e3 in m.forgotten_topics_data:
        text = e3.topic.encode()
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
    text = m.rack_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    if m.cluster_id is None:
        out.append(0)
    else:
        tags1: list[bytes] = []
        sub1 = bytearray()
        text = m.cluster_id.encode()
        n = len(text) + 1
        if n < 128:
            sub1.append(n)
        else:
            sub1 += string_length(n)
        sub1 += text
        tags1.append(tagged(0, sub1))
        out += varint(len(tags1))
        for tag in tags1:
            out += tag


def _write_fetch_request_11_11(m: FetchRequest, out: bytearray, version: int) -> None:
    out += _p_iiiibiii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, len(m.topics))
    for e1 in m.topics:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iiqqi(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes)
    out += _p_i(len(m.forgotten_topics_data))
    for e3 in m.forgotten_topics_data:
        text = e3.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e3.partitions))
        out += pack(f'>{len(e3.partitions)}i', *e3.partitions)
    text = m.rack_id.encode()
    out += _p_h(len(text))
    out += text


def _write_fetch_request_9_10(m: FetchRequest, out: bytearray, version: int) -> None:
    out += _p_iiiibiii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, len(m.topics))
    for e1 in m.topics:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iiqqi(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes)
    out += _p_i(len(m.forgotten_topics_data))
    for e3 in m.forgotten_topics_data:
        text = e3.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e3.partitions))
        out += pack(f'>{len(e3.partitions)}i', *e3.partitions)


def _write_fetch_request_7_8(m: FetchRequest, out: bytearray, version: int) -> None:
    out += _p_iiiibiii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, len(m.topics))
    for e1 in m.topics:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iqqi(e2.partition, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes)
    out += _p_i(len(m.forgotten_topics_data))
    for e3 in m.forgotten_topics_data:
        text = e3.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e3.partitions))
        out += pack(f'>{len(e3.partitions)}i', *e3.partitions)


def _write_fetch_request_5_6(m: FetchRequest, out: bytearray, version: int) -> None:
    out += _p_iiiibi(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, len(m.topics))
    for e1 in m.topics:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iqqi(e2.partition, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes)


def _write_fetch_request_4_4(m: FetchRequest, out: bytearray, version: int) -> None:
    out += _p_iiiibi(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, len(m.topics))
    for e1 in m.topics:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iqi(e2.partition, e2.fetch_offset, e2.partition_max_bytes)


@dataclass(slots=True, init=False, repr=False, eq=False)
class EpochEndOffset(Struct):
    """Part of FetchResponse."""

    epoch: int
    end_offset: int

    def __init__(
        self,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset


@dataclass(slots=True, init=False, repr=False, eq=False)
class LeaderIdAndEpoch(Struct):
    """Part of FetchResponse."""

    leader_id: int
    leader_epoch: int

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


@dataclass(slots=True, init=False, repr=False, eq=False)
class SnapshotId(Struct):
    """Part of FetchResponse."""

    end_offset: int
    epoch: int

    def __init__(
        self,
        end_offset: int = -1,
        epoch: int = -1,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


@dataclass(slots=True, init=False, repr=False, eq=False)
class AbortedTransaction(Struct):
    """Part of FetchResponse."""

    producer_id: int
    first_offset: int

    def __init__(
        self,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset


@dataclass(slots=True, init=False, repr=False, eq=False)
class PartitionData(Struct):
    """Part of FetchResponse."""

    partition_index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    diverging_epoch: EpochEndOffset | None
    current_leader: LeaderIdAndEpoch | None
    snapshot_id: SnapshotId | None
    aborted_transactions: list[AbortedTransaction] | None
    preferred_read_replica: int
    records: BytesLike | None

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        aborted_transactions: list[AbortedTransaction] | None = ABSENT,
        preferred_read_replica: int = -1,
        records: BytesLike | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.snapshot_id = snapshot_id
        self.aborted_transactions = [] if aborted_transactions is ABSENT else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records


@dataclass(slots=True, init=False, repr=False, eq=False)
class FetchableTopicResponse(Struct):
    """Part of FetchResponse."""

    topic: str
    topic_id: bytes
    partitions: list[PartitionData]

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] = ABSENT,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class NodeEndpoint(Struct):
    """Part of FetchResponse."""

    node_id: int
    host: str
    port: int
    rack: str | None

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


@dataclass(slots=True, init=False, repr=False, eq=False)
class FetchResponse(Message):
    """FetchResponse, versions 4-18."""

    throttle_time_ms: int
    error_code: int
    session_id: int
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = ABSENT,
        node_endpoints: list[NodeEndpoint] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is ABSENT else responses
        self.node_endpoints = [] if node_endpoints is ABSENT else node_endpoints

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> FetchResponse:
        if 16 <= version <= 18:
            return _read_fetch_response_16_18(data, version, at)
        if 13 <= version <= 15:
            return _read_fetch_response_13_15(data, version, at)
        if version == 12:
            return _read_fetch_response_12_12(data, version, at)
        if version == 11:
            return _read_fetch_response_11_11(data, version, at)
        if 7 <= version <= 10:
            return _read_fetch_response_7_10(data, version, at)
        if 5 <= version <= 6:
            return _read_fetch_response_5_6(data, version, at)
        if version == 4:
            return _read_fetch_response_4_4(data, version, at)
        raise MalformedMessage(unsupported('FetchResponse', '4-18', version))

    def write(self, out: bytearray, version: int) -> None:
        self._write(out, version, None)

    def encode(self, version: int) -> bytes:
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[BytesLike]:
        parts: list[BytesLike] = []
        parts.append(self._write(bytearray(), version, parts))
        return parts

    def _write(self, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
        try:
            if 16 <= version <= 18:
                return _write_fetch_response_16_18(self, out, version, parts)
            if 13 <= version <= 15:
                return _write_fetch_response_13_15(self, out, version, parts)
            if version == 12:
                return _write_fetch_response_12_12(self, out, version, parts)
            if version == 11:
                return _write_fetch_response_11_11(self, out, version, parts)
            if 7 <= version <= 10:
                return _write_fetch_response_7_10(self, out, version, parts)
            if 5 <= version <= 6:
                return _write_fetch_response_5_6(self, out, version, parts)
            if version == 4:
                return _write_fetch_response_4_4(self, out, version, parts)
        except WRITE_FAULTS as why:
            raise unwritable('FetchResponse', version, why) from why
        raise UnwritableMessage(unsupported('FetchResponse', '4-18', version))


def _read_fetch_response_16_18(data: BytesLike, version: int, pos: int) -> FetchResponse:
    buf = data if type(data) is memoryview else memoryview(data)
    size = len(buf)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.throttle_time_ms, m.error_code, m.session_id, n = _u_ihiB(buf, pos)
        pos += 11
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchResponse.responses', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('FetchResponse.responses', version, pos, n, size)
        list1: list[FetchableTopicResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            e1.topic = ""
            e1.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchResponse.responses.partitions', version, pos)
            n -= 1
            if n * 37 > size - pos:
                raise too_many('FetchResponse.responses.partitions', version, pos, n, size)
            list2: list[PartitionData] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionData.__new__(PartitionData)
                e2.diverging_epoch = None
                e2.current_leader = None
                e2.snapshot_id = None
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n = _u_ihqqqB(buf, pos)
                pos += 31
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.aborted_transactions = None
                else:
                    n -= 1
                    if n * 17 > size - pos:
                        raise too_many('FetchResponse.responses.partitions.aborted_transactions', version, pos, n, size)
                    list3: list[AbortedTransaction] = []
                    e2.aborted_transactions = list3
                    count3 = n
                    for _ in range(count3):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        e3.producer_id, e3.first_offset, n = _u_qqB(buf, pos)
                        pos += 17
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list3.append(e3)
                e2.preferred_read_replica, n = _u_iB(buf, pos)
                pos += 5
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.records = None
                else:
                    end = pos + n - 1
                    e2.records = buf[pos:end]
                    pos = end
                n = buf[pos]
                pos += 1
                if n:
                    count4, pos = count_tags(buf, pos, size, n)
                    for _ in range(count4):
                        tag3, pos, stop3 = read_tag(buf, pos, size)
                        if tag3 == 0:
                            e4 = EpochEndOffset.__new__(EpochEndOffset)
                            e4.epoch, e4.end_offset, n = _u_iqB(buf, pos)
                            pos += 13
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.diverging_epoch = e4
                        elif tag3 == 1:
                            e5 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                            e5.leader_id, e5.leader_epoch, n = _u_iiB(buf, pos)
                            pos += 9
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.current_leader = e5
                        elif tag3 == 2:
                            e6 = SnapshotId.__new__(SnapshotId)
                            e6.end_offset, e6.epoch, n = _u_qiB(buf, pos)
                            pos += 13
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.snapshot_id = e6
                        else:
                            pos = stop3
                        if pos != stop3:
                            raise wrong_tag_size('FetchResponse.responses.partitions', version, pos, stop3)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.node_endpoints = []
        n = buf[pos]
        pos += 1
        if n:
            count5, pos = count_tags(buf, pos, size, n)
            for _ in range(count5):
                tag1, pos, stop1 = read_tag(buf, pos, size)
                if tag1 == 0:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('FetchResponse.node_endpoints', version, pos)
                    n -= 1
                    if n * 11 > size - pos:
                        raise too_many('FetchResponse.node_endpoints', version, pos, n, size)
                    list4: list[NodeEndpoint] = []
                    m.node_endpoints = list4
                    count6 = n
                    for _ in range(count6):
                        e7 = NodeEndpoint.__new__(NodeEndpoint)
                        e7.node_id, n = _u_iB(buf, pos)
                        pos += 5
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            raise null_found('FetchResponse.node_endpoints.host', version, pos)
                        end = pos + n - 1
                        e7.host = buf[pos:end].tobytes().decode()
                        pos = end
                        e7.port, n = _u_iB(buf, pos)
                        pos += 5
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            e7.rack = None
                        else:
                            end = pos + n - 1
                            e7.rack = buf[pos:end].tobytes().decode()
                            pos = end
                        n = buf[pos]
                        pos += 1
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list4.append(e7)
                else:
                    pos = stop1
                if pos != stop1:
                    raise wrong_tag_size('FetchResponse', version, pos, stop1)
    except (IndexError, LayoutError):
        raise cut_short('FetchResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchResponse', version, pos, size)
    return m


def _read_fetch_response_13_15(data: BytesLike, version: int, pos: int) -> FetchResponse:
    buf = data if type(data) is memoryview else memoryview(data)
    size = len(buf)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.throttle_time_ms, m.error_code, m.session_id, n = _u_ihiB(buf, pos)
        pos += 11
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchResponse.responses', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('FetchResponse.responses', version, pos, n, size)
        list1: list[FetchableTopicResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            e1.topic = ""
            e1.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchResponse.responses.partitions', version, pos)
            n -= 1
            if n * 37 > size - pos:
                raise too_many('FetchResponse.responses.partitions', version, pos, n, size)
            list2: list[PartitionData] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionData.__new__(PartitionData)
                e2.diverging_epoch = None
                e2.current_leader = None
                e2.snapshot_id = None
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n = _u_ihqqqB(buf, pos)
                pos += 31
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.aborted_transactions = None
                else:
                    n -= 1
                    if n * 17 > size - pos:
                        raise too_many('FetchResponse.responses.partitions.aborted_transactions', version, pos, n, size)
                    list3: list[AbortedTransaction] = []
                    e2.aborted_transactions = list3
                    count3 = n
                    for _ in range(count3):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        e3.producer_id, e3.first_offset, n = _u_qqB(buf, pos)
                        pos += 17
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list3.append(e3)
                e2.preferred_read_replica, n = _u_iB(buf, pos)
                pos += 5
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.records = None
                else:
                    end = pos + n - 1
                    e2.records = buf[pos:end]
                    pos = end
                n = buf[pos]
                pos += 1
                if n:
                    count4, pos = count_tags(buf, pos, size, n)
                    for _ in range(count4):
                        tag3, pos, stop3 = read_tag(buf, pos, size)
                        if tag3 == 0:
                            e4 = EpochEndOffset.__new__(EpochEndOffset)
                            e4.epoch, e4.end_offset, n = _u_iqB(buf, pos)
                            pos += 13
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.diverging_epoch = e4
                        elif tag3 == 1:
                            e5 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                            e5.leader_id, e5.leader_epoch, n = _u_iiB(buf, pos)
                            pos += 9
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.current_leader = e5
                        elif tag3 == 2:
                            e6 = SnapshotId.__new__(SnapshotId)
                            e6.end_offset, e6.epoch, n = _u_qiB(buf, pos)
                            pos += 13
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.snapshot_id = e6
                        else:
                            pos = stop3
                        if pos != stop3:
                            raise wrong_tag_size('FetchResponse.responses.partitions', version, pos, stop3)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.node_endpoints = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('FetchResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchResponse', version, pos, size)
    return m


def _read_fetch_response_12_12(data: BytesLike, version: int, pos: int) -> FetchResponse:
    buf = data if type(data) is memoryview else memoryview(data)
    size = len(buf)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.throttle_time_ms, m.error_code, m.session_id, n = _u_ihiB(buf, pos)
        pos += 11
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('FetchResponse.responses', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('FetchResponse.responses', version, pos, n, size)
        list1: list[FetchableTopicResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('FetchResponse.responses.topic', version, pos)
            end = pos + n - 1
            e1.topic = buf[pos:end].tobytes().decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FetchResponse.responses.partitions', version, pos)
            n -= 1
            if n * 37 > size - pos:
                raise too_many('FetchResponse.responses.partitions', version, pos, n, size)
            list2: list[PartitionData] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionData.__new__(PartitionData)
                e2.diverging_epoch = None
                e2.current_leader = None
                e2.snapshot_id = None
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n = _u_ihqqqB(buf, pos)
                pos += 31
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.aborted_transactions = None
                else:
                    n -= 1
                    if n * 17 > size - pos:
                        raise too_many('FetchResponse.responses.partitions.aborted_transactions', version, pos, n, size)
                    list3: list[AbortedTransaction] = []
                    e2.aborted_transactions = list3
                    count3 = n
                    for _ in range(count3):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        e3.producer_id, e3.first_offset, n = _u_qqB(buf, pos)
                        pos += 17
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list3.append(e3)
                e2.preferred_read_replica, n = _u_iB(buf, pos)
                pos += 5
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.records = None
                else:
                    end = pos + n - 1
                    e2.records = buf[pos:end]
                    pos = end
                n = buf[pos]
                pos += 1
                if n:
                    count4, pos = count_tags(buf, pos, size, n)
                    for _ in range(count4):
                        tag3, pos, stop3 = read_tag(buf, pos, size)
                        if tag3 == 0:
                            e4 = EpochEndOffset.__new__(EpochEndOffset)
                            e4.epoch, e4.end_offset, n = _u_iqB(buf, pos)
                            pos += 13
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.diverging_epoch = e4
                        elif tag3 == 1:
                            e5 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                            e5.leader_id, e5.leader_epoch, n = _u_iiB(buf, pos)
                            pos += 9
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.current_leader = e5
                        elif tag3 == 2:
                            e6 = SnapshotId.__new__(SnapshotId)
                            e6.end_offset, e6.epoch, n = _u_qiB(buf, pos)
                            pos += 13
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.snapshot_id = e6
                        else:
                            pos = stop3
                        if pos != stop3:
                            raise wrong_tag_size('FetchResponse.responses.partitions', version, pos, stop3)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.node_endpoints = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('FetchResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchResponse', version, pos, size)
    return m


def _read_fetch_response_11_11(data: BytesLike, version: int, pos: int) -> FetchResponse:
    buf = data if type(data) is memoryview else memoryview(data)
    size = len(buf)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.throttle_time_ms, m.error_code, m.session_id, n = _u_ihii(buf, pos)
        pos += 14
        if n < 0:
            raise null_found('FetchResponse.responses', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchResponse.responses', version, pos, n, size)
        list1: list[FetchableTopicResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchResponse.responses.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].tobytes().decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchResponse.responses.partitions', version, pos)
            if n * 42 > size - pos:
                raise too_many('FetchResponse.responses.partitions', version, pos, n, size)
            list2: list[PartitionData] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionData.__new__(PartitionData)
                e2.diverging_epoch = None
                e2.current_leader = None
                e2.snapshot_id = None
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n = _u_ihqqqi(buf, pos)
                pos += 34
                if n < 0:
                    e2.aborted_transactions = None
                else:
                    if n * 16 > size - pos:
                        raise too_many('FetchResponse.responses.partitions.aborted_transactions', version, pos, n, size)
                    list3: list[AbortedTransaction] = []
                    e2.aborted_transactions = list3
                    count3 = n
                    for _ in range(count3):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        e3.producer_id, e3.first_offset = _u_qq(buf, pos)
                        pos += 16
                        list3.append(e3)
                e2.preferred_read_replica, n = _u_ii(buf, pos)
                pos += 8
                if n < 0:
                    e2.records = None
                else:
                    end = pos + n
                    e2.records = buf[pos:end]
                    pos = end
                list2.append(e2)
            list1.append(e1)
        m.node_endpoints = []
    except (IndexError, LayoutError):
        raise cut_short('FetchResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchResponse', version, pos, size)
    return m


def _read_fetch_response_7_10(data: BytesLike, version: int, pos: int) -> FetchResponse:
    buf = data if type(data) is memoryview else memoryview(data)
    size = len(buf)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.throttle_time_ms, m.error_code, m.session_id, n = _u_ihii(buf, pos)
        pos += 14
        if n < 0:
            raise null_found('FetchResponse.responses', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchResponse.responses', version, pos, n, size)
        list1: list[FetchableTopicResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchResponse.responses.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].tobytes().decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchResponse.responses.partitions', version, pos)
            if n * 38 > size - pos:
                raise too_many('FetchResponse.responses.partitions', version, pos, n, size)
            list2: list[PartitionData] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionData.__new__(PartitionData)
                e2.diverging_epoch = None
                e2.current_leader = None
                e2.snapshot_id = None
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n = _u_ihqqqi(buf, pos)
                pos += 34
                if n < 0:
                    e2.aborted_transactions = None
                else:
                    if n * 16 > size - pos:
                        raise too_many('FetchResponse.responses.partitions.aborted_transactions', version, pos, n, size)
                    list3: list[AbortedTransaction] = []
                    e2.aborted_transactions = list3
                    count3 = n
                    for _ in range(count3):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        e3.producer_id, e3.first_offset = _u_qq(buf, pos)
                        pos += 16
                        list3.append(e3)
                e2.preferred_read_replica = -1
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    e2.records = None
                else:
                    end = pos + n
                    e2.records = buf[pos:end]
                    pos = end
                list2.append(e2)
            list1.append(e1)
        m.node_endpoints = []
    except (IndexError, LayoutError):
        raise cut_short('FetchResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchResponse', version, pos, size)
    return m


def _read_fetch_response_5_6(data: BytesLike, version: int, pos: int) -> FetchResponse:
    buf = data if type(data) is memoryview else memoryview(data)
    size = len(buf)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.error_code = 0
        m.session_id = 0
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('FetchResponse.responses', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchResponse.responses', version, pos, n, size)
        list1: list[FetchableTopicResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchResponse.responses.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].tobytes().decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchResponse.responses.partitions', version, pos)
            if n * 38 > size - pos:
                raise too_many('FetchResponse.responses.partitions', version, pos, n, size)
            list2: list[PartitionData] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionData.__new__(PartitionData)
                e2.diverging_epoch = None
                e2.current_leader = None
                e2.snapshot_id = None
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n = _u_ihqqqi(buf, pos)
                pos += 34
                if n < 0:
                    e2.aborted_transactions = None
                else:
                    if n * 16 > size - pos:
                        raise too_many('FetchResponse.responses.partitions.aborted_transactions', version, pos, n, size)
                    list3: list[AbortedTransaction] = []
                    e2.aborted_transactions = list3
                    count3 = n
                    for _ in range(count3):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        e3.producer_id, e3.first_offset = _u_qq(buf, pos)
                        pos += 16
                        list3.append(e3)
                e2.preferred_read_replica = -1
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    e2.records = None
                else:
                    end = pos + n
                    e2.records = buf[pos:end]
                    pos = end
                list2.append(e2)
            list1.append(e1)
        m.node_endpoints = []
    except (IndexError, LayoutError):
        raise cut_short('FetchResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchResponse', version, pos, size)
    return m


def _read_fetch_response_4_4(data: BytesLike, version: int, pos: int) -> FetchResponse:
    buf = data if type(data) is memoryview else memoryview(data)
    size = len(buf)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.error_code = 0
        m.session_id = 0
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('FetchResponse.responses', version, pos)
        if n * 6 > size - pos:
            raise too_many('FetchResponse.responses', version, pos, n, size)
        list1: list[FetchableTopicResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('FetchResponse.responses.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].tobytes().decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('FetchResponse.responses.partitions', version, pos)
            if n * 30 > size - pos:
                raise too_many('FetchResponse.responses.partitions', version, pos, n, size)
            list2: list[PartitionData] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionData.__new__(PartitionData)
                e2.log_start_offset = -1
                e2.diverging_epoch = None
                e2.current_leader = None
                e2.snapshot_id = None
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, n = _u_ihqqi(buf, pos)
                pos += 26
                if n < 0:
                    e2.aborted_transactions = None
                else:
                    if n * 16 > size - pos:
                        raise too_many('FetchResponse.responses.partitions.aborted_transactions', version, pos, n, size)
                    list3: list[AbortedTransaction] = []
                    e2.aborted_transactions = list3
                    count3 = n
                    for _ in range(count3):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        e3.producer_id, e3.first_offset = _u_qq(buf, pos)
                        pos += 16
                        list3.append(e3)
                e2.preferred_read_replica = -1
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    e2.records = None
                else:
                    end = pos + n
                    e2.records = buf[pos:end]
                    pos = end
                list2.append(e2)
            list1.append(e1)
        m.node_endpoints = []
    except (IndexError, LayoutError):
        raise cut_short('FetchResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FetchResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('FetchResponse', version, pos, size)
    return m


def _write_fetch_response_16_18(m: FetchResponse, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
    out += _p_ihi(m.throttle_time_ms, m.error_code, m.session_id)
    n = len(m.responses) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.responses:
        if len(e1.topic_id) != 16:
            raise not_uuid('FetchResponse.responses.topic_id', e1.topic_id)
        out += _p_u(e1.topic_id)
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset)
            if e2.aborted_transactions is None:
                out.append(0)
            else:
                n = len(e2.aborted_transactions) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                for e3 in e2.aborted_transactions:
                    out += _p_qqx(e3.producer_id, e3.first_offset)
            out += _p_i(e2.preferred_read_replica)
            if e2.records is None:
                out.append(0)
            else:
                n = len(e2.records) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                if parts is None or len(e2.records) < APART_BYTES:
                    out += e2.records
                else:
                    parts += (out, e2.records)
                    out = bytearray()
            if e2.diverging_epoch is None and e2.current_leader is None and e2.snapshot_id is None:
                out.append(0)
            else:
                tags3: list[bytes] = []
                if not (e2.diverging_epoch is None) and e2.diverging_epoch != EpochEndOffset():
                    sub3 = bytearray()
                    sub3 += _p_iqx(e2.diverging_epoch.epoch, e2.diverging_epoch.end_offset)
                    tags3.append(tagged(0, sub3))
                if not (e2.current_leader is None) and e2.current_leader != LeaderIdAndEpoch():
                    sub3 = bytearray()
                    sub3 += _p_iix(e2.current_leader.leader_id, e2.current_leader.leader_epoch)
                    tags3.append(tagged(1, sub3))
                if not (e2.snapshot_id is None) and e2.snapshot_id != SnapshotId():
                    sub3 = bytearray()
                    sub3 += _p_qix(e2.snapshot_id.end_offset, e2.snapshot_id.epoch)
                    tags3.append(tagged(2, sub3))
                out += varint(len(tags3))
                for tag in tags3:
                    out += tag
        out.append(0)
    if not m.node_endpoints:
        out.append(0)
    else:
        tags1: list[bytes] = []
        sub1 = bytearray()
        n = len(m.node_endpoints) + 1
        if n < 128:
            sub1.append(n)
        else:
            sub1 += varint(n)
        for e4 in m.node_endpoints:
            text = e4.host.encode()
            sub1 += _p_i(e4.node_id)
            n = len(text) + 1
            if n < 128:
                sub1.append(n)
            else:
                sub1 += string_length(n)
            sub1 += text
            sub1 += _p_i(e4.port)
            if e4.rack is None:
                sub1.append(0)
            else:
                text = e4.rack.encode()
                n = len(text) + 1
                if n < 128:
                    sub1.append(n)
                else:
                    sub1 += string_length(n)
                sub1 += text
            sub1.append(0)
        tags1.append(tagged(0, sub1))
        out += varint(len(tags1))
        for tag in tags1:
            out += tag
    return out


def _write_fetch_response_13_15(m: FetchResponse, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
    out += _p_ihi(m.throttle_time_ms, m.error_code, m.session_id)
    n = len(m.responses) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.responses:
        if len(e1.topic_id) != 16:
            raise not_uuid('FetchResponse.responses.topic_id', e1.topic_id)
        out += _p_u(e1.topic_id)
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset)
            if e2.aborted_transactions is None:
                out.append(0)
            else:
                n = len(e2.aborted_transactions) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                for e3 in e2.aborted_transactions:
                    out += _p_qqx(e3.producer_id, e3.first_offset)
            out += _p_i(e2.preferred_read_replica)
            if e2.records is None:
                out.append(0)
            else:
                n = len(e2.records) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                if parts is None or len(e2.records) < APART_BYTES:
                    out += e2.records
                else:
                    parts += (out, e2.records)
                    out = bytearray()
            if e2.diverging_epoch is None and e2.current_leader is None and e2.snapshot_id is None:
                out.append(0)
            else:
                tags3: list[bytes] = []
                if not (e2.diverging_epoch is None) and e2.diverging_epoch != EpochEndOffset():
                    sub3 = bytearray()
                    sub3 += _p_iqx(e2.diverging_epoch.epoch, e2.diverging_epoch.end_offset)
                    tags3.append(tagged(0, sub3))
                if not (e2.current_leader is None) and e2.current_leader != LeaderIdAndEpoch():
                    sub3 = bytearray()
                    sub3 += _p_iix(e2.current_leader.leader_id, e2.current_leader.leader_epoch)
                    tags3.append(tagged(1, sub3))
                if not (e2.snapshot_id is None) and e2.snapshot_id != SnapshotId():
                    sub3 = bytearray()
                    sub3 += _p_qix(e2.snapshot_id.end_offset, e2.snapshot_id.epoch)
                    tags3.append(tagged(2, sub3))
                out += varint(len(tags3))
                for tag in tags3:
                    out += tag
        out.append(0)
    out.append(0)
    return out


def _write_fetch_response_12_12(m: FetchResponse, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
    out += _p_ihi(m.throttle_time_ms, m.error_code, m.session_id)
    n = len(m.responses) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.responses:
        text = e1.topic.encode()
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
            out += _p_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset)
            if e2.aborted_transactions is None:
                out.append(0)
            else:
                n = len(e2.aborted_transactions) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                for e3 in e2.aborted_transactions:
                    out += _p_qqx(e3.producer_id, e3.first_offset)
            out += _p_i(e2.preferred_read_replica)
            if e2.records is None:
                out.append(0)
            else:
                n = len(e2.records) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                if parts is None or len(e2.records) < APART_BYTES:
                    out += e2.records
                else:
                    parts += (out, e2.records)
                    out = bytearray()
            if e2.diverging_epoch is None and e2.current_leader is None and e2.snapshot_id is None:
                out.append(0)
            else:
                tags3: list[bytes] = []
                if not (e2.diverging_epoch is None) and e2.diverging_epoch != EpochEndOffset():
                    sub3 = bytearray()
                    sub3 += _p_iqx(e2.diverging_epoch.epoch, e2.diverging_epoch.end_offset)
                    tags3.append(tagged(0, sub3))
                if not (e2.current_leader is None) and e2.current_leader != LeaderIdAndEpoch():
                    sub3 = bytearray()
                    sub3 += _p_iix(e2.current_leader.leader_id, e2.current_leader.leader_epoch)
                    tags3.append(tagged(1, sub3))
                if not (e2.snapshot_id is None) and e2.snapshot_id != SnapshotId():
                    sub3 = bytearray()
                    sub3 += _p_qix(e2.snapshot_id.end_offset, e2.snapshot_id.epoch)
                    tags3.append(tagged(2, sub3))
                out += varint(len(tags3))
                for tag in tags3:
                    out += tag
        out.append(0)
    out.append(0)
    return out


def _write_fetch_response_11_11(m: FetchResponse, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
    out += _p_ihii(m.throttle_time_ms, m.error_code, m.session_id, len(m.responses))
    for e1 in m.responses:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset)
            if e2.aborted_transactions is None:
                out += b'\xff\xff\xff\xff'
            else:
                out += _p_i(len(e2.aborted_transactions))
                for e3 in e2.aborted_transactions:
                    out += _p_qq(e3.producer_id, e3.first_offset)
            out += _p_i(e2.preferred_read_replica)
            if e2.records is None:
                out += b'\xff\xff\xff\xff'
            else:
                out += _p_i(len(e2.records))
                if parts is None or len(e2.records) < APART_BYTES:
                    out += e2.records
                else:
                    parts += (out, e2.records)
                    out = bytearray()
    return out


def _write_fetch_response_7_10(m: FetchResponse, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
    out += _p_ihii(m.throttle_time_ms, m.error_code, m.session_id, len(m.responses))
    for e1 in m.responses:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset)
            if e2.aborted_transactions is None:
                out += b'\xff\xff\xff\xff'
            else:
                out += _p_i(len(e2.aborted_transactions))
                for e3 in e2.aborted_transactions:
                    out += _p_qq(e3.producer_id, e3.first_offset)
            if e2.records is None:
                out += b'\xff\xff\xff\xff'
            else:
                out += _p_i(len(e2.records))
                if parts is None or len(e2.records) < APART_BYTES:
                    out += e2.records
                else:
                    parts += (out, e2.records)
                    out = bytearray()
    return out


def _write_fetch_response_5_6(m: FetchResponse, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
    out += _p_ii(m.throttle_time_ms, len(m.responses))
    for e1 in m.responses:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset)
            if e2.aborted_transactions is None:
                out += b'\xff\xff\xff\xff'
            else:
                out += _p_i(len(e2.aborted_transactions))
                for e3 in e2.aborted_transactions:
                    out += _p_qq(e3.producer_id, e3.first_offset)
            if e2.records is None:
                out += b'\xff\xff\xff\xff'
            else:
                out += _p_i(len(e2.records))
                if parts is None or len(e2.records) < APART_BYTES:
                    out += e2.records
                else:
                    parts += (out, e2.records)
                    out = bytearray()
    return out


def _write_fetch_response_4_4(m: FetchResponse, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
    out += _p_ii(m.throttle_time_ms, len(m.responses))
    for e1 in m.responses:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_ihqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset)
            if e2.aborted_transactions is None:
                out += b'\xff\xff\xff\xff'
            else:
                out += _p_i(len(e2.aborted_transactions))
                for e3 in e2.aborted_transactions:
                    out += _p_qq(e3.producer_id, e3.first_offset)
            if e2.records is None:
                out += b'\xff\xff\xff\xff'
            else:
                out += _p_i(len(e2.records))
                if parts is None or len(e2.records) < APART_BYTES:
                    out += e2.records
                else:
                    parts += (out, e2.records)
                    out = bytearray()
    return out
