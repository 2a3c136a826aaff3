from __future__ import annotations

import pytest

from traceq.common.units import parse_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50 ms", 50_000_000),
        ("1.5s", 1_500_000_000),
        (".5us", 500),
        (" 2 min ", 120_000_000_000),
        ("7 \N{MICRO SIGN}s", 7_000),
        ("7 \N{GREEK SMALL LETTER MU}s", 7_000),
        ("0.1 ns", 0),
        ("0.000000001 s", 1),
        ("3. ns", 3),
    ],
)
def test_read(text, expected):
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "50", "ms", "-1 ms", "1e3 ms", "1 h", "nan s", "1,5 s", "\u0663 ms", "1 ms 2 us"])
def test_refused(text):
    with pytest.raises(
        ValueError, match="is not a duration: write a number and one of ns, us, ms, s, min, as in 50 ms"
    ):
        parse_duration(text)


def test_too_long():
    with pytest.raises(ValueError, match="longer than any step can be"):
        parse_duration("99999999999 min")
