"""Byte for byte what two other codecs write, and field by field what they mean by it.

kio only writes here: a malformed message makes its reader abort the process, so it never sees bytes of ours.
"""

import dataclasses
import io
import uuid
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_writer

from oncelog.protocol.definition import Field, Struct
from oncelog.protocol.generate import snake
from tests.properties.protocol_values import API_KINDS, KINDS, Kind, Sampler, is_tagged_struct

# Keys from 1000 on are our own: nobody else can read them.
THEIRS = [kind for kind in KINDS if (kind.definition.key or 0) < 1000]
THEIR_APIS = [kind for kind in API_KINDS if (kind.definition.key or 0) < 1000]


SAMPLES = 4
NO_UUID = bytes(16)
KIO_ERROR_CODES = sorted(int(code) for code in KioErrorCode)


# ---------------------------------------------------------------------------------------------------------------- kio


def kio_module(kind: Kind, version: int) -> Any:
    if kind.definition.key is None:
        return import_module(f"kio.schema.{snake(kind.name)}.v{version}.data")
    side = "request" if kind.name.endswith("Request") else "response"
    return import_module(f"kio.schema.{snake(kind.definition.name)}.v{version}.{side}")


def kio_class(module: Any, struct: Struct) -> Any:
    """Structs that request and response both define carry their side in the name only here."""
    bare = struct.name.removeprefix("Request").removeprefix("Response")
    return getattr(module, struct.name, None) or getattr(module, bare)


def kio_field(module: Any, owner: Struct, field: Field) -> Any:
    """kio drops the unit where it has a duration or a time."""
    known = kio_class(module, owner).__dataclass_fields__
    return known.get(field.name) or known[field.name.removesuffix("_ms")]


def kio_type(module: Any, owner: Struct, field: Field) -> str | None:
    """kio's own word for the type of a field: it has durations, times and error codes where we have numbers."""
    return kio_field(module, owner, field).metadata.get("kafka_type")


class KioSampler(Sampler):
    """Draws numbers that kio's richer types can hold."""

    def __init__(self, kind: Kind, version: int, seed: int) -> None:
        super().__init__(kind, version, seed)
        self.module = kio_module(kind, version)

    def integer(self, owner: Struct, field: Field) -> int:
        match kio_type(self.module, owner, field):
            case "error_code":
                return self.random.choice(KIO_ERROR_CODES)
            case "timedelta_i64":
                return self.random.randint(-(10**9), 10**9)
            case "datetime_i64":
                return self.random.randint(0, 10**12)
            case _:
                return super().integer(owner, field)


def to_kio(sampler: KioSampler, struct: Struct, value: Any) -> Any:
    module, version = sampler.module, sampler.version
    given: dict[str, Any] = {}
    for field in struct.fields:
        if version not in field.versions:
            continue
        name = kio_field(module, struct, field).name
        ours = getattr(value, field.name)
        if ours is None and is_tagged_struct(field):
            continue
        if ours is None:
            given[name] = None
        elif field.array:
            given[name] = tuple(one_to_kio(sampler, struct, field, item) for item in ours)
        else:
            given[name] = one_to_kio(sampler, struct, field, ours)
    return kio_class(module, struct)(**given)


def one_to_kio(sampler: KioSampler, owner: Struct, field: Field, value: Any) -> Any:
    if field.struct is not None:
        return to_kio(sampler, field.struct, value)
    match kio_type(sampler.module, owner, field):
        case "uuid":
            return uuid.UUID(bytes=value)
        case "error_code":
            return KioErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=value)
        case "datetime_i64":
            return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=value)
        case _:
            return value


@pytest.mark.parametrize("kind", THEIRS, ids=lambda kind: kind.name)
def test_kio_writes_the_same_bytes(kind: Kind) -> None:
    for version in kind.versions:
        for seed in range(SAMPLES):
            sampler = KioSampler(kind, version, seed)
            message = sampler.message()
            theirs = to_kio(sampler, kind.message.root, message)
            buffer = io.BytesIO()
            entity_writer(kio_class(sampler.module, kind.message.root))(buffer, theirs)
            assert message.encode(version).hex() == buffer.getvalue().hex(), (version, message)
            assert kind.message_class.decode(buffer.getvalue(), version) == message


