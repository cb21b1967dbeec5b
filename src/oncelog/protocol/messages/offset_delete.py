"""OffsetDelete (key 47), versions 0-0. Generated from definitions/offset_delete.txt by oncelog.protocol.generate: do not edit."""

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
    not_text,
    null_found,
    too_many,
    unsupported,
    unwritable,
)

_p_h = Layout(">h").pack
_p_hii = Layout(">hii").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_u_h = Layout(">h").unpack_from
_u_hii = Layout(">hii").unpack_from
_u_i = Layout(">i").unpack_from
_u_ih = Layout(">ih").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetDeleteRequestPartition(Struct):
    """Part of OffsetDeleteRequest."""

    partition_index: int

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetDeleteRequestTopic(Struct):
    """Part of OffsetDeleteRequest."""

    name: str
    partitions: list[OffsetDeleteRequestPartition]

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteRequestPartition] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetDeleteRequest(Message):
    """OffsetDeleteRequest, versions 0-0."""

    group_id: str
    topics: list[OffsetDeleteRequestTopic]

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetDeleteRequestTopic] = ABSENT,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> OffsetDeleteRequest:
        if version == 0:
            return _read_offset_delete_request_0_0(data, version, at)
        raise MalformedMessage(unsupported('OffsetDeleteRequest', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_offset_delete_request_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('OffsetDeleteRequest', version, why) from why
        raise UnwritableMessage(unsupported('OffsetDeleteRequest', '0-0', version))


def _read_offset_delete_request_0_0(data: BytesLike, version: int, pos: int) -> OffsetDeleteRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetDeleteRequest.__new__(OffsetDeleteRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('OffsetDeleteRequest.group_id', version, pos)
        end = pos + n
        m.group_id = buf[pos:end].decode()
        pos = end
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('OffsetDeleteRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('OffsetDeleteRequest.topics', version, pos, n, size)
        list1: list[OffsetDeleteRequestTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetDeleteRequestTopic.__new__(OffsetDeleteRequestTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('OffsetDeleteRequest.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('OffsetDeleteRequest.topics.partitions', version, pos)
            if n * 4 > size - pos:
                raise too_many('OffsetDeleteRequest.topics.partitions', version, pos, n, size)
            list2: list[OffsetDeleteRequestPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = OffsetDeleteRequestPartition.__new__(OffsetDeleteRequestPartition)
                e2.partition_index, = _u_i(buf, pos)
                pos += 4
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('OffsetDeleteRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetDeleteRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetDeleteRequest', version, pos, size)
    return m


def _write_offset_delete_request_0_0(m: OffsetDeleteRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    out += _p_h(len(text))
    out += text
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_i(e2.partition_index)


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetDeleteResponsePartition(Struct):
    """Part of OffsetDeleteResponse."""

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
class OffsetDeleteResponseTopic(Struct):
    """Part of OffsetDeleteResponse."""

    name: str
    partitions: list[OffsetDeleteResponsePartition]

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteResponsePartition] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetDeleteResponse(Message):
    """OffsetDeleteResponse, versions 0-0."""

    error_code: int
    throttle_time_ms: int
    topics: list[OffsetDeleteResponseTopic]

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = ABSENT,
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> OffsetDeleteResponse:
        if version == 0:
            return _read_offset_delete_response_0_0(data, version, at)
        raise MalformedMessage(unsupported('OffsetDeleteResponse', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_offset_delete_response_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('OffsetDeleteResponse', version, why) from why
        raise UnwritableMessage(unsupported('OffsetDeleteResponse', '0-0', version))


def _read_offset_delete_response_0_0(data: BytesLike, version: int, pos: int) -> OffsetDeleteResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetDeleteResponse.__new__(OffsetDeleteResponse)
        m.error_code, m.throttle_time_ms, n = _u_hii(buf, pos)
        pos += 10
        if n < 0:
            raise null_found('OffsetDeleteResponse.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('OffsetDeleteResponse.topics', version, pos, n, size)
        list1: list[OffsetDeleteResponseTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetDeleteResponseTopic.__new__(OffsetDeleteResponseTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('OffsetDeleteResponse.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('OffsetDeleteResponse.topics.partitions', version, pos)
            if n * 6 > size - pos:
                raise too_many('OffsetDeleteResponse.topics.partitions', version, pos, n, size)
            list2: list[OffsetDeleteResponsePartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = OffsetDeleteResponsePartition.__new__(OffsetDeleteResponsePartition)
                e2.partition_index, e2.error_code = _u_ih(buf, pos)
                pos += 6
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('OffsetDeleteResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetDeleteResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetDeleteResponse', version, pos, size)
    return m


def _write_offset_delete_response_0_0(m: OffsetDeleteResponse, out: bytearray, version: int) -> None:
    out += _p_hii(m.error_code, m.throttle_time_ms, len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_ih(e2.partition_index, e2.error_code)
