"""ListPartitionReassignments (key 46), versions 0-0. Generated from definitions/list_partition_reassignments.txt by oncelog.protocol.generate: do not edit."""

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

_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_u_iB = Layout(">iB").unpack_from
_u_ihB = Layout(">ihB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListPartitionReassignmentsTopics(Struct):
    """Part of ListPartitionReassignmentsRequest."""

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
class ListPartitionReassignmentsRequest(Message):
    """ListPartitionReassignmentsRequest, versions 0-0."""

    timeout_ms: int
    topics: list[ListPartitionReassignmentsTopics] | None

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ListPartitionReassignmentsRequest:
        if version == 0:
            return _read_list_partition_reassignments_request_0_0(data, version, at)
        raise MalformedMessage(unsupported('ListPartitionReassignmentsRequest', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_list_partition_reassignments_request_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ListPartitionReassignmentsRequest', version, why) from why
        raise UnwritableMessage(unsupported('ListPartitionReassignmentsRequest', '0-0', version))


def _read_list_partition_reassignments_request_0_0(data: BytesLike, version: int, pos: int) -> ListPartitionReassignmentsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListPartitionReassignmentsRequest.__new__(ListPartitionReassignmentsRequest)
        m.timeout_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            m.topics = None
        else:
            n -= 1
            if n * 3 > size - pos:
                raise too_many('ListPartitionReassignmentsRequest.topics', version, pos, n, size)
            list1: list[ListPartitionReassignmentsTopics] = []
            m.topics = list1
            count1 = n
            for _ in range(count1):
                e1 = ListPartitionReassignmentsTopics.__new__(ListPartitionReassignmentsTopics)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('ListPartitionReassignmentsRequest.topics.name', version, pos)
                end = pos + n - 1
                e1.name = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ListPartitionReassignmentsRequest.topics.partition_indexes', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('ListPartitionReassignmentsRequest.topics.partition_indexes', version, pos, n, size)
                e1.partition_indexes = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
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
        raise cut_short('ListPartitionReassignmentsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListPartitionReassignmentsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ListPartitionReassignmentsRequest', version, pos, size)
    return m


def _write_list_partition_reassignments_request_0_0(m: ListPartitionReassignmentsRequest, out: bytearray, version: int) -> None:
    out += _p_i(m.timeout_ms)
    if m.topics is None:
        out.append(0)
    else:
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
            n = len(e1.partition_indexes) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e1.partition_indexes)}i', *e1.partition_indexes)
            out.append(0)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class OngoingPartitionReassignment(Struct):
    """Part of ListPartitionReassignmentsResponse."""

    partition_index: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] = ABSENT,
        adding_replicas: list[int] = ABSENT,
        removing_replicas: list[int] = ABSENT,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = [] if replicas is ABSENT else replicas
        self.adding_replicas = [] if adding_replicas is ABSENT else adding_replicas
        self.removing_replicas = [] if removing_replicas is ABSENT else removing_replicas


@dataclass(slots=True, init=False, repr=False, eq=False)
class OngoingTopicReassignment(Struct):
    """Part of ListPartitionReassignmentsResponse."""

    name: str
    partitions: list[OngoingPartitionReassignment]

    def __init__(
        self,
        name: str = "",
        partitions: list[OngoingPartitionReassignment] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListPartitionReassignmentsResponse(Message):
    """ListPartitionReassignmentsResponse, versions 0-0."""

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    topics: list[OngoingTopicReassignment]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ListPartitionReassignmentsResponse:
        if version == 0:
            return _read_list_partition_reassignments_response_0_0(data, version, at)
        raise MalformedMessage(unsupported('ListPartitionReassignmentsResponse', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_list_partition_reassignments_response_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ListPartitionReassignmentsResponse', version, why) from why
        raise UnwritableMessage(unsupported('ListPartitionReassignmentsResponse', '0-0', version))


def _read_list_partition_reassignments_response_0_0(data: BytesLike, version: int, pos: int) -> ListPartitionReassignmentsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListPartitionReassignmentsResponse.__new__(ListPartitionReassignmentsResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihB(buf, pos)
        pos += 7
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.error_message = None
        else:
            end = pos + n - 1
            m.error_message = buf[pos:end].decode()
            pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ListPartitionReassignmentsResponse.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('ListPartitionReassignmentsResponse.topics', version, pos, n, size)
        list1: list[OngoingTopicReassignment] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OngoingTopicReassignment.__new__(OngoingTopicReassignment)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ListPartitionReassignmentsResponse.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ListPartitionReassignmentsResponse.topics.partitions', version, pos)
            n -= 1
            if n * 8 > size - pos:
                raise too_many('ListPartitionReassignmentsResponse.topics.partitions', version, pos, n, size)
            list2: list[OngoingPartitionReassignment] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = OngoingPartitionReassignment.__new__(OngoingPartitionReassignment)
                e2.partition_index, n = _u_iB(buf, pos)
                pos += 5
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ListPartitionReassignmentsResponse.topics.partitions.replicas', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('ListPartitionReassignmentsResponse.topics.partitions.replicas', version, pos, n, size)
                e2.replicas = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ListPartitionReassignmentsResponse.topics.partitions.adding_replicas', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('ListPartitionReassignmentsResponse.topics.partitions.adding_replicas', version, pos, n, size)
                e2.adding_replicas = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ListPartitionReassignmentsResponse.topics.partitions.removing_replicas', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('ListPartitionReassignmentsResponse.topics.partitions.removing_replicas', version, pos, n, size)
                e2.removing_replicas = list(unpack_from(f'>{n}i', buf, pos))
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
        raise cut_short('ListPartitionReassignmentsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListPartitionReassignmentsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ListPartitionReassignmentsResponse', version, pos, size)
    return m


def _write_list_partition_reassignments_response_0_0(m: ListPartitionReassignmentsResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    if m.error_message is None:
        out.append(0)
    else:
        text = m.error_message.encode()
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
            out += _p_i(e2.partition_index)
            n = len(e2.replicas) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e2.replicas)}i', *e2.replicas)
            n = len(e2.adding_replicas) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e2.adding_replicas)}i', *e2.adding_replicas)
            n = len(e2.removing_replicas) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e2.removing_replicas)}i', *e2.removing_replicas)
            out.append(0)
        out.append(0)
    out.append(0)
