"""CreateTopics (key 19), versions 2-7. Generated from definitions/create_topics.txt by oncelog.protocol.generate: do not edit."""

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
_p_ih = Layout(">ih").pack
_p_ihi = Layout(">ihi").pack
_p_ii = Layout(">ii").pack
_p_io = Layout(">i?").pack
_p_iox = Layout(">i?x").pack
_p_obox = Layout(">?b?x").pack
_p_u = Layout(">16s").pack
_u_h = Layout(">h").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_hh = Layout(">hh").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_ihi = Layout(">ihi").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_io = Layout(">i?").unpack_from
_u_ioB = Layout(">i?B").unpack_from
_u_oboB = Layout(">?b?B").unpack_from
_u_u = Layout(">16s").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreatableReplicaAssignment(Struct):
    """Part of CreateTopicsRequest."""

    partition_index: int
    broker_ids: list[int]

    def __init__(
        self,
        partition_index: int = 0,
        broker_ids: list[int] = ABSENT,
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids = [] if broker_ids is ABSENT else broker_ids


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreatableTopicConfig(Struct):
    """Part of CreateTopicsRequest."""

    name: str
    value: str | None

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreatableTopic(Struct):
    """Part of CreateTopicsRequest."""

    name: str
    num_partitions: int
    replication_factor: int
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreatableTopicConfig]

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = ABSENT,
        configs: list[CreatableTopicConfig] = ABSENT,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = [] if assignments is ABSENT else assignments
        self.configs = [] if configs is ABSENT else configs


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreateTopicsRequest(Message):
    """CreateTopicsRequest, versions 2-7."""

    topics: list[CreatableTopic]
    timeout_ms: int
    validate_only: bool

    def __init__(
        self,
        topics: list[CreatableTopic] = ABSENT,
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is ABSENT else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> CreateTopicsRequest:
        if 5 <= version <= 7:
            return _read_create_topics_request_5_7(data, version, at)
        if 2 <= version <= 4:
            return _read_create_topics_request_2_4(data, version, at)
        raise MalformedMessage(unsupported('CreateTopicsRequest', '2-7', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 5 <= version <= 7:
                return _write_create_topics_request_5_7(self, out, version)
            if 2 <= version <= 4:
                return _write_create_topics_request_2_4(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('CreateTopicsRequest', version, why) from why
        raise UnwritableMessage(unsupported('CreateTopicsRequest', '2-7', version))


def _read_create_topics_request_5_7(data: BytesLike, version: int, pos: int) -> CreateTopicsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreateTopicsRequest.__new__(CreateTopicsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('CreateTopicsRequest.topics', version, pos)
        n -= 1
        if n * 10 > size - pos:
            raise too_many('CreateTopicsRequest.topics', version, pos, n, size)
        list1: list[CreatableTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = CreatableTopic.__new__(CreatableTopic)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('CreateTopicsRequest.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            e1.num_partitions, e1.replication_factor, n = _u_ihB(buf, pos)
            pos += 7
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('CreateTopicsRequest.topics.assignments', version, pos)
            n -= 1
            if n * 6 > size - pos:
                raise too_many('CreateTopicsRequest.topics.assignments', version, pos, n, size)
            list2: list[CreatableReplicaAssignment] = []
            e1.assignments = list2
            count2 = n
            for _ in range(count2):
                e2 = CreatableReplicaAssignment.__new__(CreatableReplicaAssignment)
                e2.partition_index, n = _u_iB(buf, pos)
                pos += 5
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('CreateTopicsRequest.topics.assignments.broker_ids', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('CreateTopicsRequest.topics.assignments.broker_ids', version, pos, n, size)
                e2.broker_ids = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('CreateTopicsRequest.topics.configs', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('CreateTopicsRequest.topics.configs', version, pos, n, size)
            list3: list[CreatableTopicConfig] = []
            e1.configs = list3
            count3 = n
            for _ in range(count3):
                e3 = CreatableTopicConfig.__new__(CreatableTopicConfig)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('CreateTopicsRequest.topics.configs.name', version, pos)
                end = pos + n - 1
                e3.name = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e3.value = None
                else:
                    end = pos + n - 1
                    e3.value = buf[pos:end].decode()
                    pos = end
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list3.append(e3)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.timeout_ms, m.validate_only, n = _u_ioB(buf, pos)
        pos += 6
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('CreateTopicsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreateTopicsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('CreateTopicsRequest', version, pos, size)
    return m


def _read_create_topics_request_2_4(data: BytesLike, version: int, pos: int) -> CreateTopicsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreateTopicsRequest.__new__(CreateTopicsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('CreateTopicsRequest.topics', version, pos)
        if n * 16 > size - pos:
            raise too_many('CreateTopicsRequest.topics', version, pos, n, size)
        list1: list[CreatableTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = CreatableTopic.__new__(CreatableTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('CreateTopicsRequest.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            e1.num_partitions, e1.replication_factor, n = _u_ihi(buf, pos)
            pos += 10
            if n < 0:
                raise null_found('CreateTopicsRequest.topics.assignments', version, pos)
            if n * 8 > size - pos:
                raise too_many('CreateTopicsRequest.topics.assignments', version, pos, n, size)
            list2: list[CreatableReplicaAssignment] = []
            e1.assignments = list2
            count2 = n
            for _ in range(count2):
                e2 = CreatableReplicaAssignment.__new__(CreatableReplicaAssignment)
                e2.partition_index, n = _u_ii(buf, pos)
                pos += 8
                if n < 0:
                    raise null_found('CreateTopicsRequest.topics.assignments.broker_ids', version, pos)
                if n * 4 > size - pos:
                    raise too_many('CreateTopicsRequest.topics.assignments.broker_ids', version, pos, n, size)
                e2.broker_ids = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                list2.append(e2)
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('CreateTopicsRequest.topics.configs', version, pos)
            if n * 4 > size - pos:
                raise too_many('CreateTopicsRequest.topics.configs', version, pos, n, size)
            list3: list[CreatableTopicConfig] = []
            e1.configs = list3
            count3 = n
            for _ in range(count3):
                e3 = CreatableTopicConfig.__new__(CreatableTopicConfig)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('CreateTopicsRequest.topics.configs.name', version, pos)
                end = pos + n
                e3.name = buf[pos:end].decode()
                pos = end
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    e3.value = None
                else:
                    end = pos + n
                    e3.value = buf[pos:end].decode()
                    pos = end
                list3.append(e3)
            list1.append(e1)
        m.timeout_ms, m.validate_only = _u_io(buf, pos)
        pos += 5
    except (IndexError, LayoutError):
        raise cut_short('CreateTopicsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreateTopicsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('CreateTopicsRequest', version, pos, size)
    return m


def _write_create_topics_request_5_7(m: CreateTopicsRequest, out: bytearray, version: int) -> None:
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
        out += _p_ih(e1.num_partitions, e1.replication_factor)
        n = len(e1.assignments) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.assignments:
            out += _p_i(e2.partition_index)
            n = len(e2.broker_ids) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e2.broker_ids)}i', *e2.broker_ids)
            out.append(0)
        n = len(e1.configs) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e3 in e1.configs:
            text = e3.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            if e3.value is None:
                out.append(0)
            else:
                text = e3.value.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            out.append(0)
        out.append(0)
    out += _p_iox(m.timeout_ms, m.validate_only)


def _write_create_topics_request_2_4(m: CreateTopicsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_ihi(e1.num_partitions, e1.replication_factor, len(e1.assignments))
        for e2 in e1.assignments:
            out += _p_ii(e2.partition_index, len(e2.broker_ids))
            out += pack(f'>{len(e2.broker_ids)}i', *e2.broker_ids)
        out += _p_i(len(e1.configs))
        for e3 in e1.configs:
            text = e3.name.encode()
            out += _p_h(len(text))
            out += text
            if e3.value is None:
                out += b'\xff\xff'
            else:
                text = e3.value.encode()
                out += _p_h(len(text))
                out += text
    out += _p_io(m.timeout_ms, m.validate_only)


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreatableTopicConfigs(Struct):
    """Part of CreateTopicsResponse."""

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreatableTopicResult(Struct):
    """Part of CreateTopicsResponse."""

    name: str
    topic_id: bytes
    error_code: int
    error_message: str | None
    topic_config_error_code: int
    num_partitions: int
    replication_factor: int
    configs: list[CreatableTopicConfigs] | None

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = ABSENT,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = [] if configs is ABSENT else configs


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreateTopicsResponse(Message):
    """CreateTopicsResponse, versions 2-7."""

    throttle_time_ms: int
    topics: list[CreatableTopicResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[CreatableTopicResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> CreateTopicsResponse:
        if 5 <= version <= 7:
            return _read_create_topics_response_5_7(data, version, at)
        if 2 <= version <= 4:
            return _read_create_topics_response_2_4(data, version, at)
        raise MalformedMessage(unsupported('CreateTopicsResponse', '2-7', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 5 <= version <= 7:
                return _write_create_topics_response_5_7(self, out, version)
            if 2 <= version <= 4:
                return _write_create_topics_response_2_4(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('CreateTopicsResponse', version, why) from why
        raise UnwritableMessage(unsupported('CreateTopicsResponse', '2-7', version))


def _read_create_topics_response_5_7(data: BytesLike, version: int, pos: int) -> CreateTopicsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreateTopicsResponse.__new__(CreateTopicsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('CreateTopicsResponse.topics', version, pos)
        n -= 1
        if n * 12 > size - pos:
            raise too_many('CreateTopicsResponse.topics', version, pos, n, size)
        list1: list[CreatableTopicResult] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = CreatableTopicResult.__new__(CreatableTopicResult)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('CreateTopicsResponse.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            if version >= 7:
                e1.topic_id, = _u_u(buf, pos)
                pos += 16
            else:
                e1.topic_id = ZERO_UUID
            e1.error_code, n = _u_hB(buf, pos)
            pos += 3
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.error_message = None
            else:
                end = pos + n - 1
                e1.error_message = buf[pos:end].decode()
                pos = end
            e1.topic_config_error_code = 0
            e1.num_partitions, e1.replication_factor, n = _u_ihB(buf, pos)
            pos += 7
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                e1.configs = None
            else:
                n -= 1
                if n * 6 > size - pos:
                    raise too_many('CreateTopicsResponse.topics.configs', version, pos, n, size)
                list2: list[CreatableTopicConfigs] = []
                e1.configs = list2
                count2 = n
                for _ in range(count2):
                    e2 = CreatableTopicConfigs.__new__(CreatableTopicConfigs)
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('CreateTopicsResponse.topics.configs.name', version, pos)
                    end = pos + n - 1
                    e2.name = buf[pos:end].decode()
                    pos = end
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e2.value = None
                    else:
                        end = pos + n - 1
                        e2.value = buf[pos:end].decode()
                        pos = end
                    e2.read_only, e2.config_source, e2.is_sensitive, n = _u_oboB(buf, pos)
                    pos += 4
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                count3, pos = count_tags(buf, pos, size, n)
                for _ in range(count3):
                    tag2, pos, stop2 = read_tag(buf, pos, size)
                    if tag2 == 0:
                        e1.topic_config_error_code, = _u_h(buf, pos)
                        pos += 2
                    else:
                        pos = stop2
                    if pos != stop2:
                        raise wrong_tag_size('CreateTopicsResponse.topics', version, pos, stop2)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('CreateTopicsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreateTopicsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('CreateTopicsResponse', version, pos, size)
    return m


def _read_create_topics_response_2_4(data: BytesLike, version: int, pos: int) -> CreateTopicsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreateTopicsResponse.__new__(CreateTopicsResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('CreateTopicsResponse.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('CreateTopicsResponse.topics', version, pos, n, size)
        list1: list[CreatableTopicResult] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = CreatableTopicResult.__new__(CreatableTopicResult)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('CreateTopicsResponse.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            e1.error_code, n = _u_hh(buf, pos)
            pos += 4
            if n < 0:
                e1.error_message = None
            else:
                end = pos + n
                e1.error_message = buf[pos:end].decode()
                pos = end
            e1.topic_config_error_code = 0
            e1.num_partitions = -1
            e1.replication_factor = -1
            e1.configs = []
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('CreateTopicsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreateTopicsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('CreateTopicsResponse', version, pos, size)
    return m


def _write_create_topics_response_5_7(m: CreateTopicsResponse, out: bytearray, version: int) -> None:
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
        if version >= 7:
            if len(e1.topic_id) != 16:
                raise not_uuid('CreateTopicsResponse.topics.topic_id', e1.topic_id)
            out += _p_u(e1.topic_id)
        out += _p_h(e1.error_code)
        if e1.error_message is None:
            out.append(0)
        else:
            text = e1.error_message.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        out += _p_ih(e1.num_partitions, e1.replication_factor)
        if e1.configs is None:
            out.append(0)
        else:
            n = len(e1.configs) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e2 in e1.configs:
                text = e2.name.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
                if e2.value is None:
                    out.append(0)
                else:
                    text = e2.value.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
                out += _p_obox(e2.read_only, e2.config_source, e2.is_sensitive)
        if e1.topic_config_error_code == 0:
            out.append(0)
        else:
            tags2: list[bytes] = []
            sub2 = bytearray()
            sub2 += _p_h(e1.topic_config_error_code)
            tags2.append(tagged(0, sub2))
            out += varint(len(tags2))
            for tag in tags2:
                out += tag
    out.append(0)


def _write_create_topics_response_2_4(m: CreateTopicsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_h(e1.error_code)
        if e1.error_message is None:
            out += b'\xff\xff'
        else:
            text = e1.error_message.encode()
            out += _p_h(len(text))
            out += text
