"""What findings in reports of real programs' traces predict, against what their fixes won."""

from __future__ import annotations

import re
import statistics

import pytest

import traceq
from pairs.catalogue import PAIRS
from pairs.measured import FOLDER, HEADING, load, section, won
from pairs.prediction import predicted
from traceq.diagnosis.rules.registry import RULES

ROOT = FOLDER.parents[1]
TRACES = sorted(FOLDER.glob("*.json.gz"))
NOISE = 0.05  # of a step: by how much runs of the same program differ on these cores


@pytest.fixture(scope="module", params=TRACES, ids=lambda path: path.name.split(".")[0])
def slow(request, tmp_path_factory):
    """A pair and the database of the trace of its slow program."""
    (one,) = [each for each in PAIRS if each.name == request.param.name.split(".")[0]]
    database = tmp_path_factory.mktemp("pair") / "slow.duckdb"
    traceq.ingest(request.param, database)
    return one, database


def test_the_finding_tells_what_the_fix_wins(slow):
    one, database = slow
    shares = won(load()["pairs"][one.name])
    with traceq.open(database) as traces:
        found = predicted(one, traces)
    assert found.likely == pytest.approx(statistics.median(shares), rel=0.25)
    assert found.low <= shares[-1] + NOISE
    assert found.high >= shares[0] - NOISE


def test_the_flaw_is_what_the_report_says_first(slow):
    one, database = slow
    with traceq.open(database) as traces:
        assert traces.report().findings["rule"].iloc[0] == one.rule


def test_each_pair_names_a_rule():
    assert {each.rule for each in PAIRS} <= {name.replace("_", "-") for name in RULES}


def test_the_page_shows_what_was_measured():
    page = (ROOT / "docs" / "accuracy.md").read_text("utf-8")
    written = re.split(r"\n(?:## |<!-- )", page.split(f"{HEADING}\n")[1])[0]
    assert f"{HEADING}\n{written}".rstrip() == "\n".join(section(load())).rstrip()


def test_each_program_is_a_pair():
    programs = {path.stem for path in (ROOT / "fixtures" / "make" / "pairs").glob("*.py")} - {"loop"}
    assert programs == {each.name for each in PAIRS}
