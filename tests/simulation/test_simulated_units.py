"""Steps are found in programs of all kinds, whether annotations mark them or not; or traceq says that it cannot tell.

With TRACEQ_UNIT_PROGRAMS=40 in the environment there are so many of each kind instead of a few.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict

import pytest
from simulator.kinds import KINDS
from simulator.program import Graph
from transformations import without_annotations
from unit_programs import WRITERS, fill_unit_tables, find_unit, judge_unit, list_boundaries, make_program

PROGRAMS = int(os.environ.get("TRACEQ_UNIT_PROGRAMS", "2"))
# Of all programs.
RIGHT, ABSTAINED, WRONG = 0.9, 0.1, 0.01

UNIT = "select level, source, name, count, period, launches, is_step, is_possible from unit order by unit"
# The profiler of PyTorch has slices of its own before and after all others.
WINDOW = "select * exclude (trace_id, share) from phase_of_run where phase in ('left_out', 'window') order by ts"
LEDGER = "select device, step, category, dur from time_ledger order by all"


def judge_programs(folder, *, is_marked):
    """Judge each program by kind: (kind, seed) -> verdict."""
    said = {}
    for kind in KINDS:
        for seed in range(PROGRAMS):
            one = make_program(kind, seed, list(WRITERS)[seed % 2], folder)
            if is_marked or one.known.recurs:
                change = {} if is_marked else {"change": without_annotations()}
                said[kind, seed] = judge_unit(
                    find_unit(fill_unit_tables(one.path, **change)), one.known, list_boundaries(one.known, one.run)
                )
            one.path.unlink()
    return said


def tally_verdicts(said):
    """Kinds and how many of each are right, abstained, wrong."""
    rows = defaultdict(Counter)
    for (kind, _), verdict_ in said.items():
        rows[kind][verdict_ if verdict_ in ("right", "abstained") else "wrong"] += 1
    lines = [f"{'':24}right abstained wrong"]
    return "\n".join(
        [*lines, *(f"{kind:24}{row['right']:5}{row['abstained']:10}{row['wrong']:6}" for kind, row in rows.items())]
    )


@pytest.mark.slow
@pytest.mark.parametrize("is_marked", [False, True], ids=["unmarked", "marked"])
def test_units_of_programs_of_all_kinds(is_marked, tmp_path):
    said = judge_programs(tmp_path, is_marked=is_marked)
    print(tally_verdicts(said))  # noqa: T201
    wrong = {key: words for key, words in said.items() if words not in ("right", "abstained")}
    assert len(wrong) <= WRONG * len(said), wrong
    counted = Counter(said.values())
    assert counted["abstained"] <= ABSTAINED * len(said)
    assert counted["right"] >= RIGHT * len(said)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", [kind for number, kind in enumerate(KINDS) if PROGRAMS > 2 or number % 4 == 0])
def test_both_formats_say_the_same(kind, tmp_path):
    several = [make_program(kind, 1, trace_format, tmp_path) for trace_format in WRITERS]
    connections = [fill_unit_tables(one.path, "time_ledger") for one in several]
    # nsys shows graphs as a whole
    is_opaque = any(isinstance(one.item.action, Graph) for one in several[0].run.processes[0].started)
    for query in (UNIT, WINDOW, *(() if is_opaque else (LEDGER,))):
        ours, theirs = (connection.execute(query).fetchall() for connection in connections)
        assert ours == theirs, query
