"""Dumps of real programs that hung over gloo (fixtures/make/hangs): the first group, the rank, and where it is, for each kind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from traceq.app.hang import explain_hang
from traceq.diagnosis.hang.model import Hang
from traceq.reports.hang.words import find_source_line

TRUTH = json.loads((Path(__file__).parents[2] / "fixtures" / "hangs" / "truth.json").read_text())
KINDS = list(TRUTH)


def describe(hang: Hang) -> dict[str, object]:
    """Return what truth.json says of a hang."""
    if hang.first is None:
        return {"kind": hang.kind}
    call = next((place.call for place in hang.places if place.ranks == hang.culprits), None)
    line = None if call is None else find_source_line(call.stack)
    return {
        "kind": hang.kind,
        "group": list(hang.first.group.members),
        "sequence": hang.first.sequence,
        "ranks": list(hang.culprits),
        "line": next((frame.name for frame in call.stack if f"{frame.file}:{frame.line}" == line), None)
        if call
        else None,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(hangs, kind):
    """All ranks' pickles, which have stacks."""
    assert describe(explain_hang(hangs / kind).content) == TRUTH[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_dumps_in_json_say_the_same_without_stacks(hangs, kind):
    found = describe(explain_hang(str(hangs / kind / "*.json")).content)
    assert found == {**TRUTH[kind], **({"line": None} if "line" in TRUTH[kind] else {})}


@pytest.mark.parametrize("kind", ["skip", "order", "sizes", "types"])
def test_others_that_are_slow_do_not_count(hangs, kind):
    """The rank of a missing dump is not blamed where the dumps that are there show who differs."""
    culprit = TRUTH[kind]["ranks"][0]
    bystander = next(
        rank for rank in range(4) if rank not in TRUTH[kind]["group"] or (kind == "order" and rank != culprit)
    )
    files = [file for file in (hangs / kind).glob("fr_trace_?") if file.name != f"fr_trace_{bystander}"]
    hang = explain_hang(files, world_size=4).content
    assert hang.first is not None
    assert (hang.first.sequence, hang.culprits) == (TRUTH[kind]["sequence"], (culprit,))
    assert hang.confidence == "medium"


def test_a_dump_that_ends_early_is_that_of_a_rank_that_was_stopped(hangs, tmp_path):
    """Half a pickle: its whole entries are read, the rank is late, and the file is named."""
    for rank in range(4):
        content = (hangs / "skip" / f"fr_trace_{rank}").read_bytes()
        (tmp_path / f"fr_trace_{rank}").write_bytes(content[: len(content) // 2] if rank == 2 else content)
    hang = explain_hang(tmp_path).content
    assert hang.culprits == (2,)
    assert [(Path(path).name, fault[:17]) for path, fault in hang.dumps.faults] == [("fr_trace_2", "it ends too early")]


@pytest.mark.slow
def test_hangs_that_are_made_now(tmp_path):
    """Another run of the programs, with other timing and ports."""
    pytest.importorskip("torch")
    make = Path(__file__).parents[2] / "fixtures" / "make" / "hangs" / "make.py"
    kinds = ["skip", "types", "died", "slow"]
    subprocess.run(
        [sys.executable, str(make), str(tmp_path), *kinds], check=True, timeout=400, stdout=subprocess.DEVNULL
    )
    assert {kind: describe(explain_hang(tmp_path / kind).content) for kind in kinds} == {
        kind: TRUTH[kind] for kind in kinds
    }
