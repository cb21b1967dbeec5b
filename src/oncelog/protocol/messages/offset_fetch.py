"""OffsetFetch (key 9), versions 1-10. Generated from definitions/offset_fetch.txt by oncelog.protocol.generate: do not edit."""

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
    ZERO_UUID,
    cut_short,
    more_string_length,
    more_varint,
    not_text,
    not_uuid,
    null_found,
    null_given,
    skip_tags,
    string_length,
    too_many,
    unsupported,
    unwritable,
    varint,
)

_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_iq = Layout(">iq").pack
_p_o = Layout(">?").pack
_p_q = Layout(">q").pack
_p_u = Layout(">16s").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iq = Layout(">iq").unpack_from
_u_o = Layout(">?").unpack_from
_u_q = Layout(">q").unpack_from
_u_u = Layout(">16s").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetFetchRequestTopic(Struct):
    """Part of OffsetFetchRequest."""

    name: str
    partition_indexes: list[int]

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = ABSENT,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is ABSENT else partition_indexes


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetFetchRequestTopics(Struct):
    """Part of OffsetFetchRequest."""

    name: str
    topic_id: bytes
    partition_indexes: list[int]

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_indexes: list[int] = ABSENT,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = [] if partition_indexes is ABSENT else partition_indexes


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetFetchRequestGroup(Struct):
    """Part of OffsetFetchRequest."""

    group_id: str
    member_id: str | None
    member_epoch: int
    topics: list[OffsetFetchRequestTopics] | None

    def __init__(
        self,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = ABSENT,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is ABSENT else topics


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetFetchRequest(Message):
    """OffsetFetchRequest, versions 1-10."""

    group_id: str
    topics: list[OffsetFetchRequestTopic] | None
    groups: list[OffsetFetchRequestGroup]
    require_stable: bool

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = ABSENT,
        groups: list[OffsetFetchRequestGroup] = ABSENT,
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is ABSENT else topics
        self.groups = [] if groups is ABSENT else groups
        self.require_stable = require_stable

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> OffsetFetchRequest:
        if 6 <= version <= 10:
            return _read_offset_fetch_request_6_10(data, version, at)
        if 1 <= version <= 5:
            return _read_offset_fetch_request_1_5(data, version, at)
        raise MalformedMessage(unsupported('OffsetFetchRequest', '1-10', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 6 <= version <= 10:
                return _write_offset_fetch_request_6_10(self, out, version)
            if 1 <= version <= 5:
                return _write_offset_fetch_request_1_5(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('OffsetFetchRequest', version, why) from why
        raise UnwritableMessage(unsupported('OffsetFetchRequest', '1-10', version))


def _read_offset_fetch_request_6_10(data: BytesLike, version: int, pos: int) -> OffsetFetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetFetchRequest.__new__(OffsetFetchRequest)
        if version <= 7:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('OffsetFetchRequest.group_id', version, pos)
            end = pos + n - 1
            m.group_id = buf[pos:end].decode()
            pos = end
        else:
            m.group_id = ""
        if version <= 7:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                m.topics = None
            else:
                n -= 1
                if n * 3 > size - pos:
                    raise too_many('OffsetFetchRequest.topics', version, pos, n, size)
                list1: list[OffsetFetchRequestTopic] = []
                m.topics = list1
                count1 = n
                for _ in range(count1):
                    e1 = OffsetFetchRequestTopic.__new__(OffsetFetchRequestTopic)
                    if version <= 7:
                        n = buf[pos]
                        pos += 1
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            raise null_found('OffsetFetchRequest.topics.name', version, pos)
                        end = pos + n - 1
                        e1.name = buf[pos:end].decode()
                        pos = end
                    else:
                        e1.name = ""
                    if version <= 7:
                        n = buf[pos]
                        pos += 1
                        if n > 127:
                            n, pos = more_varint(buf, pos, n)
                        if not n:
                            raise null_found('OffsetFetchRequest.topics.partition_indexes', version, pos)
                        n -= 1
                        if n * 4 > size - pos:
                            raise too_many('OffsetFetchRequest.topics.partition_indexes', version, pos, n, size)
                        e1.partition_indexes = list(unpack_from(f'>{n}i', buf, pos))
                        pos += 4 * n
                    else:
                        e1.partition_indexes = []
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list1.append(e1)
        else:
            m.topics = []
        if version >= 8:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('OffsetFetchRequest.groups', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('OffsetFetchRequest.groups', version, pos, n, size)
            list2: list[OffsetFetchRequestGroup] = []
            m.groups = list2
            count2 = n
            for _ in range(count2):
                e2 = OffsetFetchRequestGroup.__new__(OffsetFetchRequestGroup)
                if version >= 8:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('OffsetFetchRequest.groups.group_id', version, pos)
                    end = pos + n - 1
                    e2.group_id = buf[pos:end].decode()
                    pos = end
                else:
                    e2.group_id = ""
                if version >= 9:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e2.member_id = None
                    else:
                        end = pos + n - 1
                        e2.member_id = buf[pos:end].decode()
                        pos = end
                else:
                    e2.member_id = None
                if version >= 9:
                    e2.member_epoch, = _u_i(buf, pos)
                    pos += 4
                else:
                    e2.member_epoch = -1
                if version >= 8:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        e2.topics = None
                    else:
                        n -= 1
                        if n * 3 > size - pos:
                            raise too_many('OffsetFetchRequest.groups.topics', version, pos, n, size)
                        list3: list[OffsetFetchRequestTopics] = []
                        e2.topics = list3
                        count3 = n
                        for _ in range(count3):
                            e3 = OffsetFetchRequestTopics.__new__(OffsetFetchRequestTopics)
                            if 8 <= version <= 9:
                                n = buf[pos]
                                pos += 1
                                if n > 127:
                                    n, pos = more_string_length(buf, pos, n)
                                if not n:
                                    raise null_found('OffsetFetchRequest.groups.topics.name', version, pos)
                                end = pos + n - 1
                                e3.name = buf[pos:end].decode()
                                pos = end
                            else:
                                e3.name = ""
                            if version >= 10:
                                e3.topic_id, = _u_u(buf, pos)
                                pos += 16
                            else:
                                e3.topic_id = ZERO_UUID
                            if version >= 8:
                                n = buf[pos]
                                pos += 1
                                if n > 127:
                                    n, pos = more_varint(buf, pos, n)
                                if not n:
                                    raise null_found('OffsetFetchRequest.groups.topics.partition_indexes', version, pos)
                                n -= 1
                                if n * 4 > size - pos:
                                    raise too_many('OffsetFetchRequest.groups.topics.partition_indexes', version, pos, n, size)
                                e3.partition_indexes = list(unpack_from(f'>{n}i', buf, pos))
                                pos += 4 * n
                            else:
                                e3.partition_indexes = []
                            n = buf[pos]
                            pos += 1
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            list3.append(e3)
                else:
                    e2.topics = []
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
        else:
            m.groups = []
        if version >= 7:
            m.require_stable, = _u_o(buf, pos)
            pos += 1
        else:
            m.require_stable = False
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('OffsetFetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetFetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetFetchRequest', version, pos, size)
    return m


def _read_offset_fetch_request_1_5(data: BytesLike, version: int, pos: int) -> OffsetFetchRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetFetchRequest.__new__(OffsetFetchRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('OffsetFetchRequest.group_id', version, pos)
        end = pos + n
        m.group_id = buf[pos:end].decode()
        pos = end
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            if version < 2:
                raise null_found('OffsetFetchRequest.topics', version, pos)
            m.topics = None
        else:
            if n * 6 > size - pos:
                raise too_many('OffsetFetchRequest.topics', version, pos, n, size)
            list1: list[OffsetFetchRequestTopic] = []
            m.topics = list1
            count1 = n
            for _ in range(count1):
                e1 = OffsetFetchRequestTopic.__new__(OffsetFetchRequestTopic)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('OffsetFetchRequest.topics.name', version, pos)
                end = pos + n
                e1.name = buf[pos:end].decode()
                pos = end
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('OffsetFetchRequest.topics.partition_indexes', version, pos)
                if n * 4 > size - pos:
                    raise too_many('OffsetFetchRequest.topics.partition_indexes', version, pos, n, size)
                e1.partition_indexes = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                list1.append(e1)
        m.groups = []
        m.require_stable = False
    except (IndexError, LayoutError):
        raise cut_short('OffsetFetchRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetFetchRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetFetchRequest', version, pos, size)
    return m


def _write_offset_fetch_request_6_10(m: OffsetFetchRequest, out: bytearray, version: int) -> None:
    if version <= 7:
        text = m.group_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    if version <= 7:
        if m.topics is None:
            out.append(0)
        else:
            n = len(m.topics) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e1 in m.topics:
                if version <= 7:
                    text = e1.name.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
                if version <= 7:
                    n = len(e1.partition_indexes) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += varint(n)
                    out += pack(f'>{len(e1.partition_indexes)}i', *e1.partition_indexes)
                out.append(0)
    if version >= 8:
        n = len(m.groups) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in m.groups:
            if version >= 8:
                text = e2.group_id.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if version >= 9:
                if e2.member_id is None:
                    out.append(0)
                else:
                    text = e2.member_id.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
            if version >= 9:
                out += _p_i(e2.member_epoch)
            if version >= 8:
                if e2.topics is None:
                    out.append(0)
                else:
                    n = len(e2.topics) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += varint(n)
                    for e3 in e2.topics:
                        if 8 <= version <= 9:
                            text = e3.name.encode()
                            n = len(text) + 1
                            if n < 128:
                                out.append(n)
                            else:
                                out += string_length(n)
                            out += text
                        if version >= 10:
                            if len(e3.topic_id) != 16:
                                raise not_uuid('OffsetFetchRequest.groups.topics.topic_id', e3.topic_id)
                            out += _p_u(e3.topic_id)
                        if version >= 8:
                            n = len(e3.partition_indexes) + 1
                            if n < 128:
                                out.append(n)
                            else:
                                out += varint(n)
                            out += pack(f'>{len(e3.partition_indexes)}i', *e3.partition_indexes)
                        out.append(0)
            out.append(0)
    if version >= 7:
        out += _p_o(m.require_stable)
    out.append(0)


def _write_offset_fetch_request_1_5(m: OffsetFetchRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    out += _p_h(len(text))
    out += text
    if m.topics is None:
        if version < 2:
            raise null_given('OffsetFetchRequest.topics', version)
        out += b'\xff\xff\xff\xff'
    else:
        out += _p_i(len(m.topics))
        for e1 in m.topics:
            text = e1.name.encode()
            out += _p_h(len(text))
            out += text
            out += _p_i(len(e1.partition_indexes))
            out += pack(f'>{len(e1.partition_indexes)}i', *e1.partition_indexes)


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetFetchResponsePartition(Struct):
    """Part of OffsetFetchResponse."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetFetchResponseTopic(Struct):
    """Part of OffsetFetchResponse."""

    name: str
    partitions: list[OffsetFetchResponsePartition]

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetFetchResponsePartitions(Struct):
    """Part of OffsetFetchResponse."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetFetchResponseTopics(Struct):
    """Part of OffsetFetchResponse."""

    name: str
    topic_id: bytes
    partitions: list[OffsetFetchResponsePartitions]

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetFetchResponsePartitions] = ABSENT,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetFetchResponseGroup(Struct):
    """Part of OffsetFetchResponse."""

    group_id: str
    topics: list[OffsetFetchResponseTopics]
    error_code: int

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchResponseTopics] = ABSENT,
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is ABSENT else topics
        self.error_code = error_code


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetFetchResponse(Message):
    """OffsetFetchResponse, versions 1-10."""

    throttle_time_ms: int
    topics: list[OffsetFetchResponseTopic]
    error_code: int
    groups: list[OffsetFetchResponseGroup]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = ABSENT,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is ABSENT else topics
        self.error_code = error_code
        self.groups = [] if groups is ABSENT else groups

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> OffsetFetchResponse:
        if 6 <= version <= 10:
            return _read_offset_fetch_response_6_10(data, version, at)
        if 1 <= version <= 5:
            return _read_offset_fetch_response_1_5(data, version, at)
        raise MalformedMessage(unsupported('OffsetFetchResponse', '1-10', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 6 <= version <= 10:
                return _write_offset_fetch_response_6_10(self, out, version)
            if 1 <= version <= 5:
                return _write_offset_fetch_response_1_5(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('OffsetFetchResponse', version, why) from why
        raise UnwritableMessage(unsupported('OffsetFetchResponse', '1-10', version))


def _read_offset_fetch_response_6_10(data: BytesLike, version: int, pos: int) -> OffsetFetchResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetFetchResponse.__new__(OffsetFetchResponse)
        m.throttle_time_ms, = _u_i(buf, pos)
        pos += 4
        if version <= 7:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('OffsetFetchResponse.topics', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('OffsetFetchResponse.topics', version, pos, n, size)
            list1: list[OffsetFetchResponseTopic] = []
            m.topics = list1
            count1 = n
            for _ in range(count1):
                e1 = OffsetFetchResponseTopic.__new__(OffsetFetchResponseTopic)
                if version <= 7:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('OffsetFetchResponse.topics.name', version, pos)
                    end = pos + n - 1
                    e1.name = buf[pos:end].decode()
                    pos = end
                else:
                    e1.name = ""
                if version <= 7:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('OffsetFetchResponse.topics.partitions', version, pos)
                    n -= 1
                    if n * 20 > size - pos:
                        raise too_many('OffsetFetchResponse.topics.partitions', version, pos, n, size)
                    list2: list[OffsetFetchResponsePartition] = []
                    e1.partitions = list2
                    count2 = n
                    for _ in range(count2):
                        e2 = OffsetFetchResponsePartition.__new__(OffsetFetchResponsePartition)
                        if version <= 7:
                            e2.partition_index, = _u_i(buf, pos)
                            pos += 4
                        else:
                            e2.partition_index = 0
                        if version <= 7:
                            e2.committed_offset, = _u_q(buf, pos)
                            pos += 8
                        else:
                            e2.committed_offset = 0
                        if version <= 7:
                            e2.committed_leader_epoch, = _u_i(buf, pos)
                            pos += 4
                        else:
                            e2.committed_leader_epoch = -1
                        if version <= 7:
                            n = buf[pos]
                            pos += 1
                            if n > 127:
                                n, pos = more_string_length(buf, pos, n)
                            if not n:
                                e2.metadata = None
                            else:
                                end = pos + n - 1
                                e2.metadata = buf[pos:end].decode()
                                pos = end
                        else:
                            e2.metadata = ""
                        if version <= 7:
                            e2.error_code, = _u_h(buf, pos)
                            pos += 2
                        else:
                            e2.error_code = 0
                        n = buf[pos]
                        pos += 1
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list2.append(e2)
                else:
                    e1.partitions = []
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list1.append(e1)
        else:
            m.topics = []
        if version <= 7:
            m.error_code, = _u_h(buf, pos)
            pos += 2
        else:
            m.error_code = 0
        if version >= 8:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('OffsetFetchResponse.groups', version, pos)
            n -= 1
            if n * 5 > size - pos:
                raise too_many('OffsetFetchResponse.groups', version, pos, n, size)
            list3: list[OffsetFetchResponseGroup] = []
            m.groups = list3
            count3 = n
            for _ in range(count3):
                e3 = OffsetFetchResponseGroup.__new__(OffsetFetchResponseGroup)
                if version >= 8:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('OffsetFetchResponse.groups.group_id', version, pos)
                    end = pos + n - 1
                    e3.group_id = buf[pos:end].decode()
                    pos = end
                else:
                    e3.group_id = ""
                if version >= 8:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('OffsetFetchResponse.groups.topics', version, pos)
                    n -= 1
                    if n * 3 > size - pos:
                        raise too_many('OffsetFetchResponse.groups.topics', version, pos, n, size)
                    list4: list[OffsetFetchResponseTopics] = []
                    e3.topics = list4
                    count4 = n
                    for _ in range(count4):
                        e4 = OffsetFetchResponseTopics.__new__(OffsetFetchResponseTopics)
                        if 8 <= version <= 9:
                            n = buf[pos]
                            pos += 1
                            if n > 127:
                                n, pos = more_string_length(buf, pos, n)
                            if not n:
                                raise null_found('OffsetFetchResponse.groups.topics.name', version, pos)
                            end = pos + n - 1
                            e4.name = buf[pos:end].decode()
                            pos = end
                        else:
                            e4.name = ""
                        if version >= 10:
                            e4.topic_id, = _u_u(buf, pos)
                            pos += 16
                        else:
                            e4.topic_id = ZERO_UUID
                        if version >= 8:
                            n = buf[pos]
                            pos += 1
                            if n > 127:
                                n, pos = more_varint(buf, pos, n)
                            if not n:
                                raise null_found('OffsetFetchResponse.groups.topics.partitions', version, pos)
                            n -= 1
                            if n * 20 > size - pos:
                                raise too_many('OffsetFetchResponse.groups.topics.partitions', version, pos, n, size)
                            list5: list[OffsetFetchResponsePartitions] = []
                            e4.partitions = list5
                            count5 = n
                            for _ in range(count5):
                                e5 = OffsetFetchResponsePartitions.__new__(OffsetFetchResponsePartitions)
                                if version >= 8:
                                    e5.partition_index, = _u_i(buf, pos)
                                    pos += 4
                                else:
                                    e5.partition_index = 0
                                if version >= 8:
                                    e5.committed_offset, = _u_q(buf, pos)
                                    pos += 8
                                else:
                                    e5.committed_offset = 0
                                if version >= 8:
                                    e5.committed_leader_epoch, = _u_i(buf, pos)
                                    pos += 4
                                else:
                                    e5.committed_leader_epoch = -1
                                if version >= 8:
                                    n = buf[pos]
                                    pos += 1
                                    if n > 127:
                                        n, pos = more_string_length(buf, pos, n)
                                    if not n:
                                        e5.metadata = None
                                    else:
                                        end = pos + n - 1
                                        e5.metadata = buf[pos:end].decode()
                                        pos = end
                                else:
                                    e5.metadata = ""
                                if version >= 8:
                                    e5.error_code, = _u_h(buf, pos)
                                    pos += 2
                                else:
                                    e5.error_code = 0
                                n = buf[pos]
                                pos += 1
                                if n:
                                    pos = skip_tags(buf, pos, size, n)
                                list5.append(e5)
                        else:
                            e4.partitions = []
                        n = buf[pos]
                        pos += 1
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list4.append(e4)
                else:
                    e3.topics = []
                if version >= 8:
                    e3.error_code, = _u_h(buf, pos)
                    pos += 2
                else:
                    e3.error_code = 0
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list3.append(e3)
        else:
            m.groups = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('OffsetFetchResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetFetchResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetFetchResponse', version, pos, size)
    return m


def _read_offset_fetch_response_1_5(data: BytesLike, version: int, pos: int) -> OffsetFetchResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetFetchResponse.__new__(OffsetFetchResponse)
        if version >= 3:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('OffsetFetchResponse.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('OffsetFetchResponse.topics', version, pos, n, size)
        list1: list[OffsetFetchResponseTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetFetchResponseTopic.__new__(OffsetFetchResponseTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('OffsetFetchResponse.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('OffsetFetchResponse.topics.partitions', version, pos)
            if n * 16 > size - pos:
                raise too_many('OffsetFetchResponse.topics.partitions', version, pos, n, size)
            list2: list[OffsetFetchResponsePartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = OffsetFetchResponsePartition.__new__(OffsetFetchResponsePartition)
                e2.partition_index, e2.committed_offset = _u_iq(buf, pos)
                pos += 12
                if version >= 5:
                    e2.committed_leader_epoch, = _u_i(buf, pos)
                    pos += 4
                else:
                    e2.committed_leader_epoch = -1
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    e2.metadata = None
                else:
                    end = pos + n
                    e2.metadata = buf[pos:end].decode()
                    pos = end
                e2.error_code, = _u_h(buf, pos)
                pos += 2
                list2.append(e2)
            list1.append(e1)
        if version >= 2:
            m.error_code, = _u_h(buf, pos)
            pos += 2
        else:
            m.error_code = 0
        m.groups = []
    except (IndexError, LayoutError):
        raise cut_short('OffsetFetchResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetFetchResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetFetchResponse', version, pos, size)
    return m


def _write_offset_fetch_response_6_10(m: OffsetFetchResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    if version <= 7:
        n = len(m.topics) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.topics:
            if version <= 7:
                text = e1.name.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if version <= 7:
                n = len(e1.partitions) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                for e2 in e1.partitions:
                    if version <= 7:
                        out += _p_i(e2.partition_index)
                    if version <= 7:
                        out += _p_q(e2.committed_offset)
                    if version <= 7:
                        out += _p_i(e2.committed_leader_epoch)
                    if version <= 7:
                        if e2.metadata is None:
                            out.append(0)
                        else:
                            text = e2.metadata.encode()
                            n = len(text) + 1
                            if n < 128:
                                out.append(n)
                            else:
                                out += string_length(n)
                            out += text
                    if version <= 7:
                        out += _p_h(e2.error_code)
                    out.append(0)
            out.append(0)
    if version <= 7:
        out += _p_h(m.error_code)
    if version >= 8:
        n = len(m.groups) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e3 in m.groups:
            if version >= 8:
                text = e3.group_id.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if version >= 8:
                n = len(e3.topics) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                for e4 in e3.topics:
                    if 8 <= version <= 9:
                        text = e4.name.encode()
                        n = len(text) + 1
                        if n < 128:
                            out.append(n)
                        else:
                            out += string_length(n)
                        out += text
                    if version >= 10:
                        if len(e4.topic_id) != 16:
                            raise not_uuid('OffsetFetchResponse.groups.topics.topic_id', e4.topic_id)
                        out += _p_u(e4.topic_id)
                    if version >= 8:
                        n = len(e4.partitions) + 1
                        if n < 128:
                            out.append(n)
                        else:
                            out += varint(n)
                        for e5 in e4.partitions:
                            if version >= 8:
                                out += _p_i(e5.partition_index)
                            if version >= 8:
                                out += _p_q(e5.committed_offset)
                            if version >= 8:
                                out += _p_i(e5.committed_leader_epoch)
                            if version >= 8:
                                if e5.metadata is None:
                                    out.append(0)
                                else:
                                    text = e5.metadata.encode()
                                    n = len(text) + 1
                                    if n < 128:
                                        out.append(n)
                                    else:
                                        out += string_length(n)
                                    out += text
                            if version >= 8:
                                out += _p_h(e5.error_code)
                            out.append(0)
                    out.append(0)
            if version >= 8:
                out += _p_h(e3.error_code)
            out.append(0)
    out.append(0)


def _write_offset_fetch_response_1_5(m: OffsetFetchResponse, out: bytearray, version: int) -> None:
    if version >= 3:
        out += _p_i(m.throttle_time_ms)
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iq(e2.partition_index, e2.committed_offset)
            if version >= 5:
                out += _p_i(e2.committed_leader_epoch)
            if e2.metadata is None:
                out += b'\xff\xff'
            else:
                text = e2.metadata.encode()
                out += _p_h(len(text))
                out += text
            out += _p_h(e2.error_code)
    if version >= 2:
        out += _p_h(m.error_code)
