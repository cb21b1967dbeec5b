"""Writes the Python that reads and writes one message: the inner half of the generator.

The code is straight-line: structs and loops are unrolled into one function per group of versions, neighbouring fields
of fixed size are read and written by one `struct` call, and when reading that call also takes the first byte of the
length (or of the number of tagged fields) that follows them. A reader checks every count against the bytes left before
it makes a list, and looks once, at the end, whether it ran past the last byte: slices cannot fail, all else raises.
"""

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from typing import Final

from oncelog.protocol.definition import PRIMITIVES, Field, Message, Struct, Versions

SIZES: Final = {"?": 1, "b": 1, "B": 1, "x": 1, "h": 2, "H": 2, "i": 4, "q": 8, "d": 8, "16s": 16}
PYTHON: Final = {
    "bool": ("bool", "False"),
    "int8": ("int", "0"),
    "int16": ("int", "0"),
    "uint16": ("int", "0"),
    "int32": ("int", "0"),
    "int64": ("int", "0"),
    "float64": ("float", "0.0"),
    "uuid": ("bytes", "ZERO_UUID"),
    "string": ("str", '""'),
    "bytes": ("bytes", 'b""'),
    "records": ("BytesLike", 'b""'),
}
"""Type and zero of every primitive in Python."""


# ------------------------------------------------------------------------------------------------- facts about fields


def is_tagged_struct(field: Field) -> bool:
    """None then stands for "not sent": cheaper than a struct of defaults in every answer."""
    return field.tag is not None and field.struct is not None and not field.array


def annotation(field: Field) -> str:
    base = field.struct.name if field.struct is not None else PYTHON[field.type][0]
    base = f"list[{base}]" if field.array else base
    may_be_none = field.nullable is not None or field.default == "null" or is_tagged_struct(field)
    return f"{base} | None" if may_be_none else base


def default(field: Field) -> str:
    """The expression for a fresh default value."""
    if field.default == "null" or is_tagged_struct(field):
        return "None"
    if field.array:
        return "[]"
    if field.struct is not None:
        return f"{field.struct.name}()"
    if field.default is None:
        return PYTHON[field.type][1]
    if field.type == "string":
        return repr(field.default)
    return {"true": "True", "false": "False"}.get(field.default, field.default)


def has_records(struct: Struct) -> bool:
    return any(
        field.type == "records" or (field.struct is not None and has_records(field.struct))
        for field in struct.fields
    )


def smallest(struct: Struct, version: int, flexible: bool) -> int:
    """The fewest bytes that the struct can take."""
    return int(flexible) + sum(
        _smallest_field(field, version, flexible)
        for field in struct.fields
        if version in field.versions and field.tag is None
    )


def _smallest_field(field: Field, version: int, flexible: bool) -> int:
    if field.array:
        return 1 if flexible else 4
    if field.struct is not None:
        nullable = field.nullable is not None and version in field.nullable
        return 1 if nullable else smallest(field.struct, version, flexible)
    letter = PRIMITIVES[field.type]
    if letter is not None:
        return SIZES[letter]
    return 1 if flexible else 2 if field.type == "string" else 4


def smallest_element(field: Field, group: Versions, flexible: bool) -> int:
    if field.struct is not None:
        struct = field.struct
        least = min(smallest(struct, version, flexible) for version in group if version in field.versions)
    else:
        letter = PRIMITIVES[field.type]
        least = SIZES[letter] if letter is not None else 1 if flexible else 2
    if least < 1:
        raise ValueError(f"an element of {field.name} can be empty: its count could not be bounded")
    return least


def _layout(struct: Struct, version: int) -> tuple[object, ...]:
    """Equal for two versions (both flexible or both not) that share every byte of their form."""
    return tuple(
        (
            field.name,
            field.nullable is not None and version in field.nullable,
            _layout(field.struct, version) if field.struct is not None else None,
        )
        for field in struct.fields
        if version in field.versions
    )


