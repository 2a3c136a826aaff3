"""Triage against simulated captures whose kind is known (fixtures/make/simulator/captures)."""

from __future__ import annotations

import os

import pytest
import tables
from simulator.captures import KINDS, capture

from traceq import importers

# By default a few a kind; TRACEQ_TRIAGE_SEEDS=50 judges 350, or FIRST..LAST seeds that nobody has looked at.
SEEDS = os.environ.get("TRACEQ_TRIAGE_SEEDS", "2")
RIGHT = 0.98


def _list_seeds():
    first, _, last = SEEDS.rpartition("..")
    return range(int(first or 0), int(last))


def _triage_capture(one, folder):
    path = one.write(folder)
    importer = importers.sniff(path)
    connection = tables.filled(importer.read(path, lambda *_: None), "triage", format_=importer.NAME)
    ((kind, reason, steps),) = connection.execute(
        "select kind, reason, (select count(*) from step where source <> 'window') from triage"
    ).fetchall()
    connection.close()
    return kind, reason, steps


@pytest.mark.parametrize("kind", KINDS)
def test_simulated_captures_are_what_they_were_made_as(kind, tmp_path):
    made = [capture(kind, seed) for seed in _list_seeds()]
    found = [_triage_capture(one, tmp_path) for one in made]
    wrong = [
        f"{one.seed} {one.situation} ({one.format}): {one.kind} {one.reason}, found {' '.join(each[:2])}"
        for one, each in zip(made, found, strict=True)
        if each[0] != one.kind
    ]
    # phases of loops that nothing marks are free
    wrong += [
        f"{one.seed} {one.situation} ({one.format}): {one.steps} steps, found {each[2]}"
        for one, each in zip(made, found, strict=True)
        if one.kind == "steps" and each[0] == "steps" and abs(each[2] - one.steps) > 1
    ]
    assert len(wrong) <= (1 - RIGHT) * len(made), "\n".join(wrong)
