from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.common.text import width
from traceq.reports.document import (
    Bar,
    BarRow,
    Bars,
    Curve,
    Facts,
    Fold,
    Heading,
    Items,
    Ledger,
    LedgerRow,
    Name,
    Paragraph,
    Picture,
    Query,
    RankedFinding,
    Ranking,
    Reference,
    Table,
    Title,
    Verdict,
    Warn,
)
from traceq.reports.renderers import colour
from traceq.reports.renderers.bar import draw_bar, draw_bar_rows, draw_curve
from traceq.reports.renderers.to_text import blocks_to_text

CODE = re.compile(r"\x1b\[(?:0|1|2|38;5;\d+)m")

GAPS = Table(("gap", "main cause", "host"), (("7.700 ms", "idle_sync", Name("cudaMemcpy")),), (1, 2))
COPIES = Table(
    ("GPU", "direction", "copies", "behind compute", "exposed"),
    (("0", "h2d (host to device)", "17", "0 ns", "13.41 µs"),),
    (1,),
)
RANKING = Table(
    ("", "finding", "per step", "share", "confidence"),
    (
        ("F1", Title("Elementwise kernels one after another"), "993.7 µs", "5.5 %", "medium"),
        ("F2", Title("GPU idle"), "487.6 µs", "2.7 %", "high"),
    ),
    (0, 1, 4),
)


def lines(*blocks, width=100, colour=False):
    return blocks_to_text(blocks, width, colour=colour)


def test_a_table_that_fits_is_in_columns():
    assert (
        lines(GAPS, width=40)
        == """\
     gap  main cause  host
--------  ----------  ----------
7.700 ms  idle_sync   cudaMemcpy
"""
    )


def test_titles_of_columns_are_broken_before_a_table_is_shown_row_by_row():
    assert (
        lines(COPIES, width=56)
        == """\
                                    behind
GPU  direction             copies  compute   exposed
---  --------------------  ------  -------  --------
  0  h2d (host to device)      17     0 ns  13.41 µs
"""
    )
    assert (
        lines(COPIES, width=40)
        == """\
GPU             0
direction       h2d (host to device)
copies          17
behind compute  0 ns
exposed         13.41 µs
"""
    )


def test_names_are_cut_and_titles_of_findings_are_not():
    long = Table(("name", "time"), ((Name("void at::native::elementwise_kernel<4, float>"), "204.1 µs"),))
    assert lines(long, width=40).splitlines()[-1] == "void at::native::ele… float>  204.1 µs"
    assert (
        lines(RANKING, width=60)
        == """\
                                  per
    finding                      step  share  confidence
--  -----------------------  --------  -----  ----------
F1  Elementwise kernels one  993.7 µs  5.5 %  medium
    after another
F2  GPU idle                 487.6 µs  2.7 %  high
"""
    )


def test_a_row_without_a_title_is_told_by_what_stands_above_it():
    assert (
        lines(RANKING, width=40)
        == """\
F1
finding     Elementwise kernels one
            after another
per step    993.7 µs
share       5.5 %
confidence  medium

F2
finding     GPU idle
per step    487.6 µs
share       2.7 %
confidence  high
"""
    )


def test_facts_stand_below_their_labels_where_there_is_little_room():
    facts = Facts((("confidence", ("high. The calls that the GPU waits for are in the trace, 6.5 % of them.",)),))
    assert (
        lines(facts, width=60)
        == """\
confidence  high. The calls that the GPU waits for are in
            the trace, 6.5 % of them.
"""
    )
    assert (
        lines(facts, width=40)
        == """\
confidence
  high. The calls that the GPU waits for
  are in the trace, 6.5 % of them.
"""
    )


def test_an_address_is_not_broken_and_a_long_name_is():
    address = f"https://docs.pytorch.org/{'x' * 40}"
    assert lines(Paragraph((f"see {address} or {'y' * 50}",)), width=40) == (
        f"see\n{address}\nor\n{'y' * 40}\n{'y' * 10}\n"
    )


def test_east_asian_names_are_as_wide_as_they_look():
    assert lines(Paragraph(("カーネル " * 9,)), width=40) == "カーネル カーネル カーネル カーネル\n" * 2 + "カーネル\n"
    assert lines(Paragraph(("日" * 30,)), width=40) == f"{'日' * 20}\n{'日' * 10}\n"


