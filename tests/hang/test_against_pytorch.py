"""PyTorch's own analyser on the same dumps: where it names a first place that differs, and ranks, traceq names the same."""

from __future__ import annotations

import copy
import pickle
from argparse import Namespace
from typing import Any, NamedTuple

import pytest

from traceq.app.hang import explain_hang

# gloo's dumps do not list the members of groups, which the analyser cannot do without
GROUPS = {
    "0": ("default_pg", [0, 1, 2, 3]),
    "1": ("tp", [0, 1]),
    "2": ("tp", [2, 3]),
    "3": ("dp", [0, 2]),
    "4": ("dp", [1, 3]),
}


class Spoken(NamedTuple):
    """The first mismatch of PyTorch's analyser: its place, missing ranks, and ranks that differ from the first one read."""

    description: str
    sequence: int
    missing: tuple[int, ...]
    differing: tuple[int, ...]


def analyse(dumps: dict[int, dict[str, Any]], *, is_partial: bool = False) -> list[Spoken]:
    """Return what the analyser says of each place that does not fit, in the order in which it comes to them."""
    builder = pytest.importorskip("torch.distributed.flight_recorder.components.builder")
    details = {}
    for rank, dump in copy.deepcopy(dumps).items():
        config = {name: {"desc": text, "ranks": str(ranks)} for name, (text, ranks) in GROUPS.items() if rank in ranks}
        details[f"fr_trace_{rank}"] = {
            "rank": rank, "entries": dump["entries"], "version": dump["version"], "pg_config": config,
        }  # fmt: skip
    arguments = Namespace(
        verbose=False, just_print_entries=False, allow_incomplete_ranks=is_partial, mismatch_cap=10, pg_filters=None
    )
    database = builder.build_db(details, arguments, dumps[0]["version"])
    return [
        Spoken(
            call.pg_desc.partition(":")[2],
            call.collective_seq_id,
            tuple(sorted(call.missing_ranks or ())),
            tuple(sorted(call.mismatch_collectives or ())),
        )
        for call in database.collectives
        if call.missing_ranks or call.mismatch_collectives
    ]


def read_dumps(folder) -> dict[int, dict[str, Any]]:
    """Return the dumps of a folder by rank; they are our own."""
    files = {rank: folder / f"fr_trace_{rank}" for rank in range(4)}
    return {rank: pickle.loads(file.read_bytes()) for rank, file in files.items() if file.exists()}  # noqa: S301


@pytest.mark.parametrize("kind", ["skip", "slow", "inversion"])
def test_missing_ranks(hangs, kind):
    """The analyser lists every group that lacks a rank; the one that traceq names is among them, with the same rank."""
    first = explain_hang(hangs / kind).content
    spoken = analyse(read_dumps(hangs / kind))
    assert first.first is not None
    assert Spoken(first.first.group.description, first.first.sequence, first.culprits, ()) in spoken
    places = {row.parting.group.description: row.parting.sequence for row in first.progress}
    lacking = {(row.parting.group.description, row.parting.sequence, row.parting.lacking) for row in first.progress}
    # of each group the analyser goes on behind the first place; traceq does not
    unknown = [place for place in spoken if place[:3] not in lacking and place.sequence <= places[place.description]]
    assert unknown == []


@pytest.mark.parametrize("kind", ["sizes", "types", "order"])
def test_differing_ranks(hangs, kind):
    """The analyser takes the first rank to be right: with it the rank that traceq names differs."""
    hang = explain_hang(hangs / kind).content
    assert hang.first is not None
    spoken = next(place for place in analyse(read_dumps(hangs / kind)) if place.differing)
    assert (spoken.description, spoken.sequence) == (hang.first.group.description, hang.first.sequence)
    others = set(hang.first.present_ranks) - set(hang.culprits)
    assert set(spoken.differing) in (set(hang.culprits), others)


def test_a_rank_without_a_dump_silences_the_analyser(hangs):
    with pytest.raises(AssertionError, match="Missing dump files from ranks"):
        analyse(read_dumps(hangs / "died"))
    assert [place for place in analyse(read_dumps(hangs / "died"), is_partial=True) if 1 in place.missing] == []


def test_nothing_is_said_of_a_job_that_does_not_hang(hangs):
    assert analyse(read_dumps(hangs / "healthy")) == []
    assert explain_hang(hangs / "healthy").content.kind == "none"
