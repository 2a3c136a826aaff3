"""Queries of rules: what they share, their headers, and that what is printed gives what was found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builder import TraceBuilder

from traceq import diagnosis
from traceq.diagnosis import user_rules
from traceq.diagnosis.judge import judge
from traceq.diagnosis.query import (
    RuleQuery,
    TableCondition,
    Workspace,
    is_shared,
    read,
    rule_query,
    shared_query,
    standalone_query,
)
from traceq.diagnosis.rules.registry import RULES, all_rules
from traceq.errors import UnusableRule
from traceq.runs.budgets.read import rule_names as known_rules

PACKAGE = Path(diagnosis.__file__).parent
FILES = [*PACKAGE.glob("rules/*/*.sql"), *PACKAGE.glob("shared/*.sql")]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A trace with findings that use what is shared, and what the rules say of it."""
    trace = TraceBuilder()
    for start in range(0, 500_000, 100_000):
        trace.annotation("outer", start, 10_000)
        trace.op("aten::item", start + 4_000, 30_000)
        trace.memcpy("d2h", start + 30_000, 2_000, launched=(start + 5_000, 28_000))
        trace.kernel("gemm", start + 50_000, 40_000, launched=(start + 40_000, 1_000))
    traces = trace.build(tmp_path_factory.mktemp("trace"))
    return traces._connection, judge(traces._connection)[0]


def test_what_is_printed_runs_alone_and_gives_what_was_found(judged):
    connection, result = judged
    evidence = [each for finding in result.findings for each in (finding.summary, finding.instances)]
    evidence += [each.evidence for each in result.observations]
    assert len(evidence) > 4
    for each in evidence:
        rows = connection.execute(each.query).fetchall()
        assert [tuple(map(str, row)) for row in rows] == [tuple(map(str, row)) for row in each.rows], each.query


def test_no_temp_table_outlives_the_judgement(judged):
    connection, _ = judged
    assert connection.execute("select table_name from duckdb_tables() where temporary").fetchall() == []


def test_what_a_query_uses_is_in_front_of_it_after_what_that_uses_itself():
    text = standalone_query(
        RuleQuery("select * from matrix_kernel", {"uses": "matrix_kernel"}), {"trace_id": 1, "device": 0}
    )
    assert re.findall(r"(\w+) as \( ?(?:select \* from busy_piece|select distinct name|with named)", text) == [
        "busy",
        "kernel_name",
        "matrix_kernel",
    ]


def test_every_shared_query_is_used_and_every_used_one_is_there():
    of_account = sorted((PACKAGE / "account").glob("*.sql"))
    queries = [read(path.read_text("utf-8")) for path in [*FILES, *of_account]]
    used = {name for query in queries for name in query.listed("uses")}
    used |= {each.table for query in queries for each in query.only_with if is_shared(each.table)}
    assert used == {path.stem for path in PACKAGE.glob("shared/*.sql")}
    for path in FILES:
        query = read(path.read_text("utf-8"))
        for name in query.listed("uses"):
            assert re.search(rf"\b(from|join) {name}\b", query.text), f"{path.name} does not use {name}"
            assert shared_query(name).text


def test_a_header_gives_shares_settings_and_texts_that_go_on():
    query = read(
        "-- It.\n-- fix: Do less:\n--   much less\n--   for: now.\n-- likely: 0.3\n-- settings: a=1, b=0.5, c=word\nselect 1"
    )
    assert query.header["fix"] == "Do less: much less for: now."
    assert query.settings == {"low": 0.3, "likely": 0.3, "high": 1.0, "a": 1, "b": 0.5, "c": "word"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "-- confidance: high",
            r"mine\.sql:2: 'confidance' is not a key of a rule's header; write 'confidence', or indent",
        ),
        ("-- Fix: less", "write 'fix'"),
        ("-- wrong_if: never", "write 'wrong-if'"),
        ("-- wrong if: never", "write 'wrong-if'"),
        ("--likley:", "write 'likely'"),
        ("-- weather: fine", "'weather' is not a key of a rule's header; indent the line"),
    ],
)
def test_a_key_that_is_misspelt_is_refused(line, why):
    with pytest.raises(ValueError, match=why):
        read(f"-- fix: Do it.\n{line}\nselect 1", "mine.sql")


@pytest.mark.parametrize(
    "line", ["--   confidance: high", "-- only for training: half", "-- not so: half", "-- https://example.org"]
)
def test_a_line_that_goes_on_with_a_text_may_hold_a_colon(line):
    query = read(f"-- fix: Do it:\n{line}\nselect 1", "mine.sql")
    assert query.header == {"fix": f"Do it: {line.removeprefix('--').strip()}"}


@pytest.mark.parametrize("text", ["kernel_name", "kernel name: true", "kernel_name: "])
def test_a_condition_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="only-with"):
        read(f"-- only-with: {text}\nselect 1")


