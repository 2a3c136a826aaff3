"""What captures are, and how many steps they hold, against the labels of tests/truth, made from the raw files before the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import tables
from trace_files import SHARED

from traceq import importers

LABELS = [
    json.loads(path.read_text()) for path in sorted((Path(__file__).parents[1] / "truth" / "traces").glob("*.json"))
]
# Larger files are read by the slow tests.
SMALL = 40_000
# Not read as traces: a pointer to a file, and a database without rows.
NO_TRACE = {
    "torchbench_lfs_pointer.pt.trace.json.gz",
    "jacc_rocm_results_empty.db",
}
STEPS = """
    select count(*) filter ((excluded is null or starts_with(excluded, 'warm-up')) and source <> 'window') from step
"""
RIGHT = 0.95


def _list_paths():
    for label in LABELS:
        path = SHARED / label["trace"]
        if path.exists() and path.name not in NO_TRACE:
            yield label, path


def _judge_capture(path):
    importer = importers.sniff(path)
    connection = tables.filled(importer.read(path, lambda *_: None), "triage", format_=importer.NAME)
    ((kind, reason),) = connection.execute("select kind, reason from triage").fetchall()
    ((steps,),) = connection.execute(STEPS).fetchall()
    connection.close()
    return kind, reason, steps


def _accept_kinds(capture):
    return {capture["kind"], *(each["kind"] for each in capture["may_also_be"])}


def _accept_steps(unit):
    others = [each for each in unit["may_also_be"] if not re.match("wrong|the layer", each.get("why", ""))]
    none = {0 for each in others if each.get("kind") == "none"}
    return {unit["steps"], *none, *(each["steps"] for each in others if "steps" in each)}


def _list_wrong(chosen):
    """Lists captures and units that are not as labelled, and how many there were."""
    kinds, units = [], []
    for label, path in chosen:
        kind, reason, steps = _judge_capture(path)
        accepted = _accept_kinds(label["capture"])
        if kind not in accepted:
            kinds.append(f"{path.name}: {' or '.join(sorted(accepted))}, found {kind} {reason}")
        if steps not in _accept_steps(label["unit"]):
            units.append(f"{path.name}: {label['unit']['steps']} steps, found {steps}")
    return kinds, units, len(chosen)


def _check(chosen):
    if not chosen:
        pytest.skip("the folder shared is not beside the checkout")
    kinds, units, number = _list_wrong(chosen)
    assert len(kinds) <= (1 - RIGHT) * number, "\n".join(kinds)
    assert len(units) <= (1 - RIGHT) * number, "\n".join(units)


def test_small_captures_and_their_units_are_as_labelled():
    _check([(label, path) for label, path in _list_paths() if path.stat().st_size <= SMALL])


@pytest.mark.slow
def test_all_captures_and_their_units_are_as_labelled():
    _check(list(_list_paths()))


def _without_gpu_work():
    for label, path in _list_paths():
        if label["capture"]["kind"] in ("nothing_recorded", "host_only"):
            marks = [pytest.mark.slow] if path.stat().st_size > 10 * SMALL else []
            yield pytest.param(label, path, id=path.name, marks=marks)


@pytest.mark.parametrize(("label", "path"), list(_without_gpu_work()))
def test_of_captures_without_gpu_work_the_reason_is_the_labelled_one(label, path):
    capture = label["capture"]
    accepted = {(each["kind"], each["reason"]) for each in (capture, *capture["may_also_be"])}
    assert _judge_capture(path)[:2] in accepted
