"""ConsumerGroupDescribe (key 69), versions 0-1. Generated from definitions/consumer_group_describe.txt by oncelog.protocol.generate: do not edit."""

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
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ii = Layout(">ii").pack
_p_ix = Layout(">ix").pack
_p_ox = Layout(">?x").pack
_p_u = Layout(">16s").pack
_u_b = Layout(">b").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_iiB = Layout(">iiB").unpack_from
_u_oB = Layout(">?B").unpack_from
_u_uB = Layout(">16sB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ConsumerGroupDescribeRequest(Message):
    """ConsumerGroupDescribeRequest, versions 0-1."""

    group_ids: list[str]
    include_authorized_operations: bool

    def __init__(
        self,
        group_ids: list[str] = ABSENT,
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids = [] if group_ids is ABSENT else group_ids
        self.include_authorized_operations = include_authorized_operations

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ConsumerGroupDescribeRequest:
        if 0 <= version <= 1:
            return _read_consumer_group_describe_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('ConsumerGroupDescribeRequest', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_consumer_group_describe_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ConsumerGroupDescribeRequest', version, why) from why
        raise UnwritableMessage(unsupported('ConsumerGroupDescribeRequest', '0-1', version))


def _read_consumer_group_describe_request_0_1(data: BytesLike, version: int, pos: int) -> ConsumerGroupDescribeRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ConsumerGroupDescribeRequest.__new__(ConsumerGroupDescribeRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ConsumerGroupDescribeRequest.group_ids', version, pos)
        n -= 1
        if n > size - pos:
            raise too_many('ConsumerGroupDescribeRequest.group_ids', version, pos, n, size)
        list1: list[str] = []
        m.group_ids = list1
        count1 = n
        for _ in range(count1):
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ConsumerGroupDescribeRequest.group_ids', version, pos)
            end = pos + n - 1
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
        m.include_authorized_operations, n = _u_oB(buf, pos)
        pos += 2
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('ConsumerGroupDescribeRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ConsumerGroupDescribeRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ConsumerGroupDescribeRequest', version, pos, size)
    return m


def _write_consumer_group_describe_request_0_1(m: ConsumerGroupDescribeRequest, out: bytearray, version: int) -> None:
    n = len(m.group_ids) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.group_ids:
        text = e1.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_ox(m.include_authorized_operations)


@dataclass(slots=True, init=False, repr=False, eq=False)
class TopicPartitions(Struct):
    """Part of ConsumerGroupDescribeResponse."""

    topic_id: bytes
    topic_name: str
    partitions: list[int]

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = ABSENT,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class Assignment(Struct):
    """Part of ConsumerGroupDescribeResponse."""

    topic_partitions: list[TopicPartitions]

    def __init__(
        self,
        topic_partitions: list[TopicPartitions] = ABSENT,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is ABSENT else topic_partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class Member(Struct):
    """Part of ConsumerGroupDescribeResponse."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    assignment: Assignment
    target_assignment: Assignment
    member_type: int

    def __init__(
        self,
        member_id: str = "",
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = ABSENT,
        subscribed_topic_regex: str | None = None,
        assignment: Assignment = ABSENT,
        target_assignment: Assignment = ABSENT,
        member_type: int = -1,
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is ABSENT else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.assignment = Assignment() if assignment is ABSENT else assignment
        self.target_assignment = Assignment() if target_assignment is ABSENT else target_assignment
        self.member_type = member_type


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribedGroup(Struct):
    """Part of ConsumerGroupDescribeResponse."""

    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: list[Member]
    authorized_operations: int

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: list[Member] = ABSENT,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members = [] if members is ABSENT else members
        self.authorized_operations = authorized_operations


@dataclass(slots=True, init=False, repr=False, eq=False)
class ConsumerGroupDescribeResponse(Message):
    """ConsumerGroupDescribeResponse, versions 0-1."""

    throttle_time_ms: int
    groups: list[DescribedGroup]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is ABSENT else groups

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ConsumerGroupDescribeResponse:
        if 0 <= version <= 1:
            return _read_consumer_group_describe_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('ConsumerGroupDescribeResponse', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_consumer_group_describe_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ConsumerGroupDescribeResponse', version, why) from why
        raise UnwritableMessage(unsupported('ConsumerGroupDescribeResponse', '0-1', version))


def _read_consumer_group_describe_response_0_1(data: BytesLike, version: int, pos: int) -> ConsumerGroupDescribeResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ConsumerGroupDescribeResponse.__new__(ConsumerGroupDescribeResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ConsumerGroupDescribeResponse.groups', version, pos)
        n -= 1
        if n * 20 > size - pos:
            raise too_many('ConsumerGroupDescribeResponse.groups', version, pos, n, size)
        list1: list[DescribedGroup] = []
        m.groups = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribedGroup.__new__(DescribedGroup)
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
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ConsumerGroupDescribeResponse.groups.group_id', version, pos)
            end = pos + n - 1
            e1.group_id = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ConsumerGroupDescribeResponse.groups.group_state', version, pos)
            end = pos + n - 1
            e1.group_state = buf[pos:end].decode()
            pos = end
            e1.group_epoch, e1.assignment_epoch, n = _u_iiB(buf, pos)
            pos += 9
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ConsumerGroupDescribeResponse.groups.assignor_name', version, pos)
            end = pos + n - 1
            e1.assignor_name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ConsumerGroupDescribeResponse.groups.members', version, pos)
            n -= 1
            if n * 16 > size - pos:
                raise too_many('ConsumerGroupDescribeResponse.groups.members', version, pos, n, size)
            list2: list[Member] = []
            e1.members = list2
            count2 = n
            for _ in range(count2):
                e2 = Member.__new__(Member)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('ConsumerGroupDescribeResponse.groups.members.member_id', version, pos)
                end = pos + n - 1
                e2.member_id = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.instance_id = None
                else:
                    end = pos + n - 1
                    e2.instance_id = buf[pos:end].decode()
                    pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.rack_id = None
                else:
                    end = pos + n - 1
                    e2.rack_id = buf[pos:end].decode()
                    pos = end
                e2.member_epoch, n = _u_iB(buf, pos)
                pos += 5
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('ConsumerGroupDescribeResponse.groups.members.client_id', version, pos)
                end = pos + n - 1
                e2.client_id = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('ConsumerGroupDescribeResponse.groups.members.client_host', version, pos)
                end = pos + n - 1
                e2.client_host = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ConsumerGroupDescribeResponse.groups.members.subscribed_topic_names', version, pos)
                n -= 1
                if n > size - pos:
                    raise too_many('ConsumerGroupDescribeResponse.groups.members.subscribed_topic_names', version, pos, n, size)
                list3: list[str] = []
                e2.subscribed_topic_names = list3
                count3 = n
                for _ in range(count3):
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('ConsumerGroupDescribeResponse.groups.members.subscribed_topic_names', version, pos)
                    end = pos + n - 1
                    e3 = buf[pos:end].decode()
                    pos = end
                    list3.append(e3)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.subscribed_topic_regex = None
                else:
                    end = pos + n - 1
                    e2.subscribed_topic_regex = buf[pos:end].decode()
                    pos = end
                e4 = Assignment.__new__(Assignment)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ConsumerGroupDescribeResponse.groups.members.assignment.topic_partitions', version, pos)
                n -= 1
                if n * 19 > size - pos:
                    raise too_many('ConsumerGroupDescribeResponse.groups.members.assignment.topic_partitions', version, pos, n, size)
                list4: list[TopicPartitions] = []
                e4.topic_partitions = list4
                count4 = n
                for _ in range(count4):
                    e5 = TopicPartitions.__new__(TopicPartitions)
                    e5.topic_id, n = _u_uB(buf, pos)
                    pos += 17
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('ConsumerGroupDescribeResponse.groups.members.assignment.topic_partitions.topic_name', version, pos)
                    end = pos + n - 1
                    e5.topic_name = buf[pos:end].decode()
                    pos = end
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('ConsumerGroupDescribeResponse.groups.members.assignment.topic_partitions.partitions', version, pos)
                    n -= 1
                    if n * 4 > size - pos:
                        raise too_many('ConsumerGroupDescribeResponse.groups.members.assignment.topic_partitions.partitions', version, pos, n, size)
                    e5.partitions = list(unpack_from(f'>{n}i', buf, pos))
                    pos += 4 * n
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list4.append(e5)
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                e2.assignment = e4
                e6 = Assignment.__new__(Assignment)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ConsumerGroupDescribeResponse.groups.members.target_assignment.topic_partitions', version, pos)
                n -= 1
                if n * 19 > size - pos:
                    raise too_many('ConsumerGroupDescribeResponse.groups.members.target_assignment.topic_partitions', version, pos, n, size)
                list5: list[TopicPartitions] = []
                e6.topic_partitions = list5
                count5 = n
                for _ in range(count5):
                    e7 = TopicPartitions.__new__(TopicPartitions)
                    e7.topic_id, n = _u_uB(buf, pos)
                    pos += 17
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('ConsumerGroupDescribeResponse.groups.members.target_assignment.topic_partitions.topic_name', version, pos)
                    end = pos + n - 1
                    e7.topic_name = buf[pos:end].decode()
                    pos = end
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('ConsumerGroupDescribeResponse.groups.members.target_assignment.topic_partitions.partitions', version, pos)
                    n -= 1
                    if n * 4 > size - pos:
                        raise too_many('ConsumerGroupDescribeResponse.groups.members.target_assignment.topic_partitions.partitions', version, pos, n, size)
                    e7.partitions = list(unpack_from(f'>{n}i', buf, pos))
                    pos += 4 * n
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list5.append(e7)
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                e2.target_assignment = e6
                if version >= 1:
                    e2.member_type, = _u_b(buf, pos)
                    pos += 1
                else:
                    e2.member_type = -1
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
            e1.authorized_operations, n = _u_iB(buf, pos)
            pos += 5
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('ConsumerGroupDescribeResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ConsumerGroupDescribeResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ConsumerGroupDescribeResponse', version, pos, size)
    return m


def _write_consumer_group_describe_response_0_1(m: ConsumerGroupDescribeResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.groups) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.groups:
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
        text = e1.group_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        text = e1.group_state.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        text = e1.assignor_name.encode()
        out += _p_ii(e1.group_epoch, e1.assignment_epoch)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.members) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.members:
            text = e2.member_id.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            if e2.instance_id is None:
                out.append(0)
            else:
                text = e2.instance_id.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if e2.rack_id is None:
                out.append(0)
            else:
                text = e2.rack_id.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            text = e2.client_id.encode()
            out += _p_i(e2.member_epoch)
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            text = e2.client_host.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            n = len(e2.subscribed_topic_names) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e3 in e2.subscribed_topic_names:
                text = e3.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if e2.subscribed_topic_regex is None:
                out.append(0)
            else:
                text = e2.subscribed_topic_regex.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            n = len(e2.assignment.topic_partitions) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e4 in e2.assignment.topic_partitions:
                if len(e4.topic_id) != 16:
                    raise not_uuid('ConsumerGroupDescribeResponse.groups.members.assignment.topic_partitions.topic_id', e4.topic_id)
                text = e4.topic_name.encode()
                out += _p_u(e4.topic_id)
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
                n = len(e4.partitions) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                out += pack(f'>{len(e4.partitions)}i', *e4.partitions)
                out.append(0)
            out.append(0)
            n = len(e2.target_assignment.topic_partitions) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e5 in e2.target_assignment.topic_partitions:
                if len(e5.topic_id) != 16:
                    raise not_uuid('ConsumerGroupDescribeResponse.groups.members.target_assignment.topic_partitions.topic_id', e5.topic_id)
                text = e5.topic_name.encode()
                out += _p_u(e5.topic_id)
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
                n = len(e5.partitions) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                out += pack(f'>{len(e5.partitions)}i', *e5.partitions)
                out.append(0)
            out.append(0)
            if version >= 1:
                out += _p_b(e2.member_type)
            out.append(0)
        out += _p_ix(e1.authorized_operations)
    out.append(0)
