"""AlterReplicaLogDirs (key 34), versions 1-2. Generated from definitions/alter_replica_log_dirs.txt by oncelog.protocol.generate: do not edit."""

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
_p_ihx = Layout(">ihx").pack
_p_ii = Layout(">ii").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ih = Layout(">ih").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_ii = Layout(">ii").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterReplicaLogDirTopic(Struct):
    """Part of AlterReplicaLogDirsRequest."""

    name: str
    partitions: list[int]

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterReplicaLogDir(Struct):
    """Part of AlterReplicaLogDirsRequest."""

    path: str
    topics: list[AlterReplicaLogDirTopic]

    def __init__(
        self,
        path: str = "",
        topics: list[AlterReplicaLogDirTopic] = ABSENT,
    ) -> None:
        self.path = path
        self.topics = [] if topics is ABSENT else topics


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterReplicaLogDirsRequest(Message):
    """AlterReplicaLogDirsRequest, versions 1-2."""

    dirs: list[AlterReplicaLogDir]

    def __init__(
        self,
        dirs: list[AlterReplicaLogDir] = ABSENT,
    ) -> None:
        self.dirs = [] if dirs is ABSENT else dirs

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AlterReplicaLogDirsRequest:
        if version == 2:
            return _read_alter_replica_log_dirs_request_2_2(data, version, at)
        if version == 1:
            return _read_alter_replica_log_dirs_request_1_1(data, version, at)
        raise MalformedMessage(unsupported('AlterReplicaLogDirsRequest', '1-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_alter_replica_log_dirs_request_2_2(self, out, version)
            if version == 1:
                return _write_alter_replica_log_dirs_request_1_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AlterReplicaLogDirsRequest', version, why) from why
        raise UnwritableMessage(unsupported('AlterReplicaLogDirsRequest', '1-2', version))


def _read_alter_replica_log_dirs_request_2_2(data: BytesLike, version: int, pos: int) -> AlterReplicaLogDirsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterReplicaLogDirsRequest.__new__(AlterReplicaLogDirsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('AlterReplicaLogDirsRequest.dirs', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('AlterReplicaLogDirsRequest.dirs', version, pos, n, size)
        list1: list[AlterReplicaLogDir] = []
        m.dirs = list1
        count1 = n
        for _ in range(count1):
            e1 = AlterReplicaLogDir.__new__(AlterReplicaLogDir)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('AlterReplicaLogDirsRequest.dirs.path', version, pos)
            end = pos + n - 1
            e1.path = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AlterReplicaLogDirsRequest.dirs.topics', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('AlterReplicaLogDirsRequest.dirs.topics', version, pos, n, size)
            list2: list[AlterReplicaLogDirTopic] = []
            e1.topics = list2
            count2 = n
            for _ in range(count2):
                e2 = AlterReplicaLogDirTopic.__new__(AlterReplicaLogDirTopic)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('AlterReplicaLogDirsRequest.dirs.topics.name', version, pos)
                end = pos + n - 1
                e2.name = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('AlterReplicaLogDirsRequest.dirs.topics.partitions', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('AlterReplicaLogDirsRequest.dirs.topics.partitions', version, pos, n, size)
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
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('AlterReplicaLogDirsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterReplicaLogDirsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterReplicaLogDirsRequest', version, pos, size)
    return m


def _read_alter_replica_log_dirs_request_1_1(data: BytesLike, version: int, pos: int) -> AlterReplicaLogDirsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterReplicaLogDirsRequest.__new__(AlterReplicaLogDirsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('AlterReplicaLogDirsRequest.dirs', version, pos)
        if n * 6 > size - pos:
            raise too_many('AlterReplicaLogDirsRequest.dirs', version, pos, n, size)
        list1: list[AlterReplicaLogDir] = []
        m.dirs = list1
        count1 = n
        for _ in range(count1):
            e1 = AlterReplicaLogDir.__new__(AlterReplicaLogDir)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('AlterReplicaLogDirsRequest.dirs.path', version, pos)
            end = pos + n
            e1.path = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('AlterReplicaLogDirsRequest.dirs.topics', version, pos)
            if n * 6 > size - pos:
                raise too_many('AlterReplicaLogDirsRequest.dirs.topics', version, pos, n, size)
            list2: list[AlterReplicaLogDirTopic] = []
            e1.topics = list2
            count2 = n
            for _ in range(count2):
                e2 = AlterReplicaLogDirTopic.__new__(AlterReplicaLogDirTopic)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('AlterReplicaLogDirsRequest.dirs.topics.name', version, pos)
                end = pos + n
                e2.name = buf[pos:end].decode()
                pos = end
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('AlterReplicaLogDirsRequest.dirs.topics.partitions', version, pos)
                if n * 4 > size - pos:
                    raise too_many('AlterReplicaLogDirsRequest.dirs.topics.partitions', version, pos, n, size)
                e2.partitions = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('AlterReplicaLogDirsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterReplicaLogDirsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterReplicaLogDirsRequest', version, pos, size)
    return m


def _write_alter_replica_log_dirs_request_2_2(m: AlterReplicaLogDirsRequest, out: bytearray, version: int) -> None:
    n = len(m.dirs) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.dirs:
        text = e1.path.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
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
            out += pack(f'>{len(e2.partitions)}i', *e2.partitions)
            out.append(0)
        out.append(0)
    out.append(0)


def _write_alter_replica_log_dirs_request_1_1(m: AlterReplicaLogDirsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.dirs))
    for e1 in m.dirs:
        text = e1.path.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.topics))
        for e2 in e1.topics:
            text = e2.name.encode()
            out += _p_h(len(text))
            out += text
            out += _p_i(len(e2.partitions))
            out += pack(f'>{len(e2.partitions)}i', *e2.partitions)


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterReplicaLogDirPartitionResult(Struct):
    """Part of AlterReplicaLogDirsResponse."""

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
class AlterReplicaLogDirTopicResult(Struct):
    """Part of AlterReplicaLogDirsResponse."""

    topic_name: str
    partitions: list[AlterReplicaLogDirPartitionResult]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterReplicaLogDirPartitionResult] = ABSENT,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterReplicaLogDirsResponse(Message):
    """AlterReplicaLogDirsResponse, versions 1-2."""

    throttle_time_ms: int
    results: list[AlterReplicaLogDirTopicResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirTopicResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is ABSENT else results

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AlterReplicaLogDirsResponse:
        if version == 2:
            return _read_alter_replica_log_dirs_response_2_2(data, version, at)
        if version == 1:
            return _read_alter_replica_log_dirs_response_1_1(data, version, at)
        raise MalformedMessage(unsupported('AlterReplicaLogDirsResponse', '1-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_alter_replica_log_dirs_response_2_2(self, out, version)
            if version == 1:
                return _write_alter_replica_log_dirs_response_1_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AlterReplicaLogDirsResponse', version, why) from why
        raise UnwritableMessage(unsupported('AlterReplicaLogDirsResponse', '1-2', version))


def _read_alter_replica_log_dirs_response_2_2(data: BytesLike, version: int, pos: int) -> AlterReplicaLogDirsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterReplicaLogDirsResponse.__new__(AlterReplicaLogDirsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('AlterReplicaLogDirsResponse.results', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('AlterReplicaLogDirsResponse.results', version, pos, n, size)
        list1: list[AlterReplicaLogDirTopicResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = AlterReplicaLogDirTopicResult.__new__(AlterReplicaLogDirTopicResult)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('AlterReplicaLogDirsResponse.results.topic_name', version, pos)
            end = pos + n - 1
            e1.topic_name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AlterReplicaLogDirsResponse.results.partitions', version, pos)
            n -= 1
            if n * 7 > size - pos:
                raise too_many('AlterReplicaLogDirsResponse.results.partitions', version, pos, n, size)
            list2: list[AlterReplicaLogDirPartitionResult] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = AlterReplicaLogDirPartitionResult.__new__(AlterReplicaLogDirPartitionResult)
                e2.partition_index, e2.error_code, n = _u_ihB(buf, pos)
                pos += 7
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
        raise cut_short('AlterReplicaLogDirsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterReplicaLogDirsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterReplicaLogDirsResponse', version, pos, size)
    return m


def _read_alter_replica_log_dirs_response_1_1(data: BytesLike, version: int, pos: int) -> AlterReplicaLogDirsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterReplicaLogDirsResponse.__new__(AlterReplicaLogDirsResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('AlterReplicaLogDirsResponse.results', version, pos)
        if n * 6 > size - pos:
            raise too_many('AlterReplicaLogDirsResponse.results', version, pos, n, size)
        list1: list[AlterReplicaLogDirTopicResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = AlterReplicaLogDirTopicResult.__new__(AlterReplicaLogDirTopicResult)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('AlterReplicaLogDirsResponse.results.topic_name', version, pos)
            end = pos + n
            e1.topic_name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('AlterReplicaLogDirsResponse.results.partitions', version, pos)
            if n * 6 > size - pos:
                raise too_many('AlterReplicaLogDirsResponse.results.partitions', version, pos, n, size)
            list2: list[AlterReplicaLogDirPartitionResult] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = AlterReplicaLogDirPartitionResult.__new__(AlterReplicaLogDirPartitionResult)
                e2.partition_index, e2.error_code = _u_ih(buf, pos)
                pos += 6
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('AlterReplicaLogDirsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterReplicaLogDirsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterReplicaLogDirsResponse', version, pos, size)
    return m


def _write_alter_replica_log_dirs_response_2_2(m: AlterReplicaLogDirsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.results) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.results:
        text = e1.topic_name.encode()
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
            out += _p_ihx(e2.partition_index, e2.error_code)
        out.append(0)
    out.append(0)


def _write_alter_replica_log_dirs_response_1_1(m: AlterReplicaLogDirsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.results))
    for e1 in m.results:
        text = e1.topic_name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_ih(e2.partition_index, e2.error_code)