def groups(message: Message) -> list[Versions]:
    """The versions that share one reader and one writer, the newest first."""
    found: list[Versions] = []
    for version in message.versions:
        last = found[-1] if found else None
        if (
            last is not None
            and message.flexible(last.high) == message.flexible(version)
            and (not message.hot or _layout(message.root, last.high) == _layout(message.root, version))
        ):
            found[-1] = Versions(last.low, version)
        else:
            found.append(Versions(version, version))
    return found[::-1]


def condition(versions: Versions, group: Versions) -> str | None:
    """The check that a version of the group is among `versions`; None when all are."""
    low, high = versions.low > group.low, versions.high < group.high
    if low and high:
        return f"{versions.low} <= version <= {versions.high}"
    if low:
        return f"version >= {versions.low}"
    return f"version <= {versions.high}" if high else None


# --------------------------------------------------------------------------------------------------------------- code


class _Code:
    """Lines with their indentation, and the run of fixed-size values that waits to become one `struct` call."""

    def __init__(self, message: Message, group: Versions) -> None:
        self.name = message.root.name
        self.root = message.root
        self.group = group
        self.flexible = message.flexible(group.low)
        self.has_records = has_records(message.root)
        self.lines: list[str] = []
        self.level = 1
        self.run: list[tuple[str, str]] = []

    def add(self, line: str) -> None:
        self.lines.append("    " * self.level + line)

    def flush(self) -> None:
        """Turns the waiting run into code."""
        run, self.run = self.run, []
        if run:
            self.add_run(run)

    def add_run(self, run: list[tuple[str, str]]) -> None:
        raise AssertionError(f"no code for {run}")

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        self.flush()
        self.add(head)
        self.level += 1
        yield
        self.flush()
        self.level -= 1

    def null_refused_when(self, field: Field) -> str | None:
        """What must hold for null to be refused: "" = it never is, None = it always is."""
        here = Versions(max(field.versions.low, self.group.low), min(field.versions.high, self.group.high))
        if field.nullable is None or not field.nullable.meets(here):
            return None
        return "" if field.nullable.covers(here) else f"version < {field.nullable.low}"

    def present(self, struct: Struct) -> list[Field]:
        return [field for field in struct.fields if field.versions.meets(self.group)]


def _letters(run: list[tuple[str, str]]) -> str:
    return "".join(letter for letter, _ in run)


def layout_name(kind: str, letters: str) -> str:
    """The name of the module's constant for one `struct` layout: _u_ to unpack, _p_ to pack."""
    return f"_{kind}_" + letters.replace("16s", "u").replace("?", "o")


# ------------------------------------------------------------------------------------------------------------- reader


