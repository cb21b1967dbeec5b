"""DeleteTopics (key 20), versions 1-6. Generated from definitions/delete_topics.txt by oncelog.protocol.generate: do not edit."""

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
_p_i = Layout(">i").pack
_p_ii = Layout(">ii").pack
_p_ix = Layout(">ix").pack
_p_u = Layout(">16s").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_u = Layout(">16s").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteTopicState(Struct):
    """Part of DeleteTopicsRequest."""

    name: str | None
    topic_id: bytes

    def __init__(
        self,
        name: str | None = None,
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteTopicsRequest(Message):
    """DeleteTopicsRequest, versions 1-6."""

    topics: list[DeleteTopicState]
    topic_names: list[str]
    timeout_ms: int

    def __init__(
        self,
        topics: list[DeleteTopicState] = ABSENT,
        topic_names: list[str] = ABSENT,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is ABSENT else topics
        self.topic_names = [] if topic_names is ABSENT else topic_names
        self.timeout_ms = timeout_ms

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DeleteTopicsRequest:
        if 4 <= version <= 6:
            return _read_delete_topics_request_4_6(data, version, at)
        if 1 <= version <= 3:
            return _read_delete_topics_request_1_3(data, version, at)
        raise MalformedMessage(unsupported('DeleteTopicsRequest', '1-6', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 4 <= version <= 6:
                return _write_delete_topics_request_4_6(self, out, version)
            if 1 <= version <= 3:
                return _write_delete_topics_request_1_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DeleteTopicsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DeleteTopicsRequest', '1-6', version))


def _read_delete_topics_request_4_6(data: BytesLike, version: int, pos: int) -> DeleteTopicsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteTopicsRequest.__new__(DeleteTopicsRequest)
        if version >= 6:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DeleteTopicsRequest.topics', version, pos)
            n -= 1
            if n * 18 > size - pos:
                raise too_many('DeleteTopicsRequest.topics', version, pos, n, size)
            list1: list[DeleteTopicState] = []
            m.topics = list1
            count1 = n
            for _ in range(count1):
                e1 = DeleteTopicState.__new__(DeleteTopicState)
                if version >= 6:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e1.name = None
                    else:
                        end = pos + n - 1
                        e1.name = buf[pos:end].decode()
                        pos = end
                else:
                    e1.name = None
                if version >= 6:
                    e1.topic_id, = _u_u(buf, pos)
                    pos += 16
                else:
                    e1.topic_id = ZERO_UUID
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list1.append(e1)
        else:
            m.topics = []
        if version <= 5:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DeleteTopicsRequest.topic_names', version, pos)
            n -= 1
            if n > size - pos:
                raise too_many('DeleteTopicsRequest.topic_names', version, pos, n, size)
            list2: list[str] = []
            m.topic_names = list2
            count2 = n
            for _ in range(count2):
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DeleteTopicsRequest.topic_names', version, pos)
                end = pos + n - 1
                e2 = buf[pos:end].decode()
                pos = end
                list2.append(e2)
        else:
            m.topic_names = []
        m.timeout_ms, n = _u_iB(buf, pos)
        pos += 5
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DeleteTopicsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteTopicsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteTopicsRequest', version, pos, size)
    return m


def _read_delete_topics_request_1_3(data: BytesLike, version: int, pos: int) -> DeleteTopicsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteTopicsRequest.__new__(DeleteTopicsRequest)
        m.topics = []
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('DeleteTopicsRequest.topic_names', version, pos)
        if n * 2 > size - pos:
            raise too_many('DeleteTopicsRequest.topic_names', version, pos, n, size)
        list1: list[str] = []
        m.topic_names = list1
        count1 = n
        for _ in range(count1):
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DeleteTopicsRequest.topic_names', version, pos)
            end = pos + n
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
        m.timeout_ms, = _u_i(buf, pos)
        pos += 4
    except (IndexError, LayoutError):
        raise cut_short('DeleteTopicsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteTopicsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteTopicsRequest', version, pos, size)
    return m


def _write_delete_topics_request_4_6(m: DeleteTopicsRequest, out: bytearray, version: int) -> None:
    if version >= 6:
        n = len(m.topics) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.topics:
            if version >= 6:
                if e1.name is None:
                    out.append(0)
                else:
                    text = e1.name.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
            if version >= 6:
                if len(e1.topic_id) != 16:
                    raise not_uuid('DeleteTopicsRequest.topics.topic_id', e1.topic_id)
                out += _p_u(e1.topic_id)
            out.append(0)
    if version <= 5:
        n = len(m.topic_names) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in m.topic_names:
            text = e2.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    out += _p_ix(m.timeout_ms)


def _write_delete_topics_request_1_3(m: DeleteTopicsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.topic_names))
    for e1 in m.topic_names:
        text = e1.encode()
        out += _p_h(len(text))
        out += text
    out += _p_i(m.timeout_ms)


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeletableTopicResult(Struct):
    """Part of DeleteTopicsResponse."""

    name: str | None
    topic_id: bytes
    error_code: int
    error_message: str | None

    def __init__(
        self,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteTopicsResponse(Message):
    """DeleteTopicsResponse, versions 1-6."""

    throttle_time_ms: int
    responses: list[DeletableTopicResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[DeletableTopicResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is ABSENT else responses

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DeleteTopicsResponse:
        if 4 <= version <= 6:
            return _read_delete_topics_response_4_6(data, version, at)
        if 1 <= version <= 3:
            return _read_delete_topics_response_1_3(data, version, at)
        raise MalformedMessage(unsupported('DeleteTopicsResponse', '1-6', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 4 <= version <= 6:
                return _write_delete_topics_response_4_6(self, out, version)
            if 1 <= version <= 3:
                return _write_delete_topics_response_1_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DeleteTopicsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DeleteTopicsResponse', '1-6', version))


def _read_delete_topics_response_4_6(data: BytesLike, version: int, pos: int) -> DeleteTopicsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteTopicsResponse.__new__(DeleteTopicsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DeleteTopicsResponse.responses', version, pos)
        n -= 1
        if n * 4 > size - pos:
            raise too_many('DeleteTopicsResponse.responses', version, pos, n, size)
        list1: list[DeletableTopicResult] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = DeletableTopicResult.__new__(DeletableTopicResult)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                if version < 6:
                    raise null_found('DeleteTopicsResponse.responses.name', version, pos)
                e1.name = None
            else:
                end = pos + n - 1
                e1.name = buf[pos:end].decode()
                pos = end
            if version >= 6:
                e1.topic_id, = _u_u(buf, pos)
                pos += 16
            else:
                e1.topic_id = ZERO_UUID
            e1.error_code, = _u_h(buf, pos)
            pos += 2
            if version >= 5:
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e1.error_message = None
                else:
                    end = pos + n - 1
                    e1.error_message = buf[pos:end].decode()
                    pos = end
            else:
                e1.error_message = None
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
        raise cut_short('DeleteTopicsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteTopicsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteTopicsResponse', version, pos, size)
    return m


def _read_delete_topics_response_1_3(data: BytesLike, version: int, pos: int) -> DeleteTopicsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteTopicsResponse.__new__(DeleteTopicsResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('DeleteTopicsResponse.responses', version, pos)
        if n * 4 > size - pos:
            raise too_many('DeleteTopicsResponse.responses', version, pos, n, size)
        list1: list[DeletableTopicResult] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = DeletableTopicResult.__new__(DeletableTopicResult)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DeleteTopicsResponse.responses.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            e1.error_message = None
            e1.error_code, = _u_h(buf, pos)
            pos += 2
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DeleteTopicsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteTopicsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteTopicsResponse', version, pos, size)
    return m


def _write_delete_topics_response_4_6(m: DeleteTopicsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.responses) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.responses:
        if e1.name is None:
            if version < 6:
                raise null_given('DeleteTopicsResponse.responses.name', version)
            out.append(0)
        else:
            text = e1.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        if version >= 6:
            if len(e1.topic_id) != 16:
                raise not_uuid('DeleteTopicsResponse.responses.topic_id', e1.topic_id)
            out += _p_u(e1.topic_id)
        out += _p_h(e1.error_code)
        if version >= 5:
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
        out.append(0)
    out.append(0)


def _write_delete_topics_response_1_3(m: DeleteTopicsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.responses))
    for e1 in m.responses:
        if e1.name is None:
            raise null_given('DeleteTopicsResponse.responses.name', version)
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_h(e1.error_code)
