"""Messages made from their definitions: for Hypothesis, and at random for the comparisons with other codecs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from random import Random
from typing import Any, Final

from hypothesis import strategies as st

from oncelog.protocol.apis import APIS
from oncelog.protocol.definition import Definition, Field, Struct, parse
from oncelog.protocol.definition import Message as MessageDefinition
from oncelog.protocol.generate import snake
from oncelog.protocol.primitives import Message

INTEGERS: Final = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One message class and what its definition says."""

    definition: Definition
    message: MessageDefinition

    @property
    def name(self) -> str:
        return self.message.root.name

    @property
    def versions(self) -> list[int]:
        return list(self.message.versions)

    @property
    def message_class(self) -> type[Message]:
        return self.class_of(self.message.root)

    def class_of(self, struct: Struct) -> Any:
        module = import_module(f"oncelog.protocol.messages.{snake(self.definition.name)}")
        return getattr(module, struct.name)


def _kinds() -> list[Kind]:
    folder = files("oncelog.protocol").joinpath("definitions")
    texts = sorted((each.name, each.read_text(encoding="utf-8")) for each in folder.iterdir())
    definitions = [parse(text, name) for name, text in texts if name.endswith(".txt")]
    return [Kind(each, message) for each in definitions for message in each.messages]


KINDS: Final = _kinds()
API_KINDS: Final = [kind for kind in KINDS if kind.definition.key is not None]
assert len(API_KINDS) == 2 * len(APIS)


def nullable(field: Field, version: int) -> bool:
    return field.nullable is not None and version in field.nullable


def is_tagged_struct(field: Field) -> bool:
    return field.tag is not None and field.struct is not None and not field.array


# --------------------------------------------------------------------------------------------------------- Hypothesis

TEXTS: Final = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3), st.just("x" * 126), st.just("x" * 127)
)
PRIMITIVE_STRATEGIES: Final[dict[str, st.SearchStrategy[Any]]] = {
    **{name: st.integers(low, high) for name, (low, high) in INTEGERS.items()},
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16),
    "string": TEXTS,
    "bytes": st.binary(max_size=3),
    "records": st.one_of(st.binary(max_size=3), st.binary(min_size=1030, max_size=1030)),
}


def _field_strategy(kind: Kind, field: Field, version: int) -> st.SearchStrategy[Any]:
    if field.struct is not None:
        one = _struct_strategy(kind, field.struct, version)
        if is_tagged_struct(field):  # a struct of defaults is not sent, so it comes back as None
            unsent = kind.class_of(field.struct)()
            return st.one_of(st.none(), one.filter(lambda value: value != unsent))
    else:
        one = PRIMITIVE_STRATEGIES[field.type]
    value = st.lists(one, max_size=2) if field.array else one
    return st.one_of(st.none(), value) if nullable(field, version) else value


def _struct_strategy(kind: Kind, struct: Struct, version: int) -> st.SearchStrategy[Any]:
    given = {
        field.name: _field_strategy(kind, field, version)
        for field in struct.fields
        if version in field.versions
    }
    return st.builds(kind.class_of(struct), **given)


@cache
def _message_strategy(name: str, version: int) -> st.SearchStrategy[Message]:
    kind = next(each for each in KINDS if each.name == name)
    return _struct_strategy(kind, kind.message.root, version)


def messages(kind: Kind, version: int) -> st.SearchStrategy[Message]:
    return _message_strategy(kind.name, version)


# ---------------------------------------------------------------------------------------------------------- at random


class Sampler:
    """Draws messages of every length that is written differently."""

    texts: Sequence[str] = ("", "a", "topic-1", "Grüße ☂", "x" * 127, "y" * 300)
    sizes: Sequence[int] = (0, 1, 20, 127, 128, 2000)

    def __init__(self, kind: Kind, version: int, seed: int) -> None:
        self.kind = kind
        self.version = version
        self.random = Random(f"{kind.name} {version} {seed}")

    def message(self) -> Any:
        return self.struct(self.kind.message.root)

    def struct(self, struct: Struct) -> Any:
        value = self.kind.class_of(struct)()
        for field in struct.fields:
            if self.version in field.versions:
                setattr(value, field.name, self.field(struct, field))
        return value

    def field(self, owner: Struct, field: Field) -> Any:
        rare = self.random.random() < 0.2
        if rare and (nullable(field, self.version) or is_tagged_struct(field)):
            return None
        if field.array:
            return [self.one(owner, field) for _ in range(self.random.randint(0, 2))]
        return self.one(owner, field)

    def one(self, owner: Struct, field: Field) -> Any:
        if field.struct is not None:
            return self.struct(field.struct)
        if field.type in INTEGERS:
            return self.integer(owner, field)
        if field.type == "bool":
            return self.random.random() < 0.5
        if field.type == "float64":
            return self.random.uniform(-1e9, 1e9)
        if field.type == "uuid":
            return self.random.randbytes(16)
        if field.type == "string":
            return self.random.choice(self.texts)
        return self.random.randbytes(self.random.choice(self.sizes))

    def integer(self, owner: Struct, field: Field) -> int:
        del owner  # a subclass asks what another codec can hold there
        low, high = INTEGERS[field.type]
        return self.random.choice([low, high, 0, 1, self.random.randint(low, high)])


class SmallSampler(Sampler):
    """Draws messages that can be cut at every single byte in reasonable time."""

    texts = ("", "a", "Grüße ☂")
    sizes = (0, 1, 20)
