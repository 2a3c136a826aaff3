"""Tables on a terminal: no line is longer than it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from traceq.cli._table import write_plain, write_vertical

MANY = [f"column_{number}" for number in range(12)]


def written(header, rows, width=None, numeric=None):
    file = io.BytesIO()
    write_plain(header, rows, numeric or [True] * len(header), file, width)
    return file.getvalue().decode()


def test_columns_in_the_middle_are_left_out_and_that_is_said():
    rows = [[str(number)] * 12 for number in range(6)]
    shown = written(MANY, rows, 60).splitlines()
    assert shown[0] == "column_0  column_1  column_2  …  column_10  column_11"
    assert shown[2] == "       0         0         0  …          0          0"
    assert shown[-1] == "5 of 12 columns are shown; --vertical shows all"


def test_few_rows_stand_one_below_the_other():
    assert written(["a", "long_name"], [["1", "x" * 90], ["2", "y"]], 40, [True, True]) == (
        "a          1\n" + "long_name  " + "x" * 28 + "…\n\na          2\nlong_name  y\n"
    )


def test_without_a_terminal_nothing_is_left_out():
    (line, *_) = written(MANY, [["1"] * 12]).splitlines()
    assert line.split() == MANY


def test_no_rows_are_said():
    assert written(MANY, [], 30).splitlines()[-2:] == ["(no rows)", "2 of 12 columns are shown; --vertical shows all"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "a long name of a column", "日本"]), min_size=1, max_size=12).flatmap(
        lambda header: st.tuples(
            st.just(header),
            st.lists(
                st.lists(
                    st.sampled_from(["1", "123456789012", "word " * 9, "\x1b[31m", "日本語" * 5]),
                    min_size=len(header),
                    max_size=len(header),
                ),
                max_size=8,
            ),
        )
    ),
    st.integers(50, 120),
    st.booleans(),
)
def test_no_line_is_wider_than_the_terminal(table, width, is_number):
    header, rows = table
    lines = written(header, rows, width, [is_number] * len(header)).splitlines()
    assert max(map(cell_len, lines)) <= max(width, len("12 of 12 columns are shown; --vertical shows all"))
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("width", [None, 20])
def test_vertical_keeps_every_column(width):
    file = io.BytesIO()
    write_vertical(MANY, [["1"] * 12], file, width)
    assert len(file.getvalue().decode().splitlines()) == 12
