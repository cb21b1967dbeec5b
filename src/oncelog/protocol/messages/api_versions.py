"""ApiVersions (key 18), versions 0-4. Generated from definitions/api_versions.txt by oncelog.protocol.generate: do not edit."""

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
    count_tags,
    cut_short,
    more_string_length,
    more_varint,
    not_text,
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
_p_hhh = Layout(">hhh").pack
_p_hhhx = Layout(">hhhx").pack
_p_hhx = Layout(">hhx").pack
_p_hi = Layout(">hi").pack
_p_i = Layout(">i").pack
_p_o = Layout(">?").pack
_p_q = Layout(">q").pack
_u_hB = Layout(">hB").unpack_from
_u_hhB = Layout(">hhB").unpack_from
_u_hhh = Layout(">hhh").unpack_from
_u_hhhB = Layout(">hhhB").unpack_from
_u_hi = Layout(">hi").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_o = Layout(">?").unpack_from
_u_q = Layout(">q").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ApiVersionsRequest(Message):
    """ApiVersionsRequest, versions 0-4."""

    client_software_name: str
    client_software_version: str

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ApiVersionsRequest:
        if 3 <= version <= 4:
            return _read_api_versions_request_3_4(data, version, at)
        if 0 <= version <= 2:
            return _read_api_versions_request_0_2(data, version, at)
        raise MalformedMessage(unsupported('ApiVersionsRequest', '0-4', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 4:
                return _write_api_versions_request_3_4(self, out, version)
            if 0 <= version <= 2:
                return _write_api_versions_request_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ApiVersionsRequest', version, why) from why
        raise UnwritableMessage(unsupported('ApiVersionsRequest', '0-4', version))


def _read_api_versions_request_3_4(data: BytesLike, version: int, pos: int) -> ApiVersionsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ApiVersionsRequest.__new__(ApiVersionsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('ApiVersionsRequest.client_software_name', version, pos)
        end = pos + n - 1
        m.client_software_name = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('ApiVersionsRequest.client_software_version', version, pos)
        end = pos + n - 1
        m.client_software_version = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('ApiVersionsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ApiVersionsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ApiVersionsRequest', version, pos, size)
    return m


def _read_api_versions_request_0_2(data: BytesLike, version: int, pos: int) -> ApiVersionsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ApiVersionsRequest.__new__(ApiVersionsRequest)
        m.client_software_name = ""
        m.client_software_version = ""
    except (IndexError, LayoutError):
        raise cut_short('ApiVersionsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ApiVersionsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ApiVersionsRequest', version, pos, size)
    return m


def _write_api_versions_request_3_4(m: ApiVersionsRequest, out: bytearray, version: int) -> None:
    text = m.client_software_name.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    text = m.client_software_version.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    out.append(0)


def _write_api_versions_request_0_2(m: ApiVersionsRequest, out: bytearray, version: int) -> None:
    return


@dataclass(slots=True, init=False, repr=False, eq=False)
class ApiVersion(Struct):
    """Part of ApiVersionsResponse."""

    api_key: int
    min_version: int
    max_version: int

    def __init__(
        self,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version


@dataclass(slots=True, init=False, repr=False, eq=False)
class SupportedFeatureKey(Struct):
    """Part of ApiVersionsResponse."""

    name: str
    min_version: int
    max_version: int

    def __init__(
        self,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version


@dataclass(slots=True, init=False, repr=False, eq=False)
class FinalizedFeatureKey(Struct):
    """Part of ApiVersionsResponse."""

    name: str
    max_version_level: int
    min_version_level: int

    def __init__(
        self,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level


@dataclass(slots=True, init=False, repr=False, eq=False)
class ApiVersionsResponse(Message):
    """ApiVersionsResponse, versions 0-4."""

    error_code: int
    api_keys: list[ApiVersion]
    throttle_time_ms: int
    supported_features: list[SupportedFeatureKey]
    finalized_features_epoch: int
    finalized_features: list[FinalizedFeatureKey]
    zk_migration_ready: bool

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersion] = ABSENT,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = ABSENT,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = ABSENT,
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is ABSENT else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is ABSENT else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is ABSENT else finalized_features
        self.zk_migration_ready = zk_migration_ready

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ApiVersionsResponse:
        if 3 <= version <= 4:
            return _read_api_versions_response_3_4(data, version, at)
        if 0 <= version <= 2:
            return _read_api_versions_response_0_2(data, version, at)
        raise MalformedMessage(unsupported('ApiVersionsResponse', '0-4', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 4:
                return _write_api_versions_response_3_4(self, out, version)
            if 0 <= version <= 2:
                return _write_api_versions_response_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ApiVersionsResponse', version, why) from why
        raise UnwritableMessage(unsupported('ApiVersionsResponse', '0-4', version))


def _read_api_versions_response_3_4(data: BytesLike, version: int, pos: int) -> ApiVersionsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ApiVersionsResponse.__new__(ApiVersionsResponse)
        m.error_code, n = _u_hB(buf, pos)
        pos += 3
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ApiVersionsResponse.api_keys', version, pos)
        n -= 1
        if n * 7 > size - pos:
            raise too_many('ApiVersionsResponse.api_keys', version, pos, n, size)
        list1: list[ApiVersion] = []
        m.api_keys = list1
        count1 = n
        for _ in range(count1):
            e1 = ApiVersion.__new__(ApiVersion)
            e1.api_key, e1.min_version, e1.max_version, n = _u_hhhB(buf, pos)
            pos += 7
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.supported_features = []
        m.finalized_features_epoch = -1
        m.finalized_features = []
        m.zk_migration_ready = False
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n:
            count2, pos = count_tags(buf, pos, size, n)
            for _ in range(count2):
                tag1, pos, stop1 = read_tag(buf, pos, size)
                if tag1 == 0:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('ApiVersionsResponse.supported_features', version, pos)
                    n -= 1
                    if n * 6 > size - pos:
                        raise too_many('ApiVersionsResponse.supported_features', version, pos, n, size)
                    list2: list[SupportedFeatureKey] = []
                    m.supported_features = list2
                    count3 = n
                    for _ in range(count3):
                        e2 = SupportedFeatureKey.__new__(SupportedFeatureKey)
                        n = buf[pos]
                        pos += 1
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            raise null_found('ApiVersionsResponse.supported_features.name', version, pos)
                        end = pos + n - 1
                        e2.name = buf[pos:end].decode()
                        pos = end
                        e2.min_version, e2.max_version, n = _u_hhB(buf, pos)
                        pos += 5
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list2.append(e2)
                elif tag1 == 1:
                    m.finalized_features_epoch, = _u_q(buf, pos)
                    pos += 8
                elif tag1 == 2:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('ApiVersionsResponse.finalized_features', version, pos)
                    n -= 1
                    if n * 6 > size - pos:
                        raise too_many('ApiVersionsResponse.finalized_features', version, pos, n, size)
                    list3: list[FinalizedFeatureKey] = []
                    m.finalized_features = list3
                    count4 = n
                    for _ in range(count4):
                        e3 = FinalizedFeatureKey.__new__(FinalizedFeatureKey)
                        n = buf[pos]
                        pos += 1
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            raise null_found('ApiVersionsResponse.finalized_features.name', version, pos)
                        end = pos + n - 1
                        e3.name = buf[pos:end].decode()
                        pos = end
                        e3.max_version_level, e3.min_version_level, n = _u_hhB(buf, pos)
                        pos += 5
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list3.append(e3)
                elif tag1 == 3:
                    m.zk_migration_ready, = _u_o(buf, pos)
                    pos += 1
                else:
                    pos = stop1
                if pos != stop1:
                    raise wrong_tag_size('ApiVersionsResponse', version, pos, stop1)
    except (IndexError, LayoutError):
        raise cut_short('ApiVersionsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ApiVersionsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ApiVersionsResponse', version, pos, size)
    return m


def _read_api_versions_response_0_2(data: BytesLike, version: int, pos: int) -> ApiVersionsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ApiVersionsResponse.__new__(ApiVersionsResponse)
        m.error_code, n = _u_hi(buf, pos)
        pos += 6
        if n < 0:
            raise null_found('ApiVersionsResponse.api_keys', version, pos)
        if n * 6 > size - pos:
            raise too_many('ApiVersionsResponse.api_keys', version, pos, n, size)
        list1: list[ApiVersion] = []
        m.api_keys = list1
        count1 = n
        for _ in range(count1):
            e1 = ApiVersion.__new__(ApiVersion)
            e1.api_key, e1.min_version, e1.max_version = _u_hhh(buf, pos)
            pos += 6
            list1.append(e1)
        if version >= 1:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        m.supported_features = []
        m.finalized_features_epoch = -1
        m.finalized_features = []
        m.zk_migration_ready = False
    except (IndexError, LayoutError):
        raise cut_short('ApiVersionsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ApiVersionsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ApiVersionsResponse', version, pos, size)
    return m


def _write_api_versions_response_3_4(m: ApiVersionsResponse, out: bytearray, version: int) -> None:
    out += _p_h(m.error_code)
    n = len(m.api_keys) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.api_keys:
        out += _p_hhhx(e1.api_key, e1.min_version, e1.max_version)
    out += _p_i(m.throttle_time_ms)
    if not m.supported_features and m.finalized_features_epoch == -1 and not m.finalized_features and not m.zk_migration_ready:
        out.append(0)
    else:
        tags1: list[bytes] = []
        if not (not m.supported_features):
            sub1 = bytearray()
            n = len(m.supported_features) + 1
            if n < 128:
                sub1.append(n)
            else:
                sub1 += varint(n)
            for e2 in m.supported_features:
                text = e2.name.encode()
                n = len(text) + 1
                if n < 128:
                    sub1.append(n)
                else:
                    sub1 += string_length(n)
                sub1 += text
                sub1 += _p_hhx(e2.min_version, e2.max_version)
            tags1.append(tagged(0, sub1))
        if not (m.finalized_features_epoch == -1):
            sub1 = bytearray()
            sub1 += _p_q(m.finalized_features_epoch)
            tags1.append(tagged(1, sub1))
        if not (not m.finalized_features):
            sub1 = bytearray()
            n = len(m.finalized_features) + 1
            if n < 128:
                sub1.append(n)
            else:
                sub1 += varint(n)
            for e3 in m.finalized_features:
                text = e3.name.encode()
                n = len(text) + 1
                if n < 128:
                    sub1.append(n)
                else:
                    sub1 += string_length(n)
                sub1 += text
                sub1 += _p_hhx(e3.max_version_level, e3.min_version_level)
            tags1.append(tagged(2, sub1))
        if not (not m.zk_migration_ready):
            sub1 = bytearray()
            sub1 += _p_o(m.zk_migration_ready)
            tags1.append(tagged(3, sub1))
        out += varint(len(tags1))
        for tag in tags1:
            out += tag


def _write_api_versions_response_0_2(m: ApiVersionsResponse, out: bytearray, version: int) -> None:
    out += _p_hi(m.error_code, len(m.api_keys))
    for e1 in m.api_keys:
        out += _p_hhh(e1.api_key, e1.min_version, e1.max_version)
    if version >= 1:
        out += _p_i(m.throttle_time_ms)
