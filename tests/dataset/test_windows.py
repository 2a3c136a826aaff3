"""Which window and which rank pieces belong to."""

from __future__ import annotations

import pytest

from traceq.dataset.manifest import Piece
from traceq.dataset.piece import Made
from traceq.dataset.windows import placed


def made(trace_id, rank=None, span=(None, None), file_rank=None, run="base"):
    return Made(
        trace_id=trace_id,
        run=run,
        rank=rank,
        file_rank=file_rank,
        source="trace.json",
        sha256=str(trace_id),
        asked="",
        begin=span[0],
        end=span[1],
        digest="",
        tables={},
        size=0,
        cost={},
    )


def piece(trace_id, window, rank, span=(None, None), run="base"):
    return Piece(trace_id, run, window, rank, str(trace_id), "", 0, 0, *span)


@pytest.mark.parametrize(
    ("known", "new", "expected"),
    [
        pytest.param([], [made(1, 0, (0, 10)), made(2, 1, (5, 15))], [(0, 0), (0, 1)], id="at one time"),
        pytest.param([], [made(1, 0, (20, 30)), made(2, 0, (0, 10))], [(1, 0), (0, 0)], id="one after the other"),
        pytest.param(
            [piece(1, 0, 0, (0, 10)), piece(2, 1, 0, (20, 30))], [made(3, 1, (22, 28))], [(1, 1)], id="a late rank"
        ),
        pytest.param([piece(1, 0, 0, (0, 10))], [made(2, 0, (5, 15))], [(1, 0)], id="a rank that is there"),
        pytest.param([piece(1, 0, 0)], [made(2, 1), made(3, 1), made(4, 0)], [(0, 1), (1, 1), (1, 0)], id="no clock"),
        pytest.param([piece(1, 3, 0)], [made(2, 0, run="other")], [(0, 0)], id="another run"),
        pytest.param([], [made(1, None, (0, 9), file_rank=7)], [(0, 7)], id="the rank of its name"),
        pytest.param(
            [],
            [made(1, None, (0, 9)), made(2, 0, (0, 9)), made(3, None, (0, 9))],
            [(0, 1), (0, 0), (0, 2)],
            id="no rank",
        ),
    ],
)
def test_windows_are_what_was_recorded_together(known, new, expected):
    assert placed(known, new) == expected
