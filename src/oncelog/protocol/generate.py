"""Makes messages/*.py from definitions/*.txt: `python -m oncelog.protocol.generate [--check]`."""

import argparse
import re
import sys
from importlib.resources import files
from typing import Final

from oncelog.protocol.definition import Definition, Message, Struct, parse
from oncelog.protocol.emit import Reader, Writer, annotation, default, groups, has_records, layout_name

SHARED: Final = (
    "ABSENT",
    "APART_BYTES",
    "BytesLike",
    "Message",
    "Struct",
    "UnwritableMessage",
    "WRITE_FAULTS",
    "ZERO_UUID",
    "count_tags",
    "cut_short",
    "more_string_length",
    "more_varint",
    "not_text",
    "not_uuid",
    "null_found",
    "null_given",
    "read_tag",
    "skip_tags",
    "string_length",
    "tagged",
    "too_many",
    "unsupported",
    "unwritable",
    "varint",
    "wrong_tag_size",
)
"""What the generated modules may take from oncelog.protocol.primitives."""


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def class_code(struct: Struct, base: str, about: str) -> list[str]:
    """A slotted dataclass whose methods are spelled out: making them at import would take ten times as long."""
    lines = [
        "@dataclass(slots=True, init=False, repr=False, eq=False)",
        f"class {struct.name}({base}):",
        f'    """{about}"""',
        "",
        *(f"    {field.name}: {annotation(field)}" for field in struct.fields),
        "",
        "    def __init__(",
        "        self,",
    ]
    body: list[str] = []
    for field in struct.fields:
        value = default(field)
        fresh = value.endswith(("()", "[]"))
        lines.append(f"        {field.name}: {annotation(field)} = {'ABSENT' if fresh else value},")
        given = f"{value} if {field.name} is ABSENT else {field.name}" if fresh else field.name
        body.append(f"        self.{field.name} = {given}")
    return [*lines, "    ) -> None:", *body]


def message_code(message: Message) -> list[str]:
    """The class of a message and its readers and writers."""
    name = message.root.name
    versions = f"{message.versions.low}-{message.versions.high}"
    about = f"{name}, versions {versions}."
    lines = class_code(message.root, "Message", about)
    parts = has_records(message.root)
    readers: list[str] = []
    writers: list[str] = []
    read_cases: list[str] = []
    write_cases: list[str] = []
    for group in groups(message):
        suffix = f"{snake(name)}_{group.low}_{group.high}"
        readers += ["", "", *Reader(message, group).function(f"_read_{suffix}")]
        writers += ["", "", *Writer(message, group).function(f"_write_{suffix}")]
        check = (
            f"{group.low} <= version <= {group.high}"
            if group.low != group.high
            else f"version == {group.low}"
        )
        read_cases += [f"        if {check}:", f"            return _read_{suffix}(data, version, at)"]
        call = f"_write_{suffix}(self, out, version{', parts' if parts else ''})"
        write_cases += [f"            if {check}:", f"                return {call}"]
    no_such = f"unsupported({name!r}, {versions!r}, version)"
    lines += [
        "",
        "    @staticmethod",
        f"    def decode(data: BytesLike, version: int, at: int = 0) -> {name}:",
        *read_cases,
        f"        raise MalformedMessage({no_such})",
        "",
    ]
    if parts:
        lines += [
            "    def write(self, out: bytearray, version: int) -> None:",
            "        self._write(out, version, None)",
            "",
            "    def encode(self, version: int) -> bytes:",
            '        return b"".join(self.encode_parts(version))',
            "",
            "    def encode_parts(self, version: int) -> list[BytesLike]:",
            "        parts: list[BytesLike] = []",
            "        parts.append(self._write(bytearray(), version, parts))",
            "        return parts",
            "",
            "    def _write(self, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:",
        ]
    else:
        lines.append("    def write(self, out: bytearray, version: int) -> None:")
    lines += [
        "        try:",
        *write_cases,
        "        except WRITE_FAULTS as why:",
        f"            raise unwritable({name!r}, version, why) from why",
        f"        raise UnwritableMessage({no_such})",
    ]
    return lines + readers + writers


