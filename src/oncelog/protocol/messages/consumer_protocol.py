"""ConsumerProtocol, versions 0-3. Generated from definitions/consumer_protocol.txt by oncelog.protocol.generate: do not edit."""

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
    not_text,
    null_found,
    too_many,
    unsupported,
    unwritable,
)

_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class TopicPartition(Struct):
    """Part of ConsumerProtocolSubscription."""

    topic: str
    partitions: list[int]

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = ABSENT,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class ConsumerProtocolSubscription(Message):
    """ConsumerProtocolSubscription, versions 0-3."""

    topics: list[str]
    user_data: bytes | None
    owned_partitions: list[TopicPartition]
    generation_id: int
    rack_id: str | None

    def __init__(
        self,
        topics: list[str] = ABSENT,
        user_data: bytes | None = None,
        owned_partitions: list[TopicPartition] = ABSENT,
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics = [] if topics is ABSENT else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is ABSENT else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ConsumerProtocolSubscription:
        if 0 <= version <= 3:
            return _read_consumer_protocol_subscription_0_3(data, version, at)
        raise MalformedMessage(unsupported('ConsumerProtocolSubscription', '0-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 3:
                return _write_consumer_protocol_subscription_0_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ConsumerProtocolSubscription', version, why) from why
        raise UnwritableMessage(unsupported('ConsumerProtocolSubscription', '0-3', version))


def _read_consumer_protocol_subscription_0_3(data: BytesLike, version: int, pos: int) -> ConsumerProtocolSubscription:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ConsumerProtocolSubscription.__new__(ConsumerProtocolSubscription)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('ConsumerProtocolSubscription.topics', version, pos)
        if n * 2 > size - pos:
            raise too_many('ConsumerProtocolSubscription.topics', version, pos, n, size)
        list1: list[str] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ConsumerProtocolSubscription.topics', version, pos)
            end = pos + n
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            m.user_data = None
        else:
            end = pos + n
            m.user_data = buf[pos:end]
            pos = end
        if version >= 1:
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('ConsumerProtocolSubscription.owned_partitions', version, pos)
            if n * 6 > size - pos:
                raise too_many('ConsumerProtocolSubscription.owned_partitions', version, pos, n, size)
            list2: list[TopicPartition] = []
            m.owned_partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = TopicPartition.__new__(TopicPartition)
                if version >= 1:
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        raise null_found('ConsumerProtocolSubscription.owned_partitions.topic', version, pos)
                    end = pos + n
                    e2.topic = buf[pos:end].decode()
                    pos = end
                else:
                    e2.topic = ""
                if version >= 1:
                    n, = _u_i(buf, pos)
                    pos += 4
                    if n < 0:
                        raise null_found('ConsumerProtocolSubscription.owned_partitions.partitions', version, pos)
                    if n * 4 > size - pos:
                        raise too_many('ConsumerProtocolSubscription.owned_partitions.partitions', version, pos, n, size)
                    e2.partitions = list(unpack_from(f'>{n}i', buf, pos))
                    pos += 4 * n
                else:
                    e2.partitions = []
                list2.append(e2)
        else:
            m.owned_partitions = []
        if version >= 2:
            m.generation_id, = _u_i(buf, pos)
            pos += 4
        else:
            m.generation_id = -1
        if version >= 3:
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                m.rack_id = None
            else:
                end = pos + n
                m.rack_id = buf[pos:end].decode()
                pos = end
        else:
            m.rack_id = None
    except (IndexError, LayoutError):
        raise cut_short('ConsumerProtocolSubscription', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ConsumerProtocolSubscription', version, pos, why) from None
    if pos > size:
        raise cut_short('ConsumerProtocolSubscription', version, pos, size)
    return m


def _write_consumer_protocol_subscription_0_3(m: ConsumerProtocolSubscription, out: bytearray, version: int) -> None:
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.encode()
        out += _p_h(len(text))
        out += text
    if m.user_data is None:
        out += b'\xff\xff\xff\xff'
    else:
        out += _p_i(len(m.user_data))
        out += m.user_data
    if version >= 1:
        out += _p_i(len(m.owned_partitions))
        for e2 in m.owned_partitions:
            if version >= 1:
                text = e2.topic.encode()
                out += _p_h(len(text))
                out += text
            if version >= 1:
                out += _p_i(len(e2.partitions))
                out += pack(f'>{len(e2.partitions)}i', *e2.partitions)
    if version >= 2:
        out += _p_i(m.generation_id)
    if version >= 3:
        if m.rack_id is None:
            out += b'\xff\xff'
        else:
            text = m.rack_id.encode()
            out += _p_h(len(text))
            out += text


@dataclass(slots=True, init=False, repr=False, eq=False)
class ConsumerProtocolAssignment(Message):
    """ConsumerProtocolAssignment, versions 0-3."""

    assigned_partitions: list[TopicPartition]
    user_data: bytes | None

    def __init__(
        self,
        assigned_partitions: list[TopicPartition] = ABSENT,
        user_data: bytes | None = None,
    ) -> None:
        self.assigned_partitions = [] if assigned_partitions is ABSENT else assigned_partitions
        self.user_data = user_data

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ConsumerProtocolAssignment:
        if 0 <= version <= 3:
            return _read_consumer_protocol_assignment_0_3(data, version, at)
        raise MalformedMessage(unsupported('ConsumerProtocolAssignment', '0-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 3:
                return _write_consumer_protocol_assignment_0_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ConsumerProtocolAssignment', version, why) from why
        raise UnwritableMessage(unsupported('ConsumerProtocolAssignment', '0-3', version))


def _read_consumer_protocol_assignment_0_3(data: BytesLike, version: int, pos: int) -> ConsumerProtocolAssignment:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ConsumerProtocolAssignment.__new__(ConsumerProtocolAssignment)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('ConsumerProtocolAssignment.assigned_partitions', version, pos)
        if n * 6 > size - pos:
            raise too_many('ConsumerProtocolAssignment.assigned_partitions', version, pos, n, size)
        list1: list[TopicPartition] = []
        m.assigned_partitions = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicPartition.__new__(TopicPartition)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ConsumerProtocolAssignment.assigned_partitions.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('ConsumerProtocolAssignment.assigned_partitions.partitions', version, pos)
            if n * 4 > size - pos:
                raise too_many('ConsumerProtocolAssignment.assigned_partitions.partitions', version, pos, n, size)
            e1.partitions = list(unpack_from(f'>{n}i', buf, pos))
            pos += 4 * n
            list1.append(e1)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            m.user_data = None
        else:
            end = pos + n
            m.user_data = buf[pos:end]
            pos = end
    except (IndexError, LayoutError):
        raise cut_short('ConsumerProtocolAssignment', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ConsumerProtocolAssignment', version, pos, why) from None
    if pos > size:
        raise cut_short('ConsumerProtocolAssignment', version, pos, size)
    return m


def _write_consumer_protocol_assignment_0_3(m: ConsumerProtocolAssignment, out: bytearray, version: int) -> None:
    out += _p_i(len(m.assigned_partitions))
    for e1 in m.assigned_partitions:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        out += pack(f'>{len(e1.partitions)}i', *e1.partitions)
    if m.user_data is None:
        out += b'\xff\xff\xff\xff'
    else:
        out += _p_i(len(m.user_data))
        out += m.user_data
