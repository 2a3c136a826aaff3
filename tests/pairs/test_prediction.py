"""What findings in reports of real programs' traces predict, against what their fixes won."""

from __future__ import annotations

import ast
import json
import re

import pytest

import traceq
from pairs.catalogue import PAIRS
from pairs.measurements import FOLDER, HEADING, TRUTH, Measurements, load, section, truth, won
from pairs.prediction import predicted
from traceq.diagnosis.grading.causes import all_causes
from traceq.diagnosis.rules.registry import RULES
from traceq.runs.verify.calibration import read

ROOT = FOLDER.parents[1]
PROGRAMS = ROOT / "fixtures" / "make" / "pairs"
TRACES = sorted(FOLDER.glob("*.json.gz"))
NOISE = 0.05  # of a step: by how much runs of the same program differ on these cores


@pytest.fixture(scope="module", params=TRACES, ids=lambda path: path.name.split(".")[0])
def slow(request, tmp_path_factory):
    """A pair and the database of the trace of its slow program."""
    (one,) = [each for each in PAIRS if each.name == request.param.name.split(".")[0]]
    database = tmp_path_factory.mktemp("pair") / "slow.duckdb"
    traceq.ingest(request.param, database)
    return one, database


@pytest.mark.sample(8)
def test_the_finding_tells_what_the_fix_wins(slow):
    one, database = slow
    shares = won(load()["pairs"][one.name])
    with traceq.open(database) as traces:
        finding, step_ns = predicted(one, traces)
    assert finding.saving_low_ns / step_ns <= shares[-1] + NOISE
    assert finding.saving_high_ns / step_ns >= shares[0] - NOISE


@pytest.mark.sample(3)
def test_the_flaw_is_what_the_report_says_first(slow):
    one, database = slow
    with traceq.open(database) as traces:
        findings = traces.report(rules=["extra"]).findings.sort_values("saving_ns", ascending=False)
        assert findings["rule"].iloc[0] in one.rules


def test_each_pair_names_rules_and_a_cause():
    assert {rule for each in PAIRS for rule in each.rules} <= {name.replace("_", "-") for name in RULES}
    assert {each.cause for each in PAIRS} <= all_causes().keys()
    assert len(PAIRS) >= 32
    assert all(each.why and each.fix for each in PAIRS)


def test_there_are_labels_of_what_was_measured_and_of_each_trace_that_is_kept():
    labels = json.loads(TRUTH.read_text("utf-8"))
    assert labels == truth(load())
    assert {label["trace"] for label in labels.values() if label["trace"]} == {
        path.relative_to(ROOT).as_posix() for path in TRACES
    }


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_a_kept_trace_is_small(path):
    assert path.stat().st_size <= 100_000


@pytest.mark.parametrize("name", [each.name for each in PAIRS])
def test_a_program_says_what_is_slow_and_what_the_fix_is(name):
    doc = ast.get_docstring(ast.parse((PROGRAMS / f"{name}.py").read_text("utf-8")))
    assert "; fixed: " in doc


def test_the_page_shows_what_was_measured():
    page = (ROOT / "docs" / "accuracy.md").read_text("utf-8")
    written = re.split(r"\n(?:## |<!-- )", page.split(f"{HEADING}\n")[1])[0]
    assert f"{HEADING}\n{written}".rstrip() == "\n".join(section(load())).rstrip()


def test_each_program_is_a_pair():
    programs = {path.stem for path in PROGRAMS.glob("*.py")} - {"loop"}
    assert programs == {each.name for each in PAIRS}


def test_losses_are_no_labels():
    lost: Measurements = {
        "cores": 2,
        "pairs": {"collate": {"slow_ns": [100, 100], "fixed_ns": [50, 110], "predicted": None}},
    }
    assert truth(lost) == {}


def test_pairs_that_failed_are_named_on_the_page():
    lines = list(section({**load(), "failed": ["threads"]}))
    assert "Failed when they were run last, and not in the tables: threads." in lines
    assert not any(line.startswith("Failed") for line in section(load()))


def test_notes_of_misses_are_in_the_lines_of_pairs():
    notes = {line.program: line.note for line in read(ROOT / "docs" / "calibration.jsonl") if line.how == "pair"}
    assert {each.name: each.note for each in PAIRS if each.name in notes} == notes
