"""Settings by Kafka's names: from a properties file of name=value lines, and from `--set name=value`."""

from collections.abc import Iterable

from oncelog.cli.exits import UsageFault
from oncelog.client.properties import text_of
from oncelog.config import BROKER_KEYS
from oncelog.errors import BadConfig


def read_properties(path: str) -> dict[str, str]:
    """Every setting of the file; UsageFault names the file and the line of the first that is no good.

    The plain part of Java's format: `name=value`, `#` or `!` begins a comment line. No line continuation, no escapes:
    a backslash at the end of a line is refused, not misread.
    """
    try:
        text = text_of(path)
    except ValueError as fault:
        raise UsageFault(f"--config {fault}") from None
    settings: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        where = f"{path}, line {number}"
        if line.endswith("\\"):
            raise UsageFault(f"{where}: lines that go on after a backslash are not supported")
        name, value = _pair(line, where)
        if name in settings:
            raise UsageFault(f"{where}: {name} is set twice")
        settings[name] = value
    return settings


def read_pairs(pairs: Iterable[str], option: str = "--set") -> dict[str, str]:
    """The settings of repeated `--set name=value`; the last of a name wins, as it does in Kafka's tools."""
    return dict(_known(pair, option) for pair in pairs)


def _known(pair: str, where: str) -> tuple[str, str]:
    return _pair(pair, f"{where} {pair}")


def _pair(line: str, where: str) -> tuple[str, str]:
    name, equals, value = line.partition("=")
    name, value = name.strip(), value.strip()
    if not equals or not name:
        raise UsageFault(f"{where}: wanted name=value, found {line!r}")
    key = BROKER_KEYS.get(name)
    if key is None:
        raise UsageFault(f"{where}: unknown setting {name!r}")
    try:
        key.parse(value)
    except BadConfig as fault:
        raise UsageFault(f"{where}: {fault}") from None
    return name, value
