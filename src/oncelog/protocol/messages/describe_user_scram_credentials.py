"""DescribeUserScramCredentials (key 50), versions 0-0. Generated from definitions/describe_user_scram_credentials.txt by oncelog.protocol.generate: do not edit."""

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

_p_bix = Layout(">bix").pack
_p_h = Layout(">h").pack
_p_ih = Layout(">ih").pack
_u_biB = Layout(">biB").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_ihB = Layout(">ihB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class UserName(Struct):
    """Part of DescribeUserScramCredentialsRequest."""

    name: str

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeUserScramCredentialsRequest(Message):
    """DescribeUserScramCredentialsRequest, versions 0-0."""

    users: list[UserName] | None

    def __init__(
        self,
        users: list[UserName] | None = ABSENT,
    ) -> None:
        self.users = [] if users is ABSENT else users

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeUserScramCredentialsRequest:
        if version == 0:
            return _read_describe_user_scram_credentials_request_0_0(data, version, at)
        raise MalformedMessage(unsupported('DescribeUserScramCredentialsRequest', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_describe_user_scram_credentials_request_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeUserScramCredentialsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeUserScramCredentialsRequest', '0-0', version))


def _read_describe_user_scram_credentials_request_0_0(data: BytesLike, version: int, pos: int) -> DescribeUserScramCredentialsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeUserScramCredentialsRequest.__new__(DescribeUserScramCredentialsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            m.users = None
        else:
            n -= 1
            if n * 2 > size - pos:
                raise too_many('DescribeUserScramCredentialsRequest.users', version, pos, n, size)
            list1: list[UserName] = []
            m.users = list1
            count1 = n
            for _ in range(count1):
                e1 = UserName.__new__(UserName)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeUserScramCredentialsRequest.users.name', version, pos)
                end = pos + n - 1
                e1.name = buf[pos:end].decode()
                pos = end
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
        raise cut_short('DescribeUserScramCredentialsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeUserScramCredentialsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeUserScramCredentialsRequest', version, pos, size)
    return m


def _write_describe_user_scram_credentials_request_0_0(m: DescribeUserScramCredentialsRequest, out: bytearray, version: int) -> None:
    if m.users is None:
        out.append(0)
    else:
        n = len(m.users) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.users:
            text = e1.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            out.append(0)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class CredentialInfo(Struct):
    """Part of DescribeUserScramCredentialsResponse."""

    mechanism: int
    iterations: int

    def __init__(
        self,
        mechanism: int = 0,
        iterations: int = 0,
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeUserScramCredentialsResult(Struct):
    """Part of DescribeUserScramCredentialsResponse."""

    user: str
    error_code: int
    error_message: str | None
    credential_infos: list[CredentialInfo]

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[CredentialInfo] = ABSENT,
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos = [] if credential_infos is ABSENT else credential_infos


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeUserScramCredentialsResponse(Message):
    """DescribeUserScramCredentialsResponse, versions 0-0."""

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[DescribeUserScramCredentialsResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is ABSENT else results

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeUserScramCredentialsResponse:
        if version == 0:
            return _read_describe_user_scram_credentials_response_0_0(data, version, at)
        raise MalformedMessage(unsupported('DescribeUserScramCredentialsResponse', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_describe_user_scram_credentials_response_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeUserScramCredentialsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeUserScramCredentialsResponse', '0-0', version))


def _read_describe_user_scram_credentials_response_0_0(data: BytesLike, version: int, pos: int) -> DescribeUserScramCredentialsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeUserScramCredentialsResponse.__new__(DescribeUserScramCredentialsResponse)
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
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeUserScramCredentialsResponse.results', version, pos)
        n -= 1
        if n * 6 > size - pos:
            raise too_many('DescribeUserScramCredentialsResponse.results', version, pos, n, size)
        list1: list[DescribeUserScramCredentialsResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeUserScramCredentialsResult.__new__(DescribeUserScramCredentialsResult)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeUserScramCredentialsResponse.results.user', version, pos)
            end = pos + n - 1
            e1.user = buf[pos:end].decode()
            pos = end
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
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeUserScramCredentialsResponse.results.credential_infos', version, pos)
            n -= 1
            if n * 6 > size - pos:
                raise too_many('DescribeUserScramCredentialsResponse.results.credential_infos', version, pos, n, size)
            list2: list[CredentialInfo] = []
            e1.credential_infos = list2
            count2 = n
            for _ in range(count2):
                e2 = CredentialInfo.__new__(CredentialInfo)
                e2.mechanism, e2.iterations, n = _u_biB(buf, pos)
                pos += 6
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
        raise cut_short('DescribeUserScramCredentialsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeUserScramCredentialsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeUserScramCredentialsResponse', version, pos, size)
    return m


def _write_describe_user_scram_credentials_response_0_0(m: DescribeUserScramCredentialsResponse, out: bytearray, version: int) -> None:
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
    n = len(m.results) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.results:
        text = e1.user.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
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
        n = len(e1.credential_infos) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.credential_infos:
            out += _p_bix(e2.mechanism, e2.iterations)
        out.append(0)
    out.append(0)
