"""Exit codes of the command line; docs/cli.md promises them."""

from enum import IntEnum


class Exit(IntEnum):
    FINE = 0
    BAD = 1  # the asked-for condition is bad
    USAGE = 2
    UNREACHABLE = 3  # cannot reach the broker
    REFUSED = 4  # the broker answered with an error; its name is on stderr and in the JSON
    TIMED_OUT = 5
    INTERRUPTED = 130


class UsageFault(Exception):
    """The command line, or a file that it names, asks for something that makes no sense."""
