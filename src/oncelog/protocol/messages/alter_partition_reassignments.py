"""AlterPartitionReassignments (key 45), versions 0-1. Generated from definitions/alter_partition_reassignments.txt by oncelog.protocol.generate: do not edit."""

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
_p_o = Layout(">?").pack
_u_hB = Layout(">hB").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_o = Layout(">?").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ReassignablePartition(Struct):
    """Part of AlterPartitionReassignmentsRequest."""

    partition_index: int
    replicas: list[int] | None

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas


@dataclass(slots=True, init=False, repr=False, eq=False)
class ReassignableTopic(Struct):
    """Part of AlterPartitionReassignmentsRequest."""

    name: str
    partitions: list[ReassignablePartition]

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartition] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterPartitionReassignmentsRequest(Message):
    """AlterPartitionReassignmentsRequest, versions 0-1."""

    timeout_ms: int
    allow_replication_factor_change: bool
    topics: list[ReassignableTopic]

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[ReassignableTopic] = ABSENT,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AlterPartitionReassignmentsRequest:
        if 0 <= version <= 1:
            return _read_alter_partition_reassignments_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('AlterPartitionReassignmentsRequest', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_alter_partition_reassignments_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AlterPartitionReassignmentsRequest', version, why) from why
        raise UnwritableMessage(unsupported('AlterPartitionReassignmentsRequest', '0-1', version))


def _read_alter_partition_reassignments_request_0_1(data: BytesLike, version: int, pos: int) -> AlterPartitionReassignmentsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterPartitionReassignmentsRequest.__new__(AlterPartitionReassignmentsRequest)
        m.timeout_ms, = _u_i(buf, pos)
        pos += 4
        if version >= 1:
            m.allow_replication_factor_change, = _u_o(buf, pos)
            pos += 1
        else:
            m.allow_replication_factor_change = True
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('AlterPartitionReassignmentsRequest.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('AlterPartitionReassignmentsRequest.topics', version, pos, n, size)
        list1: list[ReassignableTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = ReassignableTopic.__new__(ReassignableTopic)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('AlterPartitionReassignmentsRequest.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AlterPartitionReassignmentsRequest.topics.partitions', version, pos)
            n -= 1
            if n * 6 > size - pos:
                raise too_many('AlterPartitionReassignmentsRequest.topics.partitions', version, pos, n, size)
            list2: list[ReassignablePartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = ReassignablePartition.__new__(ReassignablePartition)
                e2.partition_index, n = _u_iB(buf, pos)
                pos += 5
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.replicas = None
                else:
                    n -= 1
                    if n * 4 > size - pos:
                        raise too_many('AlterPartitionReassignmentsRequest.topics.partitions.replicas', version, pos, n, size)
                    e2.replicas = list(unpack_from(f'>{n}i', buf, pos))
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
        raise cut_short('AlterPartitionReassignmentsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterPartitionReassignmentsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterPartitionReassignmentsRequest', version, pos, size)
    return m


def _write_alter_partition_reassignments_request_0_1(m: AlterPartitionReassignmentsRequest, out: bytearray, version: int) -> None:
    out += _p_i(m.timeout_ms)
    if version >= 1:
        out += _p_o(m.allow_replication_factor_change)
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
            if e2.replicas is None:
                out.append(0)
            else:
                n = len(e2.replicas) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                out += pack(f'>{len(e2.replicas)}i', *e2.replicas)
            out.append(0)
        out.append(0)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class ReassignablePartitionResponse(Struct):
    """Part of AlterPartitionReassignmentsResponse."""

    partition_index: int
    error_code: int
    error_message: str | None

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


@dataclass(slots=True, init=False, repr=False, eq=False)
class ReassignableTopicResponse(Struct):
    """Part of AlterPartitionReassignmentsResponse."""

    name: str
    partitions: list[ReassignablePartitionResponse]

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartitionResponse] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterPartitionReassignmentsResponse(Message):
    """AlterPartitionReassignmentsResponse, versions 0-1."""

    throttle_time_ms: int
    allow_replication_factor_change: bool
    error_code: int
    error_message: str | None
    responses: list[ReassignableTopicResponse]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is ABSENT else responses

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AlterPartitionReassignmentsResponse:
        if 0 <= version <= 1:
            return _read_alter_partition_reassignments_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('AlterPartitionReassignmentsResponse', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_alter_partition_reassignments_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AlterPartitionReassignmentsResponse', version, why) from why
        raise UnwritableMessage(unsupported('AlterPartitionReassignmentsResponse', '0-1', version))


def _read_alter_partition_reassignments_response_0_1(data: BytesLike, version: int, pos: int) -> AlterPartitionReassignmentsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterPartitionReassignmentsResponse.__new__(AlterPartitionReassignmentsResponse)
        m.throttle_time_ms, = _u_i(buf, pos)
        pos += 4
        if version >= 1:
            m.allow_replication_factor_change, = _u_o(buf, pos)
            pos += 1
        else:
            m.allow_replication_factor_change = True
        m.error_code, n = _u_hB(buf, pos)
        pos += 3
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
            raise null_found('AlterPartitionReassignmentsResponse.responses', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('AlterPartitionReassignmentsResponse.responses', version, pos, n, size)
        list1: list[ReassignableTopicResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = ReassignableTopicResponse.__new__(ReassignableTopicResponse)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('AlterPartitionReassignmentsResponse.responses.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AlterPartitionReassignmentsResponse.responses.partitions', version, pos)
            n -= 1
            if n * 8 > size - pos:
                raise too_many('AlterPartitionReassignmentsResponse.responses.partitions', version, pos, n, size)
            list2: list[ReassignablePartitionResponse] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = ReassignablePartitionResponse.__new__(ReassignablePartitionResponse)
                e2.partition_index, e2.error_code, n = _u_ihB(buf, pos)
                pos += 7
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.error_message = None
                else:
                    end = pos + n - 1
                    e2.error_message = buf[pos:end].decode()
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
        raise cut_short('AlterPartitionReassignmentsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterPartitionReassignmentsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterPartitionReassignmentsResponse', version, pos, size)
    return m


def _write_alter_partition_reassignments_response_0_1(m: AlterPartitionReassignmentsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    if version >= 1:
        out += _p_o(m.allow_replication_factor_change)
    out += _p_h(m.error_code)
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
    n = len(m.responses) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.responses:
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
            out += _p_ih(e2.partition_index, e2.error_code)
            if e2.error_message is None:
                out.append(0)
            else:
                text = e2.error_message.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            out.append(0)
        out.append(0)
    out.append(0)