def test_a_query_is_the_same_query_on_several_lines():
    query = Query(
        "select 'two  words, and ''more'' of them, which stand out' as a, 1 as b from step where name = 'a b'"
    )
    shown = lines(query, width=40)
    assert "    'two  words, and ''more'' of them, which stand out'\n" in shown
    assert " ".join(line.strip() for line in shown.splitlines()) == f'traceq sql DB "{query.sql}"'


def test_bars_are_as_wide_as_there_is_room():
    parts = (("compute", 0.75), ("copy_h2d", 0.125), ("idle", 0.125))
    assert draw_bar(parts, 40) == ["█" * 30 + "▒" * 5 + "░" * 5, "█ compute  ▒ copies to GPU  ░ idle"]
    assert draw_bar(parts, 27)[1:] == ["█ compute  ▒ copies to GPU", "░ idle"]
    rows = (BarRow("GPU 0", (("exposed", 1.0), ("hidden", 3.0)), "4.000 ms"), BarRow("GPU 1", (("hidden", 2.0),), "2"))
    assert draw_bar_rows(rows, 41) == [
        f"GPU 0  {'░' * 6}{'█' * 18}  4.000 ms",
        f"GPU 1  {'█' * 12}{' ' * 12}  2",
        "░ exposed  █ hidden",
    ]
    assert draw_bar_rows(rows, 24)[:4] == ["GPU 0  4.000 ms", "░" * 6 + "█" * 18, "GPU 1  2", "█" * 12]


def test_a_curve_with_little_room_keeps_its_peaks():
    assert draw_curve((0, 0, 0, 8, 0, 0, 4, 0), 4) == " █ ▄"
    assert len(draw_curve([1] * 61, 60)) == 31


def test_what_is_folded_or_drawn_elsewhere_is_plain_or_nothing():
    fold = Fold(("SQL",), (Paragraph(("What it claims:",)), Query("select 1")))
    picture = Picture("steps", "Durations of the steps", lambda: None)
    assert lines(Paragraph(("a",)), picture, fold, Fold((Name("x"),), (picture,))) == (
        'a\n\nSQL\n\nWhat it claims:\n\n  traceq sql DB "select 1"\n\nx\n'
    )


def test_colours_say_what_the_words_say():
    assert lines(
        Heading(2, ("Trace 1",)),
        Verdict(("Fix this first.",)),
        Warn(("Data lost",)),
        Facts((("saving", ("likely 1 ms per step, 0 ns to 2 ms",)), ("confidence", ("low. Nothing says so.",)))),
        Table(("finding", "per step", "confidence"), (("x", "1 ms", "high"),), (0, 2)),
        Bar((("compute", 0.5), ("idle", 0.5))),
        Query("select 1"),
        colour=True,
    ) == (
        "\x1b[1mTrace 1\x1b[0m\n\n"
        "\x1b[1mFix this first.\x1b[0m\n\n"
        "\x1b[38;5;136m!\x1b[0m \x1b[38;5;136mData lost\x1b[0m\n\n"
        "saving      \x1b[1mlikely 1 ms per step\x1b[0m, 0 ns to 2 ms\n"
        "confidence  \x1b[2mlow\x1b[0m. Nothing says so.\n\n"
        "finding  per step  confidence\n-------  --------  ----------\n"
        "x            \x1b[1m1 ms\x1b[0m  \x1b[38;5;28mhigh\x1b[0m\n\n"
        f"\x1b[38;5;28m{'█' * 30}\x1b[0m\x1b[38;5;167m{'░' * 30}\x1b[0m\n"
        "\x1b[38;5;28m█\x1b[0m compute  \x1b[38;5;167m░\x1b[0m idle\n\n"
        '  \x1b[2mtraceq sql DB "select 1"\x1b[0m\n'
    )


def test_what_is_bold_goes_on_in_the_next_line():
    facts = Facts((("saving", ("likely 9.202 ms per step (6.9 % of the step), 0 ns to 16 ms",)),))
    assert lines(facts, width=40, colour=True).splitlines() == [
        "saving",
        "  \x1b[1mlikely 9.202 ms per step (6.9 % of the\x1b[0m",
        "  \x1b[1mstep)\x1b[0m, 0 ns to 16 ms",
    ]