class Reader(_Code):
    """Writes the function that reads the versions of one group."""

    # Lists, elements and counts of loops have names of their own, because each has a type of its own.
    lists = 0
    elements = 0
    counts = 0

    def function(self, name: str) -> list[str]:
        kind = "memoryview" if self.has_records else "bytes"
        self.lines.append(f"def {name}(data: BytesLike, version: int, pos: int) -> {self.name}:")
        self.add(f"buf = data if type(data) is {kind} else {kind}(data)")
        self.add("size = len(buf)")
        with self.block("try:"):
            self.struct(self.root, "m", self.name, 1)
        with self.block("except (IndexError, LayoutError):"):
            self.add(f"raise cut_short({self.name!r}, version, pos, size) from None")
        with self.block("except UnicodeDecodeError as why:"):
            self.add(f"raise not_text({self.name!r}, version, pos, why) from None")
        with self.block("if pos > size:"):
            self.add(f"raise cut_short({self.name!r}, version, pos, size)")
        self.add("return m")
        return self.lines

    def add_run(self, run: list[tuple[str, str]]) -> None:
        letters = _letters(run)
        if letters == "B":
            self.add(f"{run[0][1]} = buf[pos]")
        else:
            targets = ", ".join(target for _, target in run) + ("," if len(run) == 1 else "")
            self.add(f"{targets} = {layout_name('u', letters)}(buf, pos)")
        self.add(f"pos += {sum(SIZES[letter] for letter, _ in run)}")

    def struct(self, struct: Struct, target: str, path: str, depth: int) -> None:
        self.add(f"{target} = {struct.name}.__new__({struct.name})")
        for field in struct.fields:
            place = f"{target}.{field.name}"
            if field.tag is not None or not field.versions.meets(self.group):
                self.add(f"{place} = {default(field)}")
                continue
            only = condition(field.versions, self.group)
            if only is None:
                self.value(field, place, f"{path}.{field.name}", depth)
            else:
                with self.block(f"if {only}:"):
                    self.value(field, place, f"{path}.{field.name}", depth)
                with self.block("else:"):
                    self.add(f"{place} = {default(field)}")
        if self.flexible:
            self.tags([field for field in self.present(struct) if field.tag is not None], target, path, depth)
        self.flush()

    def tags(self, known: list[Field], target: str, path: str, depth: int) -> None:
        self.run.append(("B", "n"))
        self.flush()
        with self.block("if n:"):
            if not known:
                self.add("pos = skip_tags(buf, pos, size, n)")
                return
            tag, stop, count = f"tag{depth}", f"stop{depth}", self.count()
            self.add(f"{count}, pos = count_tags(buf, pos, size, n)")
            with self.block(f"for _ in range({count}):"):
                self.add(f"{tag}, pos, {stop} = read_tag(buf, pos, size)")
                word = "if"
                for field in known:
                    only = condition(field.versions, self.group)
                    with self.block(f"{word} {tag} == {field.tag}{f' and {only}' if only else ''}:"):
                        self.value(field, f"{target}.{field.name}", f"{path}.{field.name}", depth)
                    word = "elif"
                with self.block("else:"):
                    self.add(f"pos = {stop}")
                with self.block(f"if pos != {stop}:"):
                    self.add(f"raise wrong_tag_size({path!r}, version, pos, {stop})")

    def element(self) -> str:
        self.elements += 1
        return f"e{self.elements}"

    def count(self) -> str:
        self.counts += 1
        return f"count{self.counts}"

    def value(self, field: Field, place: str, path: str, depth: int) -> None:
        letter = PRIMITIVES.get(field.type)
        if field.array:
            self.array(field, place, path, depth)
        elif field.struct is not None:
            item = self.element()
            if self.null_refused_when(field) is None:
                self.flush()
                self.struct(field.struct, item, path, depth + 1)
                self.add(f"{place} = {item}")
                return
            self.run.append(("b", "n"))
            self.flush()
            with self.block("if n < 0:"):
                self.null(field, place, path)
            with self.block("else:"):
                self.struct(field.struct, item, path, depth + 1)
                self.add(f"{place} = {item}")
        elif letter is not None:
            self.run.append((letter, place))
        else:
            self.bytes(field, place, path)

    def length(self, field: Field) -> str:
        """Reads the length or count into n; returns the check for null. In flexible versions n is one more."""
        string = field.type == "string" and not field.array
        if not self.flexible:
            self.run.append(("h" if string else "i", "n"))
            self.flush()
            return "n < 0"
        self.run.append(("B", "n"))
        self.flush()
        with self.block("if n > 127:"):
            self.add(f"n, pos = {'more_string_length' if string else 'more_varint'}(buf, pos, n)")
        return "not n"

    def null(self, field: Field, place: str, path: str) -> None:
        refused = self.null_refused_when(field)
        if refused:
            with self.block(f"if {refused}:"):
                self.add(f"raise null_found({path!r}, version, pos)")
        self.add(f"{place} = None")

    @contextmanager
    def not_null(self, field: Field, is_null: str, place: str, path: str) -> Generator[None]:
        """Around the code for a value that is there; before it, null is stored or refused."""
        if self.null_refused_when(field) is None:
            with self.block(f"if {is_null}:"):
                self.add(f"raise null_found({path!r}, version, pos)")
            yield
            return
        with self.block(f"if {is_null}:"):
            self.null(field, place, path)
        with self.block("else:"):
            yield

    def bytes(self, field: Field, place: str, path: str) -> None:
        is_null = self.length(field)
        with self.not_null(field, is_null, place, path):
            self.add("end = pos + n - 1" if self.flexible else "end = pos + n")
            copy = ".tobytes()" if self.has_records and field.type != "records" else ""
            text = ".decode()" if field.type == "string" else ""
            self.add(f"{place} = buf[pos:end]{copy}{text}")
            self.add("pos = end")

    def array(self, field: Field, place: str, path: str, depth: int) -> None:
        is_null = self.length(field)
        with self.not_null(field, is_null, place, path):
            if self.flexible:
                self.add("n -= 1")
            least = smallest_element(field, self.group, self.flexible)
            with self.block(f"if n * {least} > size - pos:" if least > 1 else "if n > size - pos:"):
                self.add(f"raise too_many({path!r}, version, pos, n, size)")
            letter = PRIMITIVES.get(field.type)
            if letter is not None and letter != "16s":
                self.add(f"{place} = list(unpack_from(f'>{{n}}{letter}', buf, pos))")
                self.add(f"pos += {f'{SIZES[letter]} * n' if SIZES[letter] > 1 else 'n'}")
                return
            self.lists += 1
            items = f"list{self.lists}"
            self.add(f"{items}: {annotation(field).removesuffix(' | None')} = []")
            self.add(f"{place} = {items}")
            count, item = self.count(), self.element()
            self.add(f"{count} = n")
            with self.block(f"for _ in range({count}):"):
                if field.struct is not None:
                    self.struct(field.struct, item, path, depth + 1)
                else:
                    element = Field(field.name, field.type, None, False, field.versions, None, None, None)
                    self.value(element, item, path, depth)
                self.flush()
                self.add(f"{items}.append({item})")


