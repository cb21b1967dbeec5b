"""How the command line and the page say lengths of time."""

from typing import Final

MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAYS_FROM_H: Final = 48


def age(ms: int | None) -> str:
    """As people say it: `41 s`, 00:19:03, and from two days on only those."""
    if ms is None:
        return "-"
    if ms < 0:
        return f"-{age(-ms)}"
    if ms < 1000:
        return f"{ms} ms"
    seconds = ms // 1000
    if seconds < MINUTE_S:
        return f"{seconds} s"
    hours, rest = divmod(seconds, HOUR_S)
    if hours >= DAYS_FROM_H:
        return f"{hours // 24:,} days"
    return f"{hours:02}:{rest // 60:02}:{rest % 60:02}"


def left(ms: int | None) -> str:
    """Until something is due. What should have been is overdue: a coordinator looks every few seconds only, and its clock is its own."""
    return f"overdue by {age(-ms)}" if ms is not None and ms < 0 else age(ms)
