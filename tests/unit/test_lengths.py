"""How lengths of time are said."""

import pytest

from oncelog.inspect.lengths import age

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (None, "-"),
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (59_999, "59 s"),
        (60_000, "00:01:00"),
        (HOUR_MS + 61_000, "01:01:01"),
        (48 * HOUR_MS - 1, "47:59:59"),
        (48 * HOUR_MS, "2 days"),
        (20_776 * 24 * HOUR_MS, "20,776 days"),
        (-1_500, "-1 s"),
    ],
)
def test_a_length_of_time_is_short_to_read(ms: int | None, said: str) -> None:
    assert age(ms) == said
