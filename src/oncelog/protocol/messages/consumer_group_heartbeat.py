"""ConsumerGroupHeartbeat (key 68), versions 0-1. Generated from definitions/consumer_group_heartbeat.txt by oncelog.protocol.generate: do not edit."""

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
    skip_tags,
    string_length,
    too_many,
    unsupported,
    unwritable,
    varint,
)

_p_b = Layout(">b").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_p_ii = Layout(">ii").pack
_p_u = Layout(">16s").pack
_u_iB = Layout(">iB").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_iib = Layout(">iib").unpack_from
_u_uB = Layout(">16sB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class RequestTopicPartitions(Struct):
    """Part of ConsumerGroupHeartbeatRequest."""

    topic_id: bytes
    partitions: list[int]

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = ABSENT,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class ConsumerGroupHeartbeatRequest(Message):
    """ConsumerGroupHeartbeatRequest, versions 0-1."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    subscribed_topic_names: list[str] | None
    subscribed_topic_regex: str | None
    server_assignor: str | None
    topic_partitions: list[RequestTopicPartitions] | None

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[RequestTopicPartitions] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ConsumerGroupHeartbeatRequest:
        if 0 <= version <= 1:
            return _read_consumer_group_heartbeat_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('ConsumerGroupHeartbeatRequest', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_consumer_group_heartbeat_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ConsumerGroupHeartbeatRequest', version, why) from why
        raise UnwritableMessage(unsupported('ConsumerGroupHeartbeatRequest', '0-1', version))


def _read_consumer_group_heartbeat_request_0_1(data: BytesLike, version: int, pos: int) -> ConsumerGroupHeartbeatRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ConsumerGroupHeartbeatRequest.__new__(ConsumerGroupHeartbeatRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('ConsumerGroupHeartbeatRequest.group_id', version, pos)
        end = pos + n - 1
        m.group_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('ConsumerGroupHeartbeatRequest.member_id', version, pos)
        end = pos + n - 1
        m.member_id = buf[pos:end].decode()
        pos = end
        m.member_epoch, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.instance_id = None
        else:
            end = pos + n - 1
            m.instance_id = buf[pos:end].decode()
            pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.rack_id = None
        else:
            end = pos + n - 1
            m.rack_id = buf[pos:end].decode()
            pos = end
        m.rebalance_timeout_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            m.subscribed_topic_names = None
        else:
            n -= 1
            if n > size - pos:
                raise too_many('ConsumerGroupHeartbeatRequest.subscribed_topic_names', version, pos, n, size)
            list1: list[str] = []
            m.subscribed_topic_names = list1
            count1 = n
            for _ in range(count1):
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('ConsumerGroupHeartbeatRequest.subscribed_topic_names', version, pos)
                end = pos + n - 1
                e1 = buf[pos:end].decode()
                pos = end
                list1.append(e1)
        if version >= 1:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                m.subscribed_topic_regex = None
            else:
                end = pos + n - 1
                m.subscribed_topic_regex = buf[pos:end].decode()
                pos = end
        else:
            m.subscribed_topic_regex = None
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.server_assignor = None
        else:
            end = pos + n - 1
            m.server_assignor = buf[pos:end].decode()
            pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            m.topic_partitions = None
        else:
            n -= 1
            if n * 18 > size - pos:
                raise too_many('ConsumerGroupHeartbeatRequest.topic_partitions', version, pos, n, size)
            list2: list[RequestTopicPartitions] = []
            m.topic_partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = RequestTopicPartitions.__new__(RequestTopicPartitions)
                e2.topic_id, n = _u_uB(buf, pos)
                pos += 17
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ConsumerGroupHeartbeatRequest.topic_partitions.partitions', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('ConsumerGroupHeartbeatRequest.topic_partitions.partitions', version, pos, n, size)
                e2.partitions = list(unpack_from(f'>{n}i', buf, pos))
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
    except (IndexError, LayoutError):
        raise cut_short('ConsumerGroupHeartbeatRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ConsumerGroupHeartbeatRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ConsumerGroupHeartbeatRequest', version, pos, size)
    return m


def _write_consumer_group_heartbeat_request_0_1(m: ConsumerGroupHeartbeatRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    text = m.member_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    out += _p_i(m.member_epoch)
    if m.instance_id is None:
        out.append(0)
    else:
        text = m.instance_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    if m.rack_id is None:
        out.append(0)
    else:
        text = m.rack_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_i(m.rebalance_timeout_ms)
    if m.subscribed_topic_names is None:
        out.append(0)
    else:
        n = len(m.subscribed_topic_names) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.subscribed_topic_names:
            text = e1.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    if version >= 1:
        if m.subscribed_topic_regex is None:
            out.append(0)
        else:
            text = m.subscribed_topic_regex.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    if m.server_assignor is None:
        out.append(0)
    else:
        text = m.server_assignor.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    if m.topic_partitions is None:
        out.append(0)
    else:
        n = len(m.topic_partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in m.topic_partitions:
            if len(e2.topic_id) != 16:
                raise not_uuid('ConsumerGroupHeartbeatRequest.topic_partitions.topic_id', e2.topic_id)
            out += _p_u(e2.topic_id)
            n = len(e2.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e2.partitions)}i', *e2.partitions)
            out.append(0)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class ResponseTopicPartitions(Struct):
    """Part of ConsumerGroupHeartbeatResponse."""

    topic_id: bytes
    partitions: list[int]

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = ABSENT,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class Assignment(Struct):
    """Part of ConsumerGroupHeartbeatResponse."""

    topic_partitions: list[ResponseTopicPartitions]

    def __init__(
        self,
        topic_partitions: list[ResponseTopicPartitions] = ABSENT,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is ABSENT else topic_partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class ConsumerGroupHeartbeatResponse(Message):
    """ConsumerGroupHeartbeatResponse, versions 0-1."""

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: Assignment | None

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ConsumerGroupHeartbeatResponse:
        if 0 <= version <= 1:
            return _read_consumer_group_heartbeat_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('ConsumerGroupHeartbeatResponse', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_consumer_group_heartbeat_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ConsumerGroupHeartbeatResponse', version, why) from why
        raise UnwritableMessage(unsupported('ConsumerGroupHeartbeatResponse', '0-1', version))


def _read_consumer_group_heartbeat_response_0_1(data: BytesLike, version: int, pos: int) -> ConsumerGroupHeartbeatResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ConsumerGroupHeartbeatResponse.__new__(ConsumerGroupHeartbeatResponse)
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
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.member_id = None
        else:
            end = pos + n - 1
            m.member_id = buf[pos:end].decode()
            pos = end
        m.member_epoch, m.heartbeat_interval_ms, n = _u_iib(buf, pos)
        pos += 9
        if n < 0:
            m.assignment = None
        else:
            e1 = Assignment.__new__(Assignment)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ConsumerGroupHeartbeatResponse.assignment.topic_partitions', version, pos)
            n -= 1
            if n * 18 > size - pos:
                raise too_many('ConsumerGroupHeartbeatResponse.assignment.topic_partitions', version, pos, n, size)
            list1: list[ResponseTopicPartitions] = []
            e1.topic_partitions = list1
            count1 = n
            for _ in range(count1):
                e2 = ResponseTopicPartitions.__new__(ResponseTopicPartitions)
                e2.topic_id, n = _u_uB(buf, pos)
                pos += 17
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ConsumerGroupHeartbeatResponse.assignment.topic_partitions.partitions', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('ConsumerGroupHeartbeatResponse.assignment.topic_partitions.partitions', version, pos, n, size)
                e2.partitions = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list1.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            m.assignment = e1
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('ConsumerGroupHeartbeatResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ConsumerGroupHeartbeatResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ConsumerGroupHeartbeatResponse', version, pos, size)
    return m


def _write_consumer_group_heartbeat_response_0_1(m: ConsumerGroupHeartbeatResponse, out: bytearray, version: int) -> None:
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
    if m.member_id is None:
        out.append(0)
    else:
        text = m.member_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_ii(m.member_epoch, m.heartbeat_interval_ms)
    if m.assignment is None:
        out.append(255)
    else:
        out += _p_b(1)
        n = len(m.assignment.topic_partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.assignment.topic_partitions:
            if len(e1.topic_id) != 16:
                raise not_uuid('ConsumerGroupHeartbeatResponse.assignment.topic_partitions.topic_id', e1.topic_id)
            out += _p_u(e1.topic_id)
            n = len(e1.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e1.partitions)}i', *e1.partitions)
            out.append(0)
        out.append(0)
    out.append(0)