def test_a_query_is_asked_where_a_row_fits_each_of_its_conditions(tmp_path):
    trace = TraceBuilder()
    trace.annotation("outer", 0, 100)
    trace.kernel("gemm", 5, 95, launched=(4, 1))
    path = tmp_path / "mine.sql"
    names = {}
    for word in ("gemm", "softmax"):
        path.write_text(
            f"-- fix: It.\n-- only-with: kernel_name: contains(name, '{word}')\n-- only-with: host_slice_name: name = 'outer'\n"
            "select step, ts, dur, name, slice_id, dur as claimed, 'compute' as cause, slice_id as busy_id from busy_piece"
        )
        mine = [rule for rule in user_rules.load_rules([path]) if rule.name == "mine"]
        (result,) = judge(trace.build(tmp_path)._connection, rules=mine)
        names[word] = [finding.rule for finding in result.findings]
    assert names == {"gemm": ["mine"], "softmax": []}


def test_a_query_without_a_row_that_fits_its_condition_does_not_run(judged):
    workspace = Workspace(judged[0], 1, 0)
    fits, fits_not = (TableCondition("step", f"trace_id = $trace_id and dur > {dur}") for dur in (0, 10**15))
    assert workspace.ask(RuleQuery("select 1 as one", only_with=(fits,)), {}) == [{"one": 1}]
    assert workspace.ask(RuleQuery("select nothing from nowhere", only_with=(fits, fits_not)), {}) == []


def test_conditions_of_all_rules_on_small_tables_are_asked_together_and_those_on_large_ones_are_not(judged):
    workspace = Workspace(judged[0], 1, 0)
    assert not workspace.may_find(rule_query("sampled_capture"))
    assert {"triage", "step_stats", "serving_mark"} <= {table for table, _ in workspace._held}
    assert not {"cpu_slice", "kernel_name"} & {table for table, _ in workspace._held}


def test_no_text_is_made_of_a_claim_that_is_only_counted(tmp_path):
    trace = TraceBuilder()
    trace.kernel("gemm", 5, 95, launched=(4, 1))
    trace.kernel("long", 100, 99_900, launched=(5, 1))
    path = tmp_path / "mine.sql"
    query = (
        "select step, ts, dur, name, slice_id, ledger_dur as claimed, category as cause, slice_id as busy_id\n"
        "from busy where name = 'gemm'\n"
    )
    made = {}
    for doubted in ("", "-- doubted: {{ worst.nothing.at_all }}\n"):
        path.write_text(f"-- fix: {{{{ worst.nothing.at_all }}}}\n-- uses: busy\n{doubted}{query}")
        mine = [rule for rule in user_rules.load_rules([path]) if rule.name == "mine"]
        (result,) = judge(trace.build(tmp_path)._connection, rules=mine)
        made[bool(doubted)] = (result.small, [each.rule for each in result.failed])
    assert made == {False: (("mine",), []), True: ((), ["mine"])}


def test_rules_that_only_remark_say_so():
    finding, remarking, extra = known_rules()
    assert {"few-steps", "low-mfu", "goal-advice"} <= remarking
    assert {"host-bound", "first-use"} <= finding
    assert len(finding) + len(remarking) + len(extra) == len(all_rules()) == len(RULES)


def test_a_rule_that_remarks_yields_no_advice(judged):
    _, result = judged
    remarking = {rule.name for rule in all_rules() if rule.remarks}
    assert not remarking & {finding.rule for finding in result.findings}


@pytest.mark.parametrize("text", ["{{ time(claimed_ns", "{% if worst %}x"])
def test_a_template_that_is_none_is_refused(tmp_path, text):
    path = tmp_path / "mine.sql"
    path.write_text(f"-- fix: {text}\nselect 1")
    with pytest.raises(UnusableRule, match="Jinja template"):
        user_rules.load_rules([path])


def test_a_template_has_the_claim_and_its_worst_piece(tmp_path):
    trace = TraceBuilder()
    for start in (0, 100, 200):
        trace.annotation("outer", start, 10)
        trace.kernel("gemm", start + 5, 95, launched=(start + 4, 1))
    path = tmp_path / "mine.sql"
    path.write_text(
        "-- fix: {{ cut(worst.name) }}: {{ instances }}, {{ per_step(claimed_ns) }}; over {{ least }}\n"
        "-- settings: least=7\n-- uses: busy\n"
        "select step, ts, dur, name, slice_id, ledger_dur as claimed, category as cause, slice_id as busy_id\n"
        "from busy where category = 'compute' and dur > $least\n"
    )
    mine = [rule for rule in user_rules.load_rules([path]) if rule.name == "mine"]
    (result,) = judge(trace.build(tmp_path)._connection, rules=mine)
    assert [finding.fix for finding in result.findings] == ["gemm: 3, 95 ns per step; over 7"]


def test_headers_of_rules_name_categories_that_there_are():
    from traceq.analysis.categories import BUSY, IDLE

    of_the_host = {"data", "os"}
    for path in FILES:
        there = of_the_host if "host" in path.parts else {*BUSY, *IDLE}
        assert set(rule_query(path.stem).listed("categories") if "rules" in path.parts else ()) <= there