def luminance(code):
    """WCAG 2's relative luminance of one of the 216 colours of the cube."""
    levels = (0, 95, 135, 175, 215, 255)
    number = int(code) - 16
    shares = [levels[number // each % 6] / 255 for each in (36, 6, 1)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("code", sorted({*colour.PARTS.values(), colour.GREEN, colour.YELLOW}))
def test_colours_can_be_read_on_black_and_on_white(code):
    of_colour = luminance(code)
    # 3:1 is what WCAG 2 asks of charts and large text.
    assert 1.05 / (of_colour + 0.05) > 3
    assert (of_colour + 0.05) / 0.05 > 3


PIECES = st.sampled_from(
    ["a", "1", " ", "%", ". ", "|", "\x1b[31m", "\n", "\u202e", "日本", "e\u0301", "word " * 9, "x" * 90]
)
WORDS = st.builds(
    lambda pieces, kind: (kind("".join(pieces)),), st.lists(PIECES, max_size=6), st.sampled_from([str, Name, Title])
)
TABLES = st.integers(1, 6).flatmap(
    lambda columns: st.builds(
        lambda head, rows: Table(tuple(head), tuple(map(tuple, rows)), (0,)),
        st.lists(st.sampled_from(["", "confidence", "per step", "a long title of a column"]), min_size=columns).map(
            lambda head: head[:columns]
        ),
        st.lists(st.lists(WORDS.map(lambda spans: spans[0]), min_size=columns, max_size=columns), max_size=3),
    )
)
AMOUNTS = st.lists(st.tuples(st.sampled_from(["", "compute", "idle", "idle_sync", "new"]), st.floats(0, 9)), max_size=4)
ROWS = st.builds(BarRow, st.sampled_from(["GPU 0", "GPU 0 from device to host"]), AMOUNTS, st.just("123.4 ms"))
LEDGERS = st.builds(
    Ledger,
    WORDS,
    st.sampled_from(["177.6 ms per step", "1.000 s per step (mean of 10 steps, median 1.000 s)"]),
    st.lists(
        st.builds(
            LedgerRow,
            st.sampled_from(["compute", "idle: host communication", "operators, backward"]),
            st.sampled_from(["compute", "idle_sync"]),
            st.floats(0, 1),
            st.just("12.34 ms"),
            st.sampled_from([(), (Reference("F1"), Reference("F10"))]),
        ),
        min_size=1,
        max_size=3,
    ).map(tuple),
)
RANKED = st.builds(
    RankedFinding,
    st.sampled_from([Reference("F1"), Reference("F10")]),
    WORDS.map(lambda spans: Title(spans[0])),
    st.sampled_from(["55.32 ms", "<= 1.000 s"]),
    st.just("31.2 %"),
    st.sampled_from(["1.45x", "-"]),
    st.sampled_from(["high", "medium"]),
    WORDS,
)
BLOCKS = st.one_of(
    st.builds(Heading, st.integers(1, 4), WORDS),
    st.builds(
        Verdict,
        WORDS,
        beside=st.sampled_from(["", "medium confidence"]),
        lines=st.lists(WORDS, max_size=3).map(tuple),
    ),
    LEDGERS,
    st.builds(Ranking, st.lists(RANKED, min_size=1, max_size=3).map(tuple), st.just("step")),
    st.builds(Paragraph, WORDS),
    st.builds(Warn, WORDS),
    st.builds(Items, st.lists(WORDS, min_size=1)),
    st.builds(Facts, st.lists(st.tuples(st.sampled_from(["fix", "saving", "confidence"]), WORDS), min_size=1)),
    TABLES,
    st.builds(Bars, st.lists(ROWS, min_size=1, max_size=3)),
    st.builds(Curve, st.lists(st.floats(0, 9), max_size=80), st.just("memory")),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(BLOCKS, max_size=4), st.integers(30, 110))
def test_whatever_is_in_it_no_line_is_too_wide_and_no_code_comes_from_it(blocks, columns):
    plain = blocks_to_text(blocks, columns)
    assert max(map(width, plain.split("\n"))) <= min(max(columns, 40), 100)
    assert all(line.isprintable() for line in plain.split("\n"))
    coloured = blocks_to_text(blocks, columns, colour=True)
    assert [line.rstrip() for line in CODE.sub("", coloured).split("\n")] == plain.split("\n")