# ------------------------------------------------------------------------------------------------------------- writer


class Writer(_Code):
    """Writes the function that writes the versions of one group."""

    out = "out"
    elements = 0  # as in Reader

    def function(self, name: str) -> list[str]:
        if self.has_records:
            self.lines.append(
                f"def {name}(m: {self.name}, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:"
            )
        else:
            self.lines.append(f"def {name}(m: {self.name}, out: bytearray, version: int) -> None:")
        self.struct(self.root, "m", self.name, 1)
        self.flush()
        if self.has_records:
            self.add("return out")
        elif len(self.lines) == 1:
            self.add("return")  # nothing to write in these versions
        return self.lines

    def add_run(self, run: list[tuple[str, str]]) -> None:
        letters = _letters(run)
        if not letters.strip("x"):
            self.add(f"{self.out}.append(0)" if letters == "x" else f"{self.out} += bytes({len(letters)})")
            return
        values = ", ".join(value for letter, value in run if letter != "x")
        self.add(f"{self.out} += {layout_name('p', letters)}({values})")

    def struct(self, struct: Struct, source: str, path: str, depth: int) -> None:
        known: list[Field] = []
        for field in self.present(struct):
            place = f"{source}.{field.name}"
            if field.tag is not None:
                known.append(field)
                continue
            only = condition(field.versions, self.group)
            if only is None:
                self.value(field, place, f"{path}.{field.name}", depth)
            else:
                with self.block(f"if {only}:"):
                    self.value(field, place, f"{path}.{field.name}", depth)
        if self.flexible and not known:
            self.run.append(("x", ""))
        elif self.flexible:
            self.tags(known, source, path, depth)

    def tags(self, known: list[Field], source: str, path: str, depth: int) -> None:
        """A tagged field is sent when it does not hold its default."""
        self.flush()
        with self.block(
            f"if {' and '.join(self.at_rest(field, f'{source}.{field.name}') for field in known)}:"
        ):
            self.add(f"{self.out}.append(0)")
        with self.block("else:"):
            tags, outer = f"tags{depth}", self.out
            self.add(f"{tags}: list[bytes] = []")
            for field in known:
                place = f"{source}.{field.name}"
                checks = [condition(field.versions, self.group)]
                if len(known) > 1:  # else the check above has said so already
                    checks.append(f"not ({self.at_rest(field, place)})")
                if field.struct is not None and is_tagged_struct(field):
                    checks.append(f"{place} != {field.struct.name}()")
                needed = " and ".join(check for check in checks if check is not None)
                with self.block(f"if {needed}:") if needed else nullcontext():
                    self.out = f"sub{depth}"
                    self.add(f"{self.out} = bytearray()")
                    self.value(field, place, f"{path}.{field.name}", depth)
                    self.flush()
                    self.add(f"{tags}.append(tagged({field.tag}, {self.out}))")
                    self.out = outer
            self.add(f"{self.out} += varint(len({tags}))")
            with self.block(f"for tag in {tags}:"):
                self.add(f"{self.out} += tag")

    @staticmethod
    def at_rest(field: Field, place: str) -> str:
        """The check that a tagged field holds its default (for a struct: the usual one, None)."""
        value = default(field)
        if value == "None":
            return f"{place} is None"
        if value in ("[]", "False"):
            return f"not {place}"
        return f"{place} == {value}"

    def value(self, field: Field, place: str, path: str, depth: int) -> None:
        letter = PRIMITIVES.get(field.type)
        if not field.array and letter is not None:
            if letter == "16s":
                with self.guard(f"if len({place}) != 16:"):
                    self.add(f"raise not_uuid({path!r}, {place})")
            self.run.append((letter, place))
        elif not field.array and field.struct is not None:
            if self.null_refused_when(field) is None:
                self.struct(field.struct, place, path, depth + 1)
                return
            with self.block(f"if {place} is None:"):
                self.null(field, path)
                self.add(f"{self.out}.append(255)")
            with self.block("else:"):
                self.run.append(("b", "1"))
                self.struct(field.struct, place, path, depth + 1)
        elif field.tag is not None and default(field) == "None":
            self.sized(field, place, path, depth)  # only sent when it is not None
        elif self.null_refused_when(field) is None:
            if annotation(field).endswith("None"):
                with self.guard(f"if {place} is None:"):
                    self.add(f"raise null_given({path!r}, version)")
            self.sized(field, place, path, depth)
        else:
            with self.block(f"if {place} is None:"):
                self.null(field, path)
                short = field.type == "string" and not field.array
                self.add(
                    f"{self.out}.append(0)"
                    if self.flexible
                    else f"{self.out} += {bytes([255] * (2 if short else 4))!r}"
                )
            with self.block("else:"):
                self.sized(field, place, path, depth)

    @contextmanager
    def guard(self, head: str) -> Generator[None]:
        """A check that stands before the waiting run, which it leaves waiting."""
        run, self.run = self.run, []
        with self.block(head):
            yield
        self.run = run

    def null(self, field: Field, path: str) -> None:
        refused = self.null_refused_when(field)
        if refused:
            with self.block(f"if {refused}:"):
                self.add(f"raise null_given({path!r}, version)")

    def length(self, field: Field, value: str) -> None:
        string = field.type == "string" and not field.array
        if not self.flexible:
            self.run.append(("h" if string else "i", value))
            self.flush()
            return
        self.flush()
        self.add(f"n = {value} + 1")
        with self.block("if n < 128:"):
            self.add(f"{self.out}.append(n)")
        with self.block("else:"):
            self.add(f"{self.out} += {'string_length' if string else 'varint'}(n)")

    def sized(self, field: Field, place: str, path: str, depth: int) -> None:
        """A string, bytes, records or an array that is not null."""
        letter = PRIMITIVES.get(field.type)
        if field.array:
            self.length(field, f"len({place})")
            if letter is not None and letter != "16s":
                self.add(f"{self.out} += pack(f'>{{len({place})}}{letter}', *{place})")
                return
            self.elements += 1
            item = f"e{self.elements}"
            with self.block(f"for {item} in {place}:"):
                if field.struct is not None:
                    self.struct(field.struct, item, path, depth + 1)
                else:
                    element = Field(field.name, field.type, None, False, field.versions, None, None, None)
                    self.value(element, item, path, depth)
        elif field.type == "string":
            self.add(f"text = {place}.encode()")
            self.length(field, "len(text)")
            self.add(f"{self.out} += text")
        elif field.type == "records":
            self.length(field, f"len({place})")
            with self.block(f"if parts is None or len({place}) < APART_BYTES:"):
                self.add(f"{self.out} += {place}")
            with self.block("else:"):
                self.add(f"parts += ({self.out}, {place})")
                self.add(f"{self.out} = bytearray()")
        else:
            self.length(field, f"len({place})")
            self.add(f"{self.out} += {place}")
