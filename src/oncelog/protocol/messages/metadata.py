"""Metadata (key 3), versions 0-13. Generated from definitions/metadata.txt by oncelog.protocol.generate: do not edit."""

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
_p_hh = Layout(">hh").pack
_p_hii = Layout(">hii").pack
_p_hiii = Layout(">hiii").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_p_ix = Layout(">ix").pack
_p_o = Layout(">?").pack
_p_ox = Layout(">?x").pack
_p_u = Layout(">16s").pack
_u_h = Layout(">h").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_hh = Layout(">hh").unpack_from
_u_hii = Layout(">hii").unpack_from
_u_hiiiB = Layout(">hiiiB").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ih = Layout(">ih").unpack_from
_u_o = Layout(">?").unpack_from
_u_oB = Layout(">?B").unpack_from
_u_u = Layout(">16s").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class MetadataRequestTopic(Struct):
    """Part of MetadataRequest."""

    topic_id: bytes
    name: str | None

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        name: str | None = "",
    ) -> None:
        self.topic_id = topic_id
        self.name = name


@dataclass(slots=True, init=False, repr=False, eq=False)
class MetadataRequest(Message):
    """MetadataRequest, versions 0-13."""

    topics: list[MetadataRequestTopic] | None
    allow_auto_topic_creation: bool
    include_cluster_authorized_operations: bool
    include_topic_authorized_operations: bool

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None = ABSENT,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics = [] if topics is ABSENT else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> MetadataRequest:
        if 9 <= version <= 13:
            return _read_metadata_request_9_13(data, version, at)
        if 0 <= version <= 8:
            return _read_metadata_request_0_8(data, version, at)
        raise MalformedMessage(unsupported('MetadataRequest', '0-13', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 9 <= version <= 13:
                return _write_metadata_request_9_13(self, out, version)
            if 0 <= version <= 8:
                return _write_metadata_request_0_8(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('MetadataRequest', version, why) from why
        raise UnwritableMessage(unsupported('MetadataRequest', '0-13', version))


def _read_metadata_request_9_13(data: BytesLike, version: int, pos: int) -> MetadataRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = MetadataRequest.__new__(MetadataRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            m.topics = None
        else:
            n -= 1
            if n * 2 > size - pos:
                raise too_many('MetadataRequest.topics', version, pos, n, size)
            list1: list[MetadataRequestTopic] = []
            m.topics = list1
            count1 = n
            for _ in range(count1):
                e1 = MetadataRequestTopic.__new__(MetadataRequestTopic)
                if version >= 10:
                    e1.topic_id, = _u_u(buf, pos)
                    pos += 16
                else:
                    e1.topic_id = ZERO_UUID
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    if version < 10:
                        raise null_found('MetadataRequest.topics.name', version, pos)
                    e1.name = None
                else:
                    end = pos + n - 1
                    e1.name = buf[pos:end].decode()
                    pos = end
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list1.append(e1)
        m.allow_auto_topic_creation, = _u_o(buf, pos)
        pos += 1
        if version <= 10:
            m.include_cluster_authorized_operations, = _u_o(buf, pos)
            pos += 1
        else:
            m.include_cluster_authorized_operations = False
        m.include_topic_authorized_operations, n = _u_oB(buf, pos)
        pos += 2
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('MetadataRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('MetadataRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('MetadataRequest', version, pos, size)
    return m


def _read_metadata_request_0_8(data: BytesLike, version: int, pos: int) -> MetadataRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = MetadataRequest.__new__(MetadataRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            if version < 1:
                raise null_found('MetadataRequest.topics', version, pos)
            m.topics = None
        else:
            if n * 2 > size - pos:
                raise too_many('MetadataRequest.topics', version, pos, n, size)
            list1: list[MetadataRequestTopic] = []
            m.topics = list1
            count1 = n
            for _ in range(count1):
                e1 = MetadataRequestTopic.__new__(MetadataRequestTopic)
                e1.topic_id = ZERO_UUID
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('MetadataRequest.topics.name', version, pos)
                end = pos + n
                e1.name = buf[pos:end].decode()
                pos = end
                list1.append(e1)
        if version >= 4:
            m.allow_auto_topic_creation, = _u_o(buf, pos)
            pos += 1
        else:
            m.allow_auto_topic_creation = True
        if version >= 8:
            m.include_cluster_authorized_operations, = _u_o(buf, pos)
            pos += 1
        else:
            m.include_cluster_authorized_operations = False
        if version >= 8:
            m.include_topic_authorized_operations, = _u_o(buf, pos)
            pos += 1
        else:
            m.include_topic_authorized_operations = False
    except (IndexError, LayoutError):
        raise cut_short('MetadataRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('MetadataRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('MetadataRequest', version, pos, size)
    return m


def _write_metadata_request_9_13(m: MetadataRequest, out: bytearray, version: int) -> None:
    if m.topics is None:
        out.append(0)
    else:
        n = len(m.topics) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.topics:
            if version >= 10:
                if len(e1.topic_id) != 16:
                    raise not_uuid('MetadataRequest.topics.topic_id', e1.topic_id)
                out += _p_u(e1.topic_id)
            if e1.name is None:
                if version < 10:
                    raise null_given('MetadataRequest.topics.name', version)
                out.append(0)
            else:
                text = e1.name.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            out.append(0)
    out += _p_o(m.allow_auto_topic_creation)
    if version <= 10:
        out += _p_o(m.include_cluster_authorized_operations)
    out += _p_ox(m.include_topic_authorized_operations)


def _write_metadata_request_0_8(m: MetadataRequest, out: bytearray, version: int) -> None:
    if m.topics is None:
        if version < 1:
            raise null_given('MetadataRequest.topics', version)
        out += b'\xff\xff\xff\xff'
    else:
        out += _p_i(len(m.topics))
        for e1 in m.topics:
            if e1.name is None:
                raise null_given('MetadataRequest.topics.name', version)
            text = e1.name.encode()
            out += _p_h(len(text))
            out += text
    if version >= 4:
        out += _p_o(m.allow_auto_topic_creation)
    if version >= 8:
        out += _p_o(m.include_cluster_authorized_operations)
    if version >= 8:
        out += _p_o(m.include_topic_authorized_operations)


@dataclass(slots=True, init=False, repr=False, eq=False)
class MetadataResponseBroker(Struct):
    """Part of MetadataResponse."""

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
class MetadataResponsePartition(Struct):
    """Part of MetadataResponse."""

    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    offline_replicas: list[int]

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = ABSENT,
        isr_nodes: list[int] = ABSENT,
        offline_replicas: list[int] = ABSENT,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is ABSENT else replica_nodes
        self.isr_nodes = [] if isr_nodes is ABSENT else isr_nodes
        self.offline_replicas = [] if offline_replicas is ABSENT else offline_replicas


@dataclass(slots=True, init=False, repr=False, eq=False)
class MetadataResponseTopic(Struct):
    """Part of MetadataResponse."""

    error_code: int
    name: str | None
    topic_id: bytes
    is_internal: bool
    partitions: list[MetadataResponsePartition]
    topic_authorized_operations: int

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] = ABSENT,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is ABSENT else partitions
        self.topic_authorized_operations = topic_authorized_operations


@dataclass(slots=True, init=False, repr=False, eq=False)
class MetadataResponse(Message):
    """MetadataResponse, versions 0-13."""

    throttle_time_ms: int
    brokers: list[MetadataResponseBroker]
    cluster_id: str | None
    controller_id: int
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: int
    error_code: int

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = ABSENT,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = ABSENT,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is ABSENT else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is ABSENT else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> MetadataResponse:
        if 9 <= version <= 13:
            return _read_metadata_response_9_13(data, version, at)
        if 0 <= version <= 8:
            return _read_metadata_response_0_8(data, version, at)
        raise MalformedMessage(unsupported('MetadataResponse', '0-13', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 9 <= version <= 13:
                return _write_metadata_response_9_13(self, out, version)
            if 0 <= version <= 8:
                return _write_metadata_response_0_8(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('MetadataResponse', version, why) from why
        raise UnwritableMessage(unsupported('MetadataResponse', '0-13', version))


def _read_metadata_response_9_13(data: BytesLike, version: int, pos: int) -> MetadataResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('MetadataResponse.brokers', version, pos)
        n -= 1
        if n * 11 > size - pos:
            raise too_many('MetadataResponse.brokers', version, pos, n, size)
        list1: list[MetadataResponseBroker] = []
        m.brokers = list1
        count1 = n
        for _ in range(count1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            e1.node_id, n = _u_iB(buf, pos)
            pos += 5
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('MetadataResponse.brokers.host', version, pos)
            end = pos + n - 1
            e1.host = buf[pos:end].decode()
            pos = end
            e1.port, n = _u_iB(buf, pos)
            pos += 5
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.rack = None
            else:
                end = pos + n - 1
                e1.rack = buf[pos:end].decode()
                pos = end
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
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
        m.controller_id, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('MetadataResponse.topics', version, pos)
        n -= 1
        if n * 10 > size - pos:
            raise too_many('MetadataResponse.topics', version, pos, n, size)
        list2: list[MetadataResponseTopic] = []
        m.topics = list2
        count2 = n
        for _ in range(count2):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            e2.error_code, n = _u_hB(buf, pos)
            pos += 3
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                if version < 12:
                    raise null_found('MetadataResponse.topics.name', version, pos)
                e2.name = None
            else:
                end = pos + n - 1
                e2.name = buf[pos:end].decode()
                pos = end
            if version >= 10:
                e2.topic_id, = _u_u(buf, pos)
                pos += 16
            else:
                e2.topic_id = ZERO_UUID
            e2.is_internal, n = _u_oB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('MetadataResponse.topics.partitions', version, pos)
            n -= 1
            if n * 18 > size - pos:
                raise too_many('MetadataResponse.topics.partitions', version, pos, n, size)
            list3: list[MetadataResponsePartition] = []
            e2.partitions = list3
            count3 = n
            for _ in range(count3):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n = _u_hiiiB(buf, pos)
                pos += 15
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('MetadataResponse.topics.partitions.replica_nodes', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('MetadataResponse.topics.partitions.replica_nodes', version, pos, n, size)
                e3.replica_nodes = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('MetadataResponse.topics.partitions.isr_nodes', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('MetadataResponse.topics.partitions.isr_nodes', version, pos, n, size)
                e3.isr_nodes = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('MetadataResponse.topics.partitions.offline_replicas', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('MetadataResponse.topics.partitions.offline_replicas', version, pos, n, size)
                e3.offline_replicas = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list3.append(e3)
            e2.topic_authorized_operations, n = _u_iB(buf, pos)
            pos += 5
            if n:
                pos = skip_tags(buf, pos, size, n)
            list2.append(e2)
        if version <= 10:
            m.cluster_authorized_operations, = _u_i(buf, pos)
            pos += 4
        else:
            m.cluster_authorized_operations = -2147483648
        if version >= 13:
            m.error_code, = _u_h(buf, pos)
            pos += 2
        else:
            m.error_code = 0
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('MetadataResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('MetadataResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('MetadataResponse', version, pos, size)
    return m


def _read_metadata_response_0_8(data: BytesLike, version: int, pos: int) -> MetadataResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        if version >= 3:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('MetadataResponse.brokers', version, pos)
        if n * 10 > size - pos:
            raise too_many('MetadataResponse.brokers', version, pos, n, size)
        list1: list[MetadataResponseBroker] = []
        m.brokers = list1
        count1 = n
        for _ in range(count1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            e1.node_id, n = _u_ih(buf, pos)
            pos += 6
            if n < 0:
                raise null_found('MetadataResponse.brokers.host', version, pos)
            end = pos + n
            e1.host = buf[pos:end].decode()
            pos = end
            e1.port, = _u_i(buf, pos)
            pos += 4
            if version >= 1:
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    e1.rack = None
                else:
                    end = pos + n
                    e1.rack = buf[pos:end].decode()
                    pos = end
            else:
                e1.rack = None
            list1.append(e1)
        if version >= 2:
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                m.cluster_id = None
            else:
                end = pos + n
                m.cluster_id = buf[pos:end].decode()
                pos = end
        else:
            m.cluster_id = None
        if version >= 1:
            m.controller_id, = _u_i(buf, pos)
            pos += 4
        else:
            m.controller_id = -1
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('MetadataResponse.topics', version, pos)
        if n * 8 > size - pos:
            raise too_many('MetadataResponse.topics', version, pos, n, size)
        list2: list[MetadataResponseTopic] = []
        m.topics = list2
        count2 = n
        for _ in range(count2):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            e2.error_code, n = _u_hh(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('MetadataResponse.topics.name', version, pos)
            end = pos + n
            e2.name = buf[pos:end].decode()
            pos = end
            e2.topic_id = ZERO_UUID
            if version >= 1:
                e2.is_internal, = _u_o(buf, pos)
                pos += 1
            else:
                e2.is_internal = False
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('MetadataResponse.topics.partitions', version, pos)
            if n * 18 > size - pos:
                raise too_many('MetadataResponse.topics.partitions', version, pos, n, size)
            list3: list[MetadataResponsePartition] = []
            e2.partitions = list3
            count3 = n
            for _ in range(count3):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                e3.error_code, e3.partition_index, e3.leader_id = _u_hii(buf, pos)
                pos += 10
                if version >= 7:
                    e3.leader_epoch, = _u_i(buf, pos)
                    pos += 4
                else:
                    e3.leader_epoch = -1
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('MetadataResponse.topics.partitions.replica_nodes', version, pos)
                if n * 4 > size - pos:
                    raise too_many('MetadataResponse.topics.partitions.replica_nodes', version, pos, n, size)
                e3.replica_nodes = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('MetadataResponse.topics.partitions.isr_nodes', version, pos)
                if n * 4 > size - pos:
                    raise too_many('MetadataResponse.topics.partitions.isr_nodes', version, pos, n, size)
                e3.isr_nodes = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                if version >= 5:
                    n, = _u_i(buf, pos)
                    pos += 4
                    if n < 0:
                        raise null_found('MetadataResponse.topics.partitions.offline_replicas', version, pos)
                    if n * 4 > size - pos:
                        raise too_many('MetadataResponse.topics.partitions.offline_replicas', version, pos, n, size)
                    e3.offline_replicas = list(unpack_from(f'>{n}i', buf, pos))
                    pos += 4 * n
                else:
                    e3.offline_replicas = []
                list3.append(e3)
            if version >= 8:
                e2.topic_authorized_operations, = _u_i(buf, pos)
                pos += 4
            else:
                e2.topic_authorized_operations = -2147483648
            list2.append(e2)
        if version >= 8:
            m.cluster_authorized_operations, = _u_i(buf, pos)
            pos += 4
        else:
            m.cluster_authorized_operations = -2147483648
        m.error_code = 0
    except (IndexError, LayoutError):
        raise cut_short('MetadataResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('MetadataResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('MetadataResponse', version, pos, size)
    return m


def _write_metadata_response_9_13(m: MetadataResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.brokers) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.brokers:
        text = e1.host.encode()
        out += _p_i(e1.node_id)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_i(e1.port)
        if e1.rack is None:
            out.append(0)
        else:
            text = e1.rack.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        out.append(0)
    if m.cluster_id is None:
        out.append(0)
    else:
        text = m.cluster_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_i(m.controller_id)
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e2 in m.topics:
        out += _p_h(e2.error_code)
        if e2.name is None:
            if version < 12:
                raise null_given('MetadataResponse.topics.name', version)
            out.append(0)
        else:
            text = e2.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        if version >= 10:
            if len(e2.topic_id) != 16:
                raise not_uuid('MetadataResponse.topics.topic_id', e2.topic_id)
            out += _p_u(e2.topic_id)
        out += _p_o(e2.is_internal)
        n = len(e2.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e3 in e2.partitions:
            out += _p_hiii(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch)
            n = len(e3.replica_nodes) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e3.replica_nodes)}i', *e3.replica_nodes)
            n = len(e3.isr_nodes) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e3.isr_nodes)}i', *e3.isr_nodes)
            n = len(e3.offline_replicas) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e3.offline_replicas)}i', *e3.offline_replicas)
            out.append(0)
        out += _p_ix(e2.topic_authorized_operations)
    if version <= 10:
        out += _p_i(m.cluster_authorized_operations)
    if version >= 13:
        out += _p_h(m.error_code)
    out.append(0)


def _write_metadata_response_0_8(m: MetadataResponse, out: bytearray, version: int) -> None:
    if version >= 3:
        out += _p_i(m.throttle_time_ms)
    out += _p_i(len(m.brokers))
    for e1 in m.brokers:
        text = e1.host.encode()
        out += _p_ih(e1.node_id, len(text))
        out += text
        out += _p_i(e1.port)
        if version >= 1:
            if e1.rack is None:
                out += b'\xff\xff'
            else:
                text = e1.rack.encode()
                out += _p_h(len(text))
                out += text
    if version >= 2:
        if m.cluster_id is None:
            out += b'\xff\xff'
        else:
            text = m.cluster_id.encode()
            out += _p_h(len(text))
            out += text
    if version >= 1:
        out += _p_i(m.controller_id)
    out += _p_i(len(m.topics))
    for e2 in m.topics:
        if e2.name is None:
            raise null_given('MetadataResponse.topics.name', version)
        text = e2.name.encode()
        out += _p_hh(e2.error_code, len(text))
        out += text
        if version >= 1:
            out += _p_o(e2.is_internal)
        out += _p_i(len(e2.partitions))
        for e3 in e2.partitions:
            out += _p_hii(e3.error_code, e3.partition_index, e3.leader_id)
            if version >= 7:
                out += _p_i(e3.leader_epoch)
            out += _p_i(len(e3.replica_nodes))
            out += pack(f'>{len(e3.replica_nodes)}i', *e3.replica_nodes)
            out += _p_i(len(e3.isr_nodes))
            out += pack(f'>{len(e3.isr_nodes)}i', *e3.isr_nodes)
            if version >= 5:
                out += _p_i(len(e3.offline_replicas))
                out += pack(f'>{len(e3.offline_replicas)}i', *e3.offline_replicas)
        if version >= 8:
            out += _p_i(e2.topic_authorized_operations)
    if version >= 8:
        out += _p_i(m.cluster_authorized_operations)
