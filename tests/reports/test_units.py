from __future__ import annotations

import ast
from pathlib import Path

import pytest

from traceq.common import units
from traceq.common.text import printable, shortened, width
from traceq.common.units import (
    bytes_in,
    cell,
    column_title,
    duration,
    durations_alike,
    format_bandwidth,
    maybe,
    mebibytes,
    per_cent,
    rate,
    share,
    short,
    short_size,
    size,
    sizes_alike,
)
from traceq.reports.document import BarRow
from traceq.reports.renderers.bar import WIDTH, draw_bar, draw_bar_rows, draw_curve


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 ns"),
        (0.25, "0.2500 ns"),
        (7, "7 ns"),
        (999, "999 ns"),
        (999.96, "1.000 µs"),
        (1_000, "1.000 µs"),
        (12_345, "12.35 µs"),
        (999_960, "1.000 ms"),
        (123_456_789, "123.5 ms"),
        (1_500_000_000, "1.500 s"),
        (3_600_000_000_000, "3600 s"),
        (123_456_000_000_000, "123,500 s"),
        (-12_345, "-12.35 µs"),
        (None, "cannot tell"),
    ],
)
def test_durations_have_four_significant_digits_in_the_unit_that_fits(nanoseconds, text):
    assert duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0 %"),
        (1e-9, "< 0.1 %"),
        (0.0005, "0.1 %"),
        (0.3456, "34.6 %"),
        (1.0, "100.0 %"),
        (None, "cannot tell"),
    ],
)
def test_a_share_that_is_not_0_never_shows_as_0(value, text):
    assert share(value) == text


def test_sizes_and_cells_of_evidence():
    assert [size(0), size(1023), size(1536), size(5 << 40)] == ["0 B", "1023 B", "1.5 KiB", "5.0 TiB"]
    assert [
        cell("a_ns", 5),
        cell("a_share", 0.5),
        cell("steps", 1234),
        cell("ratio", 0.5),
        cell("x", None),
        cell("ts", 1_623_142_623_460_245_000),
        cell("slice_id", 12_345),
        cell("is_named", 1),
        cell("best_bandwidth", 9.9),
    ] == [
        "5 ns",
        "50.0 %",
        "1,234",
        "0.500",
        "cannot tell",
        "1623142623460245000",
        "12345",
        "yes",
        "9.90 GB/s",
    ]


@pytest.mark.parametrize(
    ("gb_per_s", "text"),
    [
        (173.4, "173 GB/s"),
        (1555.0, "1.55 TB/s"),
        (20, "20.0 GB/s"),
        (0.5, "500 MB/s"),
        (0.000394, "394 kB/s"),
        (1e-8, "10.0 B/s"),
        (0, "0 B/s"),
    ],
)
def test_a_bandwidth_is_given_in_a_unit_that_fits(gb_per_s, text):
    assert format_bandwidth(gb_per_s) == text


def test_times_of_a_trace_are_given_from_its_start_where_that_is_known():
    begin = 1_305_518_639_888_000
    assert cell("ts", begin + 12_345_678_901, begin) == "12345.679 ms"
    assert cell("longest_ts", begin - 1_000, begin) == "-0.001 ms"
    assert cell("slice_id", 12, begin) == "12"
    assert [column_title(name) for name in ("ts", "longest_ts", "dur", "claimed_ns", "of_kind")] == [
        "at",
        "longest at",
        "dur",
        "claimed",
        "of kind",
    ]


def test_nothing_printable_can_steer_a_terminal():
    assert printable("a\x1b[31m\n\t\x00\x9b\u202e\u2028b ü 日") == r"a\x1b[31m\n\t\x00\x9b\u202e\u2028b ü 日"


def test_names_are_cut_to_columns_not_to_characters():
    assert shortened("short", 5) == "short"
    assert shortened("void kernel<int, 4>(float*)", 12) == "void ker…t*)"
    assert width(shortened("日本語" * 20, 20)) <= 20
    assert len(shortened("a" + "\u0301" * 500, 20)) < 100


def test_a_bar_is_always_as_wide_and_shows_the_parts_in_their_order():
    for shares in ([1.0], [0.5, 0.5], [1 / 3] * 3, [0.999, 0.001], [0.2, 0.3, 0.1, 0.15, 0.05, 0.1, 0.1]):
        names = ("compute", "communication", "copy_h2d", "copy_d2h", "copy_other", "memset", "idle")
        bar, legend = draw_bar(list(zip(names, shares, strict=False)))
        assert len(bar) == WIDTH
        assert legend.count("  ") == len(shares) - 1
    assert draw_bar([("compute", 0.75), ("idle", 0.25)])[0] == "█" * 45 + "░" * 15


def test_a_bar_draws_categories_it_does_not_know_and_names_those_it_knows():
    assert draw_bar([("idle_data", 0.5), ("a_new_one", 0.5)])[1] == "▙ idle: data loading  ▟ a new one"


def test_bars_share_a_scale_and_only_named_parts_are_in_the_legend():
    rows = (BarRow("a", (("exposed", 30), ("hidden", 66)), "96"), BarRow("long", (("exposed", 1),), "1"))
    first, second, legend = draw_bar_rows(rows)
    assert first == f"a     {'░' * 15}{'█' * 33}  96"
    assert second == f"long  {' ' * 48}  1"
    assert legend == "░ exposed  █ hidden"
    assert draw_bar_rows((BarRow("a", (("", 0),), "0"),)) == [f"a  {' ' * 48}  0"]


