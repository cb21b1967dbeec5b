"""WriteTxnMarkers (key 27), versions 1-2. Generated from definitions/write_txn_markers.txt by oncelog.protocol.generate: do not edit."""

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

_p_b = Layout(">b").pack
_p_i = Layout(">i").pack
_p_ihx = Layout(">ihx").pack
_p_q = Layout(">q").pack
_p_qho = Layout(">qh?").pack
_u_b = Layout(">b").unpack_from
_u_i = Layout(">i").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_qB = Layout(">qB").unpack_from
_u_qhoB = Layout(">qh?B").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class WritableTxnMarkerTopic(Struct):
    """Part of WriteTxnMarkersRequest."""

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
class WritableTxnMarker(Struct):
    """Part of WriteTxnMarkersRequest."""

    producer_id: int
    producer_epoch: int
    transaction_result: bool
    topics: list[WritableTxnMarkerTopic]
    coordinator_epoch: int
    transaction_version: int

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WritableTxnMarkerTopic] = ABSENT,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics = [] if topics is ABSENT else topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version


@dataclass(slots=True, init=False, repr=False, eq=False)
class WriteTxnMarkersRequest(Message):
    """WriteTxnMarkersRequest, versions 1-2."""

    markers: list[WritableTxnMarker]

    def __init__(
        self,
        markers: list[WritableTxnMarker] = ABSENT,
    ) -> None:
        self.markers = [] if markers is ABSENT else markers

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> WriteTxnMarkersRequest:
        if 1 <= version <= 2:
            return _read_write_txn_markers_request_1_2(data, version, at)
        raise MalformedMessage(unsupported('WriteTxnMarkersRequest', '1-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 1 <= version <= 2:
                return _write_write_txn_markers_request_1_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('WriteTxnMarkersRequest', version, why) from why
        raise UnwritableMessage(unsupported('WriteTxnMarkersRequest', '1-2', version))


def _read_write_txn_markers_request_1_2(data: BytesLike, version: int, pos: int) -> WriteTxnMarkersRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = WriteTxnMarkersRequest.__new__(WriteTxnMarkersRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('WriteTxnMarkersRequest.markers', version, pos)
        n -= 1
        if n * 17 > size - pos:
            raise too_many('WriteTxnMarkersRequest.markers', version, pos, n, size)
        list1: list[WritableTxnMarker] = []
        m.markers = list1
        count1 = n
        for _ in range(count1):
            e1 = WritableTxnMarker.__new__(WritableTxnMarker)
            e1.producer_id, e1.producer_epoch, e1.transaction_result, n = _u_qhoB(buf, pos)
            pos += 12
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('WriteTxnMarkersRequest.markers.topics', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('WriteTxnMarkersRequest.markers.topics', version, pos, n, size)
            list2: list[WritableTxnMarkerTopic] = []
            e1.topics = list2
            count2 = n
            for _ in range(count2):
                e2 = WritableTxnMarkerTopic.__new__(WritableTxnMarkerTopic)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('WriteTxnMarkersRequest.markers.topics.name', version, pos)
                end = pos + n - 1
                e2.name = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('WriteTxnMarkersRequest.markers.topics.partition_indexes', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('WriteTxnMarkersRequest.markers.topics.partition_indexes', version, pos, n, size)
                e2.partition_indexes = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
            e1.coordinator_epoch, = _u_i(buf, pos)
            pos += 4
            if version >= 2:
                e1.transaction_version, = _u_b(buf, pos)
                pos += 1
            else:
                e1.transaction_version = 0
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
        raise cut_short('WriteTxnMarkersRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('WriteTxnMarkersRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('WriteTxnMarkersRequest', version, pos, size)
    return m


def _write_write_txn_markers_request_1_2(m: WriteTxnMarkersRequest, out: bytearray, version: int) -> None:
    n = len(m.markers) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.markers:
        out += _p_qho(e1.producer_id, e1.producer_epoch, e1.transaction_result)
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
            n = len(e2.partition_indexes) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e2.partition_indexes)}i', *e2.partition_indexes)
            out.append(0)
        out += _p_i(e1.coordinator_epoch)
        if version >= 2:
            out += _p_b(e1.transaction_version)
        out.append(0)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class WritableTxnMarkerPartitionResult(Struct):
    """Part of WriteTxnMarkersResponse."""

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
class WritableTxnMarkerTopicResult(Struct):
    """Part of WriteTxnMarkersResponse."""

    name: str
    partitions: list[WritableTxnMarkerPartitionResult]

    def __init__(
        self,
        name: str = "",
        partitions: list[WritableTxnMarkerPartitionResult] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class WritableTxnMarkerResult(Struct):
    """Part of WriteTxnMarkersResponse."""

    producer_id: int
    topics: list[WritableTxnMarkerTopicResult]

    def __init__(
        self,
        producer_id: int = 0,
        topics: list[WritableTxnMarkerTopicResult] = ABSENT,
    ) -> None:
        self.producer_id = producer_id
        self.topics = [] if topics is ABSENT else topics


@dataclass(slots=True, init=False, repr=False, eq=False)
class WriteTxnMarkersResponse(Message):
    """WriteTxnMarkersResponse, versions 1-2."""

    markers: list[WritableTxnMarkerResult]

    def __init__(
        self,
        markers: list[WritableTxnMarkerResult] = ABSENT,
    ) -> None:
        self.markers = [] if markers is ABSENT else markers

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> WriteTxnMarkersResponse:
        if 1 <= version <= 2:
            return _read_write_txn_markers_response_1_2(data, version, at)
        raise MalformedMessage(unsupported('WriteTxnMarkersResponse', '1-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 1 <= version <= 2:
                return _write_write_txn_markers_response_1_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('WriteTxnMarkersResponse', version, why) from why
        raise UnwritableMessage(unsupported('WriteTxnMarkersResponse', '1-2', version))


def _read_write_txn_markers_response_1_2(data: BytesLike, version: int, pos: int) -> WriteTxnMarkersResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = WriteTxnMarkersResponse.__new__(WriteTxnMarkersResponse)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('WriteTxnMarkersResponse.markers', version, pos)
        n -= 1
        if n * 10 > size - pos:
            raise too_many('WriteTxnMarkersResponse.markers', version, pos, n, size)
        list1: list[WritableTxnMarkerResult] = []
        m.markers = list1
        count1 = n
        for _ in range(count1):
            e1 = WritableTxnMarkerResult.__new__(WritableTxnMarkerResult)
            e1.producer_id, n = _u_qB(buf, pos)
            pos += 9
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('WriteTxnMarkersResponse.markers.topics', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('WriteTxnMarkersResponse.markers.topics', version, pos, n, size)
            list2: list[WritableTxnMarkerTopicResult] = []
            e1.topics = list2
            count2 = n
            for _ in range(count2):
                e2 = WritableTxnMarkerTopicResult.__new__(WritableTxnMarkerTopicResult)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('WriteTxnMarkersResponse.markers.topics.name', version, pos)
                end = pos + n - 1
                e2.name = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('WriteTxnMarkersResponse.markers.topics.partitions', version, pos)
                n -= 1
                if n * 7 > size - pos:
                    raise too_many('WriteTxnMarkersResponse.markers.topics.partitions', version, pos, n, size)
                list3: list[WritableTxnMarkerPartitionResult] = []
                e2.partitions = list3
                count3 = n
                for _ in range(count3):
                    e3 = WritableTxnMarkerPartitionResult.__new__(WritableTxnMarkerPartitionResult)
                    e3.partition_index, e3.error_code, n = _u_ihB(buf, pos)
                    pos += 7
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list3.append(e3)
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
        raise cut_short('WriteTxnMarkersResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('WriteTxnMarkersResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('WriteTxnMarkersResponse', version, pos, size)
    return m


def _write_write_txn_markers_response_1_2(m: WriteTxnMarkersResponse, out: bytearray, version: int) -> None:
    n = len(m.markers) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.markers:
        out += _p_q(e1.producer_id)
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
            for e3 in e2.partitions:
                out += _p_ihx(e3.partition_index, e3.error_code)
            out.append(0)
        out.append(0)
    out.append(0)
