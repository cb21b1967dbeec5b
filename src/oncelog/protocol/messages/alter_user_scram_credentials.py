"""AlterUserScramCredentials (key 51), versions 0-0. Generated from definitions/alter_user_scram_credentials.txt by oncelog.protocol.generate: do not edit."""

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

_p_bi = Layout(">bi").pack
_p_bx = Layout(">bx").pack
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_u_bB = Layout(">bB").unpack_from
_u_biB = Layout(">biB").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_iB = Layout(">iB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ScramCredentialDeletion(Struct):
    """Part of AlterUserScramCredentialsRequest."""

    name: str
    mechanism: int

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism


@dataclass(slots=True, init=False, repr=False, eq=False)
class ScramCredentialUpsertion(Struct):
    """Part of AlterUserScramCredentialsRequest."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterUserScramCredentialsRequest(Message):
    """AlterUserScramCredentialsRequest, versions 0-0."""

    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]

    def __init__(
        self,
        deletions: list[ScramCredentialDeletion] = ABSENT,
        upsertions: list[ScramCredentialUpsertion] = ABSENT,
    ) -> None:
        self.deletions = [] if deletions is ABSENT else deletions
        self.upsertions = [] if upsertions is ABSENT else upsertions

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AlterUserScramCredentialsRequest:
        if version == 0:
            return _read_alter_user_scram_credentials_request_0_0(data, version, at)
        raise MalformedMessage(unsupported('AlterUserScramCredentialsRequest', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_alter_user_scram_credentials_request_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AlterUserScramCredentialsRequest', version, why) from why
        raise UnwritableMessage(unsupported('AlterUserScramCredentialsRequest', '0-0', version))


def _read_alter_user_scram_credentials_request_0_0(data: BytesLike, version: int, pos: int) -> AlterUserScramCredentialsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterUserScramCredentialsRequest.__new__(AlterUserScramCredentialsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('AlterUserScramCredentialsRequest.deletions', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('AlterUserScramCredentialsRequest.deletions', version, pos, n, size)
        list1: list[ScramCredentialDeletion] = []
        m.deletions = list1
        count1 = n
        for _ in range(count1):
            e1 = ScramCredentialDeletion.__new__(ScramCredentialDeletion)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('AlterUserScramCredentialsRequest.deletions.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            e1.mechanism, n = _u_bB(buf, pos)
            pos += 2
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('AlterUserScramCredentialsRequest.upsertions', version, pos)
        n -= 1
        if n * 9 > size - pos:
            raise too_many('AlterUserScramCredentialsRequest.upsertions', version, pos, n, size)
        list2: list[ScramCredentialUpsertion] = []
        m.upsertions = list2
        count2 = n
        for _ in range(count2):
            e2 = ScramCredentialUpsertion.__new__(ScramCredentialUpsertion)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('AlterUserScramCredentialsRequest.upsertions.name', version, pos)
            end = pos + n - 1
            e2.name = buf[pos:end].decode()
            pos = end
            e2.mechanism, e2.iterations, n = _u_biB(buf, pos)
            pos += 6
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AlterUserScramCredentialsRequest.upsertions.salt', version, pos)
            end = pos + n - 1
            e2.salt = buf[pos:end]
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AlterUserScramCredentialsRequest.upsertions.salted_password', version, pos)
            end = pos + n - 1
            e2.salted_password = buf[pos:end]
            pos = end
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
        raise cut_short('AlterUserScramCredentialsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterUserScramCredentialsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterUserScramCredentialsRequest', version, pos, size)
    return m


def _write_alter_user_scram_credentials_request_0_0(m: AlterUserScramCredentialsRequest, out: bytearray, version: int) -> None:
    n = len(m.deletions) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.deletions:
        text = e1.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_bx(e1.mechanism)
    n = len(m.upsertions) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e2 in m.upsertions:
        text = e2.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_bi(e2.mechanism, e2.iterations)
        n = len(e2.salt) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += e2.salt
        n = len(e2.salted_password) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += e2.salted_password
        out.append(0)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterUserScramCredentialsResult(Struct):
    """Part of AlterUserScramCredentialsResponse."""

    user: str
    error_code: int
    error_message: str | None

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterUserScramCredentialsResponse(Message):
    """AlterUserScramCredentialsResponse, versions 0-0."""

    throttle_time_ms: int
    results: list[AlterUserScramCredentialsResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is ABSENT else results

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AlterUserScramCredentialsResponse:
        if version == 0:
            return _read_alter_user_scram_credentials_response_0_0(data, version, at)
        raise MalformedMessage(unsupported('AlterUserScramCredentialsResponse', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_alter_user_scram_credentials_response_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AlterUserScramCredentialsResponse', version, why) from why
        raise UnwritableMessage(unsupported('AlterUserScramCredentialsResponse', '0-0', version))


def _read_alter_user_scram_credentials_response_0_0(data: BytesLike, version: int, pos: int) -> AlterUserScramCredentialsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterUserScramCredentialsResponse.__new__(AlterUserScramCredentialsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('AlterUserScramCredentialsResponse.results', version, pos)
        n -= 1
        if n * 5 > size - pos:
            raise too_many('AlterUserScramCredentialsResponse.results', version, pos, n, size)
        list1: list[AlterUserScramCredentialsResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = AlterUserScramCredentialsResult.__new__(AlterUserScramCredentialsResult)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('AlterUserScramCredentialsResponse.results.user', version, pos)
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
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('AlterUserScramCredentialsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterUserScramCredentialsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterUserScramCredentialsResponse', version, pos, size)
    return m


def _write_alter_user_scram_credentials_response_0_0(m: AlterUserScramCredentialsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
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
        out.append(0)
    out.append(0)