def module_code(definition: Definition, source: str) -> str:
    body: list[str] = []
    seen: dict[str, list[str]] = {}
    for message in definition.messages:
        for struct in message.structs():
            if struct is not message.root:
                code = class_code(struct, "Struct", f"Part of {message.root.name}.")
                # Data messages of one family may share a struct; both must then mean the same by it.
                if struct.name in seen:
                    if seen[struct.name][3:] != code[3:]:
                        raise ValueError(f"{source}: two different structs are called {struct.name}")
                    continue
                seen[struct.name] = code
                body += ["", "", *code]
        body += ["", "", *message_code(message)]
    text = "\n".join(body)
    versions = f"versions {definition.versions.low}-{definition.versions.high}"
    what = definition.name if definition.key is None else f"{definition.name} (key {definition.key})"
    lines = [
        f'"""{what}, {versions}. Generated from definitions/{source} by oncelog.protocol.generate: do not edit."""',
        "",
        "from __future__ import annotations",
        "",
        "from dataclasses import dataclass",
        "from struct import Struct as Layout",
        "from struct import error as LayoutError",
        *(f"from struct import {word}" for word in ("pack", "unpack_from") if f"{word}(" in text),
        "",
        "from oncelog.errors import MalformedMessage",
        "from oncelog.protocol.primitives import (",
        *(f"    {word}," for word in SHARED if re.search(rf"\b{word}\b", text)),
        ")",
        "",
    ]
    used = sorted(set(re.findall(r"\b_([up])_([a-zA-Z]+)\(", text)))
    for kind, word in used:
        letters = word.replace("u", "16s").replace("o", "?")
        assert layout_name(kind, letters) == f"_{kind}_{word}"
        method = "unpack_from" if kind == "u" else "pack"
        lines.append(f'_{kind}_{word} = Layout(">{letters}").{method}')
    return "\n".join([*lines, *body]) + "\n"


def table_code(definitions: list[Definition]) -> str:
    """messages/__init__.py: what there is, without importing it."""
    apis = sorted((each.key, each) for each in definitions if each.key is not None)
    return "\n".join(
        [
            '"""The wire messages, one module per API. Generated by oncelog.protocol.generate: do not edit."""',
            "",
            "from typing import Final",
            "",
            "TABLE: Final[tuple[tuple[int, str, str, int, int, int | None], ...]] = (",
            "    # key, name, module, lowest and highest version, first flexible version",
            *(
                f'    ({key}, "{each.name}", "{snake(each.name)}", {each.versions.low}, {each.versions.high}, '
                f"{each.first_flexible}),"
                for key, each in apis
            ),
            ")",
            "",
        ]
    )


def generate() -> dict[str, str]:
    """File name -> text of everything that belongs into messages/."""
    folder = files("oncelog.protocol").joinpath("definitions")
    sources = sorted(
        (each for each in folder.iterdir() if each.name.endswith(".txt")), key=lambda each: each.name
    )
    made: dict[str, str] = {}
    definitions: list[Definition] = []
    for source in sources:
        definition = parse(source.read_text(encoding="utf-8"), source.name)
        definitions.append(definition)
        made[f"{snake(definition.name)}.py"] = module_code(definition, source.name)
    made["__init__.py"] = table_code(definitions)
    return made


def stale(made: dict[str, str]) -> list[str]:
    """The names of files in messages/ that are missing, outdated or not of our making."""
    folder = files("oncelog.protocol").joinpath("messages")
    present = {
        each.name: each.read_text(encoding="utf-8") for each in folder.iterdir() if each.name.endswith(".py")
    }
    return sorted(name for name in made.keys() | present.keys() if made.get(name) != present.get(name))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m oncelog.protocol.generate", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail when messages/ is out of date"
    )
    options = parser.parse_args(arguments)
    made = generate()
    names = stale(made)
    folder = files("oncelog.protocol").joinpath("messages")
    for name in names:
        if options.check:
            sys.stderr.write(f"messages/{name} is out of date: run python -m oncelog.protocol.generate\n")
        elif name in made:
            # Not Path.open: the core imports no pathlib.
            with open(str(folder.joinpath(name)), "w", encoding="utf-8") as file:  # noqa: PTH123
                file.write(made[name])
        else:
            sys.stderr.write(f"messages/{name} has no definition: remove it\n")
    unknown = [name for name in names if name not in made]
    return 1 if (names if options.check else unknown) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