def test_a_curve_shows_0_as_nothing_and_little_as_something():
    assert draw_curve((0, 1, 4, 8, 1000)) == " ▁▁▁█"
    assert draw_curve(()) == ""
    assert draw_curve((0.0,)) == " "


def test_rates_have_three_digits_and_no_exponent():
    assert [rate(0), rate(0.0029), rate(12.34), rate(1580.9), rate(18297.4)] == [
        "0",
        "0.00290",
        "12.3",
        "1,581",
        "18,297",
    ]
    assert [maybe(rate, None), maybe(size, 5)] == ["-", "5 B"]


# ---- numbers are formatted in units.py

_SCALES = {1024**power for power in range(1, 5)} | {10**power for power in (3, 6, 9)}


def _scaled_by_hand(text):
    """The lines in which a text formats a size or a duration by itself: f"{x / 2**30:.1f} GiB"."""
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.FormattedValue) and node.format_spec is not None else None
        for each in ast.walk(value) if value else ():
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div) and _constant(each.right) in _SCALES:
                yield node.lineno


def _constant(node):
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute | ast.Call | ast.Subscript)]
    return None if names else eval(compile(ast.Expression(node), "", "eval"))  # noqa: S307 - a constant of our own sources


def test_what_scales_by_hand_is_found():
    assert list(_scaled_by_hand('f"{a / 2**30:.1f} {b} {c / 1e6:,.0f} {d / 7:.1f} {e / (1 << 20):g}"')) == [1, 1, 1]


def test_sizes_and_durations_are_formatted_in_units_alone():
    package = Path(units.__file__).parents[1]
    found = [
        (str(path.relative_to(package)), line)
        for path in package.rglob("*.py")
        for line in _scaled_by_hand(path.read_text("utf-8"))
    ]
    assert [each for each in found if each[0] != "common/units.py"] == []


def test_sizes_of_sentences():
    assert [short_size(each) for each in (None, 0, 1, 1536, 3 << 30, 3 << 40)] == [
        "an unknown number of bytes",
        "0 bytes",
        "1 bytes",
        "1.5 KiB",
        "3 GiB",
        "3,072 GiB",
    ]
    assert (bytes_in("GiB", 3 << 29, 2), bytes_in("MiB", 5 << 30, 1)) == ("1.50", "5,120.0")
    assert (short(12.345), short(1581.2), short(12.0), per_cent(0.95)) == ("12.3", "1,581", "12", "95 %")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((3 << 30, 1 << 30, None, 0), "3.0 GiB|1.0 GiB|-|0 GiB"),
        ((3 << 30, 10 << 20), "3,072.0 MiB|10.0 MiB"),
        ((3 << 30, 508), "3,072.0 MiB|< 0.1 MiB"),
        ((8 << 10, 508), "8.0 KiB|0.5 KiB"),
        ((512, 12), "512 B|12 B"),
        ((770_371 << 10, 10 << 10), "752.3 MiB|< 0.1 MiB"),
        ((770_371 << 10, 770_390 << 10, 10 << 10), "752.32 MiB|752.33 MiB|0.01 MiB"),
        ((770_371 << 10, (770_371 << 10) + 7), "752.3 MiB|752.3 MiB"),
        ((0, None), "0 B|-"),
    ],
)
def test_sizes_of_a_column_have_one_unit(values, expected):
    assert "|".join(map(sizes_alike(values), values)) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((2_500_000, 300, None), "2.500 ms|< 0.001 ms|-"),
        ((3_000_000_000, 1_250_000), "3.000 s|0.001 s"),
        ((900, 12), "900 ns|12 ns"),
    ],
)
def test_durations_of_a_column_have_one_unit(values, expected):
    assert "|".join(map(durations_alike(values), values)) == expected


def test_bytes_that_are_compared_are_all_in_mib():
    assert [mebibytes(each) for each in (0, 5, 3 << 19, 4008 << 20)] == ["0 MiB", "< 0.1 MiB", "1.5 MiB", "4,008 MiB"]


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (None, "cannot tell"),
        (9_500_000_000, "9.500 s"),
        (45 * 10**9, "45 s"),
        (59_600_000_000, "1 min"),
        (750 * 10**9, "12 min 30 s"),
        (3_599_600_000_000, "1 h"),
        (66_000 * 10**9, "18 h 20 min"),
        (86_399 * 10**9, "1 d"),
        (273_600 * 10**9, "3 d 4 h"),
    ],
)
def test_long_times_have_two_units(nanoseconds, text):
    assert units.time_span(nanoseconds) == text


def test_money_and_energy():
    assert [units.format_money(amount) for amount in (None, 0.784, 12, 1234.5)] == [
        "cannot tell",
        "0.78",
        "12.00",
        "1,234",
    ]
    assert [units.format_energy(joules) for joules in (None, 250, 90_000, 7.2e6, 3.6e9)] == [
        "cannot tell", "250 J", "90.0 kJ", "2.00 kWh", "1,000 kWh",
    ]  # fmt: skip