@pytest.mark.parametrize("kind", THEIRS, ids=lambda kind: kind.name)
def test_kio_has_the_same_fields_and_defaults(kind: Kind) -> None:
    for version in kind.versions:
        sampler = KioSampler(kind, version, 0)
        for struct in kind.message.structs():
            if not hasattr(sampler.module, struct.name) and not any(
                version in field.versions for field in struct.fields
            ):
                continue  # a struct of other versions
            fields = [field for field in struct.fields if version in field.versions]
            theirs = {each.name: each for each in dataclasses.fields(kio_class(sampler.module, struct))}
            names = {field.name: kio_field(sampler.module, struct, field).name for field in fields}
            assert set(names.values()) == set(theirs), (version, struct.name)
            fresh = kind.class_of(struct)()
            for field in fields:
                default = theirs[names[field.name]].default
                if default is dataclasses.MISSING or is_tagged_struct(field):
                    continue
                ours: Any = getattr(fresh, field.name)
                if field.array:
                    assert ours is default is None or (ours, default) == ([], ()), (
                        version,
                        struct.name,
                        field.name,
                    )
                elif default is None:  # also kio's word for "no id" and "no time"
                    assert ours in (None, NO_UUID, -1), (version, struct.name, field.name)
                else:
                    assert one_to_kio(sampler, struct, field, ours) == default, (
                        version,
                        struct.name,
                        field.name,
                    )


# ------------------------------------------------------------------------------------------------------- kafka-python


def kafka_python_classes() -> dict[str, Any]:
    for module in ("admin", "consumer", "metadata", "producer", "sasl"):
        import_module(f"kafka.protocol.{module}")
    found: dict[str, Any] = {}
    waiting: list[Any] = list(import_module("kafka.protocol.api_message").ApiMessage.__subclasses__())
    while waiting:
        each = waiting.pop()
        waiting += each.__subclasses__()
        found.setdefault(each.__name__, each)
    return found


KAFKA_PYTHON = kafka_python_classes()
KAFKA_PYTHON_LACKS = {
    f"ConsumerGroup{what}{side}" for what in ("Describe", "Heartbeat") for side in ("Request", "Response")
}


def same(ours: Any, theirs: Any, fields: list[Field], version: int) -> None:
    """Our message and kafka-python's say the same in every field of the version."""
    for field in fields:
        if version not in field.versions or field.name.endswith("authorized_operations"):
            continue  # kafka-python has sets of bits there, under other names; the bytes are compared all the same
        left, right = getattr(ours, field.name), getattr(theirs, field.name)
        if left is None or right is None:
            assert left is None, (field.name, left, right)
            assert right is None, (field.name, left, right)
            continue
        lefts, rights = (left, right) if field.array else ([left], [right])
        assert len(lefts) == len(rights), field.name
        for one, other in zip(lefts, rights, strict=True):
            if field.struct is not None:
                same(one, other, field.struct.fields, version)
            else:
                assert one == (other.bytes if field.type == "uuid" else other), field.name


@pytest.mark.parametrize("kind", THEIR_APIS, ids=lambda kind: kind.name)
def test_kafka_python_reads_and_writes_the_same_bytes(kind: Kind) -> None:
    if kind.name in KAFKA_PYTHON_LACKS:
        assert kind.name not in KAFKA_PYTHON
        return
    theirs = KAFKA_PYTHON[kind.name]
    for version in kind.versions:
        for seed in range(SAMPLES):
            message = Sampler(kind, version, seed).message()
            if kind.name == "ApiVersionsResponse":
                message.error_code = 0  # kafka-python reads any other as v0
            sent = message.encode(version)
            read = theirs.decode(sent, version=version)
            same(message, read, kind.message.root.fields, version)
            read._header = None  # its encode wants the attribute, its decode does not set it
            assert read.encode(version=version).hex() == sent.hex(), (version, message)
