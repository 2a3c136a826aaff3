"""Which run, window and rank pieces belong to."""

from __future__ import annotations

import pytest

from traceq.dataset import ingest
from traceq.dataset.manifest import Manifest, Piece
from traceq.dataset.piece import MadePiece
from traceq.dataset.place import Place
from traceq.dataset.placement import place_pieces


def made(trace_id, rank=None, span=(None, None), file_rank=None, run="base", folder="", key="world 4"):
    return MadePiece(
        trace_id=trace_id,
        run=run,
        rank=rank,
        file_rank=file_rank,
        source=f"{folder}/trace.json",
        job_key=key,
        sha256=str(trace_id),
        asked="",
        begin=span[0],
        end=span[1],
        digest="",
        tables={},
        size=0,
        cost={},
    )


def piece(trace_id, window, rank, span=(None, None), run="base", key=None):
    return Piece(trace_id, run, window, rank, str(trace_id), "", 0, 0, *span, job_key=key)


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
    assert [(each.window, each.rank) for each in place_pieces(known, new, {})] == expected


def test_what_is_replaced_stays_where_it_was():
    known = [piece(1, 0, 0, (0, 10)), piece(2, 1, 0, (20, 30))]
    new = [made(1, 0, (0, 10), run=None), made(3, 1, (5, 15))]
    found = place_pieces(known[1:], new, {1: known[0]})
    assert [(each.run.name, each.window, each.rank) for each in found] == [("base", 0, 0), ("base", 0, 1)]


def unnamed(trace_id, rank, folder, span=(0, 10), key="world 4"):
    return made(trace_id, rank, span, run=None, folder=folder, key=key)


@pytest.mark.parametrize(
    ("known", "new", "expected"),
    [
        pytest.param([], [unnamed(1, 0, "/t/rank0"), unnamed(2, 1, "/t/rank1")], ["t", "t"], id="a folder a rank"),
        pytest.param(
            [],
            [unnamed(1, 0, "/t/first"), unnamed(2, 0, "/t/second", (20, 30))],
            ["t", "t"],
            id="a folder a window",
        ),
        pytest.param([], [unnamed(1, 0, "/t/a"), unnamed(2, 0, "/t/b")], ["a", "b"], id="jobs beside each other"),
        pytest.param(
            [],
            [unnamed(1, 0, "/t"), unnamed(2, 1, "/t"), unnamed(3, 0, "/t", key="world 8")],
            ["t", "t", "t-1"],
            id="worlds of two sizes",
        ),
        pytest.param(
            [],
            [unnamed(1, None, "/t/a", key="folder /t/a/"), unnamed(2, None, "/t/b", key="folder /t/b/")],
            ["a", "b"],
            id="worlds of no known size",
        ),
        pytest.param([], [unnamed(1, None, "/t"), unnamed(2, 0, "/t")], ["t", "t"], id="one says no rank"),
        pytest.param([], [unnamed(1, 0, "/")], ["traces"], id="no folder"),
        pytest.param([], [unnamed(1, 0, "/" + 100 * "å")], ["traces"], id="a name too long to be a folder"),
        pytest.param([piece(1, 0, 0, (0, 10), "t")], [unnamed(2, 1, "/t")], ["t-1"], id="beside a run that has a name"),
        pytest.param(
            [piece(1, 0, 0, (0, 10), "t", "world 4")], [unnamed(2, 1, "/late")], ["t"], id="a late rank from elsewhere"
        ),
        pytest.param(
            [piece(1, 0, 0, (0, 10), "t", "world 4")],
            [unnamed(2, 0, "/late"), unnamed(3, 1, "/late")],
            ["late", "late"],
            id="a job that ran beside the one that is there",
        ),
        pytest.param(
            [piece(1, 0, 0, (0, 10), "a", "world 4 in /t/a")],
            [unnamed(2, 1, "/t/a")],
            ["a"],
            id="a late rank of such a job",
        ),
        pytest.param([piece(1, 0, 0, (0, 10), "t", "world 4")], [made(2, 1, (0, 10), run="t")], ["t"], id="by name"),
    ],
)
def test_traces_without_a_run_have_that_of_their_job(known, new, expected):
    assert [each.run.name for each in place_pieces(known, new, {})] == expected


def test_jobs_are_numbered_as_in_a_database(monkeypatch):
    monkeypatch.setattr(ingest, "fill_window", lambda _place, _manifest, _pieces, window: window)
    pieces = (piece(1, 0, 0, run="a", key="world 8"), piece(2, 0, 0, run="b", key="world 4"), piece(3, 0, 0, run="c"))
    manifest = Manifest(pieces=pieces, shapes=((),))
    windows = ingest.refill_windows(Place("."), manifest, {("a", 0), ("b", 0), ("c", 0)})
    assert [(each.job, each.run) for each in windows] == [(0, "c"), (1, "b"), (2, "a")]
