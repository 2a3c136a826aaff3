"""What notes, findings and sections say of real traces is in their tables: it is counted again, by other queries."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from finding_checks import wrong_of_findings, wrong_of_tables
from labelled.rule_cases import functions, remarked
from recounts import RECOUNTS, World, list_untold
from recounts_of_sections import ELSEWHERE, SECTIONS
from trace_files import NSYS, ODD, SHARED, TORCH, strip_container

import traceq
from traceq.database.sql import shelved
from traceq.diagnosis.query import rule_query
from traceq.reports.sections import compose

PACKAGE = Path(traceq.__file__).parent

# Of these the cases are read by default: no trace of the default sample has them.
MADE_UP = ("cold_files", "late_rank", "low_mfu", "prefill_stalls_decode", "rank_imbalance", "small_microbatch")
# Larger traces are read by the slow tests, as an ingest of each costs a second.
SMALL = 12_000
OTHERS = sorted(
    path
    for folder in ("judged", "judged3")
    for path in (SHARED / folder).glob("*/*")
    if path.parent.name != "odd" and path.is_file()
)
EVERY = [*NSYS, *TORCH, *ODD, *OTHERS]

every_report = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=strip_container(path), marks=[pytest.mark.slow] if path.stat().st_size > SMALL else [])
        for path in EVERY
    ]
    or [pytest.param(None, marks=pytest.mark.skip(reason="the folder shared is not beside the checkout"))],
)


def list_remarking_rules():
    """The rules that can make a remark."""
    declared = {name for name in shelved("diagnosis/rules") if "remark" in rule_query(name).header}
    in_code = {
        path.stem
        for path in PACKAGE.glob("diagnosis/rules/*/*.py")
        if re.search(r"\bRemark\(", path.read_text("utf-8"))
    }
    return declared | in_code


# Their numbers stand in a view whose rows a test has by hand.
COUNTED_BY_HAND = {"out-of-memory": "tests/analysis/test_memory_failures.py"}


def test_every_note_is_counted_again():
    assert {rule.replace("_", "-") for rule in list_remarking_rules()} == RECOUNTS.keys() | COUNTED_BY_HAND.keys()


@every_report
def test_notes_say_what_is_there(path, reports, databases):
    wrong = [
        (each.rule, each.text, problem)
        for trace in reports(path).traces
        for each in trace.observations
        for problem in wrong_of(each, World(databases(path), each.where.trace_id, each.where.device, each.where.rank))
    ]
    assert wrong == []


def wrong_of(note, world):
    """List what is wrong with a note."""
    if note.rule in COUNTED_BY_HAND:
        return []
    return [*list_untold(note.text, RECOUNTS[note.rule](world, note.text))]


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, marks=[] if rule in MADE_UP else [pytest.mark.slow])
        for rule in sorted(list_remarking_rules())
    ],
)
def test_notes_on_made_up_traces_say_what_is_there(rule):
    told = [
        (name, note.text, wrong_of(note, World(trace.connection, trace.trace_id, trace.device, trace.rank)))
        for name, trace, note in remarked(rule)
    ]
    assert told, f"no case of {rule} makes a note: {sorted(functions(rule))}"
    assert [each for each in told if each[2]] == []


@every_report
def test_findings_say_no_more_than_there_is(path, reports, databases):
    wrong = [
        problem
        for trace in reports(path).traces
        for problem in (*wrong_of_findings(trace, databases(path)), *wrong_of_tables(trace))
    ]
    assert wrong == []


def test_every_section_is_counted_again():
    of = {name: each.__module__ for name, each in vars(compose).items() if inspect.isfunction(each)}
    sections = {name for name, module in of.items() if module.startswith("traceq.reports.sections.")}
    own = {name for name, module in of.items() if module == compose.__name__}
    assert sections - own == SECTIONS.keys() | ELSEWHERE.keys()


@every_report
def test_sections_say_what_is_there(path, reports, databases):
    wrong = [
        (name, problem)
        for trace in reports(path).traces
        for name, counted in SECTIONS.items()
        for problem in counted(World(databases(path), trace.trace.trace_id, None), trace)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "told", "problems"),
    [
        ("3 of 4 steps take 1.250 ms (F1)", ["3 of 4 steps", "1.250 ms"], []),
        ("3 of 4 steps take 1.250 ms", ["3 of 5 steps"], ["it does not say '3 of 5 steps'"]),
        ("11.2 ms", ["1.2 ms"], ["it does not say '1.2 ms'", "nobody counted '11.2'"]),
        ("1.25 ms", ["1.2"], ["it does not say '1.2'", "nobody counted '1.25'"]),
        ("2 and 2", ["2"], ["nobody counted '2'"]),
        ("sm90 and fp16, at 1,024", [], ["nobody counted '1,024'"]),
    ],
)
def test_a_number_that_is_not_there_is_noticed(text, told, problems):
    assert [each for each in list_untold(text, told) if each.startswith("it does not")] == [
        each for each in problems if each.startswith("it does not")
    ]
    assert set(problems) <= set(list_untold(text, told))
