"""Changes applied to steps of a few slices, and predictions from the traces of real programs against what their fixes won."""

from __future__ import annotations

import dataclasses
import re
import statistics
from contextlib import closing

import pytest
from builder import TraceBuilder

import traceq
from pairs.catalogue import PAIRS, Change, Pair
from pairs.measured import FOLDER, HEADING, load, section, won
from pairs.prediction import predicted
from traceq.analysis.replay import counterfactual as replay
from traceq.analysis.replay.whatif import what_if
from traceq.database.connect import connect

ROOT = FOLDER.parents[1]
TRACES = sorted(FOLDER.glob("*.json.gz"))
STEP = 100_000
NOISE = 0.05  # of a step: by how much runs of the same program differ on these cores


def pair(*changes, mean=False):
    return Pair("a pair", "its fix", changes, "", "host-python", mean=mean)


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """Ten steps of 100 us: a fetch of 40 us (of 70 in the last one), and a range of 20 us with four operators of 4 us."""
    trace = TraceBuilder()
    for number in range(10):
        begin = number * STEP
        trace.annotation(f"ProfilerStep#{number}", begin, STEP)
        trace.annotation("fetch", begin, 70_000 if number == 9 else 40_000)
        trace.annotation("chain", begin + 75_000, 20_000)
        for operator in range(4):
            trace.op("aten::add", begin + 75_000 + operator * 5_000, 4_000)
    folder = tmp_path_factory.mktemp("loop")
    trace.build(folder)
    with traceq.open(folder / "trace.duckdb") as traces:
        yield traces


@pytest.mark.parametrize(
    ("change", "mean", "expected"),
    [
        (Change("chain", "kept"), False, (0.2, 0.2, 0.2)),
        (Change("chain", "kept", 0.25), False, (0.15, 0.15, 0.15)),
        (Change("chain", "python"), False, (0.04, 0.04, 0.04)),
        (Change("chain", "one pass"), False, (0, 0.15, 0.2)),
        (Change("aten::*", "one"), False, (0.12, 0.12, 0.16)),
        (Change("fetch", "beside", 1), False, (0, 0.4, 0.4)),
        (Change("fetch", "usual"), False, (0, 0, 0)),
    ],
    ids=lambda value: str(value) if isinstance(value, Change) else None,
)
def test_what_a_change_takes_out_of_a_step(loop, change, mean, expected):
    found = predicted(pair(change, mean=mean), loop, cores=2)
    assert (found.low, found.likely, found.high) == pytest.approx(expected, abs=1e-9)


def test_what_is_in_some_steps_only_counts_in_the_mean(loop):
    found = predicted(pair(Change("fetch", "usual"), mean=True), loop, cores=2)
    assert found.likely == pytest.approx(0.03)
    assert found.low == 0
    assert found.high > 0.03


def test_work_beside_the_rest_needs_cores(loop):
    assert predicted(pair(Change("fetch", "beside", 4)), loop, cores=1).likely == pytest.approx(0)


def test_changes_of_one_fix_add_up(loop):
    changes = Change("chain", "kept"), Change("fetch", "kept", 0.5)
    assert predicted(pair(*changes), loop, cores=2).likely == pytest.approx(0.4)


def test_without_a_change_nothing_is_predicted(loop):
    assert predicted(pair(), loop, cores=2) is None


def test_slices_that_are_not_there_are_an_error(loop):
    with pytest.raises(ValueError, match="tokenize"):
        predicted(pair(Change("tokenize", "kept")), loop, cores=2)


@pytest.fixture(scope="module", params=TRACES, ids=lambda path: path.name.split(".")[0])
def slow(request, tmp_path_factory):
    """A pair and the database of the trace of its slow program."""
    (one,) = [each for each in PAIRS if each.name == request.param.name.split(".")[0]]
    database = tmp_path_factory.mktemp("pair") / "slow.duckdb"
    traceq.ingest(request.param, database)
    return one, database


def test_a_trace_of_the_slow_program_tells_what_the_fix_wins(slow):
    one, database = slow
    measurements = load()
    shares = won(measurements["pairs"][one.name])
    with traceq.open(database) as traces:
        found = predicted(one, traces, measurements["cores"])
    assert found.likely == pytest.approx(statistics.median(shares), rel=0.25)
    assert found.low <= shares[-1] + NOISE
    assert found.high >= shares[0] - NOISE


def test_what_if_says_the_same_of_what_stays_in_part(slow):
    one, database = slow
    if any(change.how != "kept" for change in one.changes):
        pytest.skip("what_if has no such change")
    with traceq.open(database) as traces:
        found = predicted(dataclasses.replace(one, mean=True), traces, load()["cores"])
    asked = [replay.Change("scale", f"host:{change.slices}", change.amount) for change in one.changes]
    with closing(connect(database)) as connection:
        answer = what_if(connection, 1, asked)
    assert answer.saved.likely / answer.before_ns == pytest.approx(found.recorded, abs=0.02)


def test_the_page_shows_what_was_measured():
    page = (ROOT / "docs" / "accuracy.md").read_text("utf-8")
    written = re.split(r"\n(?:## |<!-- )", page.split(f"{HEADING}\n")[1])[0]
    assert f"{HEADING}\n{written}".rstrip() == "\n".join(section(load())).rstrip()


def test_each_program_is_a_pair():
    programs = {path.stem for path in (ROOT / "fixtures" / "make" / "pairs").glob("*.py")} - {"loop"}
    assert programs == {each.name for each in PAIRS}
