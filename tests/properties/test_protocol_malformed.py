"""Whatever bytes arrive: a message, or MalformedMessage, and never more memory than the bytes can pay for (T1-T4)."""

import tracemalloc
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.errors import MalformedMessage
from oncelog.protocol.definition import Field, Struct
from oncelog.protocol.frame import Frames
from oncelog.protocol.header import read_request_header, read_response_header
from oncelog.protocol.primitives import varint
from tests.properties.protocol_values import KINDS, Kind, Sampler, SmallSampler, is_tagged_struct, nullable


def read(kind: Kind, data: bytes, version: int) -> bool:
    """Whether the bytes are a message; anything but a message or MalformedMessage fails the test."""
    try:
        kind.message_class.decode(data, version)
    except MalformedMessage:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_t2_a_message_cut_at_any_byte_is_refused(kind: Kind) -> None:
    for version in kind.versions:
        whole = SmallSampler(kind, version, seed=1).message().encode(version)
        for size in range(len(whole)):
            assert not read(kind, whole[:size], version), (version, size, whole.hex())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_t2_changed_bytes_are_read_or_refused(kind: Kind) -> None:
    random = Random(kind.name)
    for version in kind.versions:
        whole = Sampler(kind, version, seed=2).message().encode(version)
        for _ in range(40):
            changed = bytearray(whole)
            for _ in range(random.randint(1, 3)):
                if changed:
                    at = random.randrange(len(changed))
                    changed[at] = random.choice([0, 1, 127, 128, 255, random.randrange(256)])
            read(kind, bytes(changed), version)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=10, deadline=None)
@given(data=st.binary(max_size=200))
def test_t2_any_bytes_are_read_or_refused(kind: Kind, data: bytes) -> None:
    for version in kind.versions:
        read(kind, data, version)


# -------------------------------------------------------------------------------------------------------------- bombs


class Bomb(Exception):
    """The bytes up to and including the length of one field, blown up."""

    def __init__(self, data: bytes) -> None:
        self.data = data


class Bomber:
    """Writes a message by hand up to one field, and there a length that the bytes cannot pay for.

    It is a second, slow writer that follows the definition directly, so that every length in every version is reached.
    """

    def __init__(self, kind: Kind, version: int, target: tuple[str, ...], claim: int | None) -> None:
        self.version = version
        self.flexible = kind.message.flexible(version)
        self.target = target
        self.claim = claim
        self.out = bytearray()

    def struct(self, struct: Struct, path: tuple[str, ...]) -> None:
        tags: list[Field] = []
        for field in struct.fields:
            if self.version not in field.versions:
                continue
            if field.tag is not None:
                tags.append(field)
            else:
                self.field(field, (*path, field.name))
        if self.flexible:
            aimed = [field for field in tags if self.target[: len(path) + 1] == (*path, field.name)]
            self.out += varint(len(aimed))
            for field in aimed:
                self.out += varint(field.tag or 0) + varint(4096)  # as much as there is, at least
                self.field(field, (*path, field.name))

    def length(self, claim: int | None, short: bool) -> bytes:
        if self.flexible:
            return varint(0 if claim is None else claim + 1)
        return (-1 if claim is None else claim).to_bytes(2 if short else 4, "big", signed=True)

    def field(self, field: Field, path: tuple[str, ...]) -> None:
        string = field.type == "string" and not field.array
        sized = field.array or field.type in ("string", "bytes", "records")
        if path == self.target and sized:
            claim = self.claim
            if claim is not None and string and not self.flexible:
                claim = min(claim, 2**15 - 1)
            raise Bomb(bytes(self.out) + self.length(claim, string) + bytes(4096))
        if path == self.target:
            assert field.struct is not None
            raise Bomb(bytes(self.out) + b"\xff")
        on_the_way = self.target[: len(path)] == path
        if field.array:
            self.out += self.length(1 if on_the_way else 0, False)
            if on_the_way:
                assert field.struct is not None
                self.struct(field.struct, path)
        elif field.struct is not None:
            if nullable(field, self.version) and not is_tagged_struct(field):
                self.out += b"\x01"
            self.struct(field.struct, path)
        elif sized:
            self.out += self.length(0, string)
        else:
            sizes = {
                "bool": 1,
                "int8": 1,
                "int16": 2,
                "uint16": 2,
                "int32": 4,
                "int64": 8,
                "float64": 8,
                "uuid": 16,
            }
            self.out += bytes(sizes[field.type])


def sized_fields(
    struct: Struct, version: int, path: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], Field]]:
    found: list[tuple[tuple[str, ...], Field]] = []
    for field in struct.fields:
        if version not in field.versions:
            continue
        here = (*path, field.name)
        if field.array or field.type in ("string", "bytes", "records"):
            found.append((here, field))
        if field.struct is not None:
            found += sized_fields(field.struct, version, here)
    return found


CLAIMS: Final = (2**31 - 2, 2**24, 5000)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_t2_a_length_is_bounded_by_the_bytes_left(kind: Kind) -> None:
    """Every length and count of every version, larger than what follows it."""
    reached = 0
    decode = kind.message_class.decode  # imported here: an import is not what is measured
    tracemalloc.start()
    for version in kind.versions:
        for path, field in sized_fields(kind.message.root, version):
            # A count is refused before its first element is read, a size by the end of the bytes at the latest.
            reason = "elements claimed" if field.array else "more are wanted|claims|should end at"
            for claim in CLAIMS:
                with pytest.raises(Bomb) as bomb:
                    Bomber(kind, version, path, claim).struct(kind.message.root, ())
                data: bytes = bomb.value.data
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                with pytest.raises(MalformedMessage, match=reason):
                    decode(data, version)
                assert tracemalloc.get_traced_memory()[1] - before < 200_000, (version, path, claim)
                reached += 1
    tracemalloc.stop()
    assert reached == len(CLAIMS) * sum(len(sized_fields(kind.message.root, each)) for each in kind.versions)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_t2_null_is_refused_where_the_version_has_none(kind: Kind) -> None:
    for version in kind.versions:
        for path, field in sized_fields(kind.message.root, version):
            if nullable(field, version):
                continue
            with pytest.raises(Bomb) as bomb:
                Bomber(kind, version, path, None).struct(kind.message.root, ())
            with pytest.raises(MalformedMessage, match="null"):
                kind.message_class.decode(bomb.value.data, version)


# ------------------------------------------------------------------------------------------------- headers and frames


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=60))
def test_t4_any_header_is_read_or_refused(data: bytes) -> None:
    for key in range(4):
        for attempt in (
            lambda: read_request_header(data),
            lambda key=key: read_response_header(data, key, 12),
        ):
            try:
                found: Any = attempt()
            except MalformedMessage:
                continue
            assert found


def test_t1_a_claimed_frame_costs_only_what_arrived() -> None:
    cutter = Frames(limit_bytes=100 * 2**20)
    tracemalloc.start()
    cutter.feed((100 * 2**20).to_bytes(4, "big") + b"x")
    assert tracemalloc.get_traced_memory()[1] < 10_000
    tracemalloc.stop()
