"""Rules that no labelled trace has confirmed: asked on demand, shown apart, and without effect on what the others say."""

from __future__ import annotations

import json
import re
from contextlib import closing

import pytest
from builder import TraceBuilder
from click.testing import CliRunner
from labelled.rule_cases import functions
from msgspec.structs import replace

import traceq
from traceq.cli import main
from traceq.diagnosis import user_rules
from traceq.diagnosis.cache import current_stamp, fill, load_judgements
from traceq.diagnosis.judge import judge
from traceq.diagnosis.packs import count_left_out, is_of_extra, select_rules
from traceq.diagnosis.record import EXTRA, RuleRecord, load_record
from traceq.diagnosis.rules.registry import all_rules, default_rules

EXTRA_RULES = [rule for rule in all_rules() if rule.is_extra]
# Which of them are extra changes with the record.
SHOWN = next(rule for rule in ("too_few_workers", "idle_data", "prefetch_depth") if is_of_extra(rule))


def rules(confirmed=(), extra=()):
    """These rules in the order in which they are served, whatever the record says of them."""
    return [
        rule._replace(is_extra=rule.name in extra)
        for rule in all_rules()
        if rule.name in confirmed or rule.name in extra
    ]


def judged(case, asked):
    trace = TraceBuilder()
    functions(case)["found"](trace)
    trace.fill_all()
    with closing(trace._connection) as connection:
        (found,) = judge(connection, rules=asked)
    return found


def test_packs_follow_from_the_record():
    record = load_record()
    promises = [rule for rule in all_rules() if not rule.remarks]
    assert [rule.is_extra for rule in promises] == [not record.has_confirmed(rule.name) for rule in promises]
    assert not any(rule.is_extra for rule in all_rules() if rule.remarks)
    assert {record.confidence_of(rule.name) for rule in EXTRA_RULES} == {"low"}
    assert {rule.pack for rule in all_rules()} == {"default", "extra", "host", "host, extra", "host, recordings, extra"}


def test_pairs_say_which_extra_rules_are_asked_of_recordings():
    """A rule that pairs have confirmed is none of the pack extra there; without the default rules nothing is added."""
    for_recordings = {rule.name for rule in all_rules() if rule.is_for_recordings}
    assert {"host-data-loading", "host-logging", "host-lock"} <= for_recordings
    assert all(rule.is_extra for rule in all_rules() if rule.is_for_recordings)
    usual, recorded = (select_rules(default_rules(), has_gpu=False, is_recording=each) for each in (False, True))
    assert {rule.name for rule in recorded} - {rule.name for rule in usual} == for_recordings
    assert not any(rule.is_extra for rule in recorded)
    order = [rule.name for rule in all_rules()]
    assert [rule.name for rule in recorded] == sorted((rule.name for rule in recorded), key=order.index)
    assert count_left_out(recorded, has_gpu=False) == count_left_out(usual, has_gpu=False) - len(for_recordings)
    some = default_rules()[:3]
    assert select_rules(some, has_gpu=True, is_recording=True) == list(some)


def test_pairs_raise_confidence_to_medium_at_most():
    pairs = {"rule": tuple((f"program{number}", "right") for number in range(9))}
    record = RuleRecord(pairs=pairs)
    assert record.confidence_of("rule") == "low"
    assert record.for_recordings().confidence_of("rule") == "medium"
    assert record.for_recordings().without_program("program1").describe_rule("rule") == (
        "No labelled trace has shown yet whether this rule is right. In recordings of 8 programs that were run before and"
        " after a fix, its prediction came true 8 times."
    )
    assert RuleRecord(pairs={"rule": (("a", "partly"),)}).is_confirmed_by_pairs("rule") is False


def test_partly_right_confirms_nothing():
    record = RuleRecord({"one": (("a", "partly"), ("b", "wrong")), "two": (("a", "wrong"), ("b", "right"))})
    assert [record.has_confirmed(rule) for rule in ("one", "two", "three")] == [False, True, False]


def test_extra_rules_change_nothing_of_what_the_others_say():
    """Too few workers is served first, and would own the time of waiting for data."""
    alone = judged("too_few_workers", rules(["idle-data", "few-steps"]))
    both = judged("too_few_workers", rules(["idle-data", "few-steps"], extra=["too-few-workers"]))
    assert [each.rule for each in alone.findings] == ["idle-data"]
    assert (both.findings, both.account) == (alone.findings, alone.account)
    assert [(each.rule, each.confidence, each.is_extra) for each in both.extra_findings] == [
        ("too-few-workers", "low", True)
    ]
    assert both.observations == alone.observations


def test_without_other_findings_there_is_none_first():
    only = judged("too_few_workers", rules(extra=["too-few-workers"]))
    assert only.findings == ()
    assert [each.rule for each in only.extra_findings] == ["too-few-workers"]
    assert {line.verdict for line in only.account if line.step_share >= 0.05} <= {"cannot tell", "at its limit"}


def test_what_an_extra_rule_says_of_time_of_a_finding_stands_under_it():
    found = judged("late_input_copy", rules(["late-input-copy"], extra=["pageable-copy"]))
    assert [(part.rule, part.is_extra) for part in found.findings[0].parts] == [("pageable-copy", True)]
    assert found.extra_findings == ()


def test_rules_for_hosts_are_asked_where_no_gpu_works():
    hosts = [rule for rule in all_rules() if rule.is_of_host]
    assert {rule.name for rule in hosts} >= {"host-python", "host-logging"}
    assert select_rules(hosts, has_gpu=True) == []
    assert select_rules(hosts, has_gpu=False) == hosts
    with_gpu = judged("too_few_workers", hosts)
    assert (with_gpu.clean, with_gpu.not_applicable, with_gpu.small) == ((), (), ())


def test_extra_rules_that_are_not_asked_are_counted_by_kind_of_trace():
    of_hosts = sum(rule.is_of_host for rule in EXTRA_RULES)
    assert count_left_out(default_rules(), has_gpu=False) == len(EXTRA_RULES)
    assert count_left_out(default_rules(), has_gpu=True) == len(EXTRA_RULES) - of_hosts
    assert count_left_out(all_rules(), has_gpu=False) == 0


@pytest.mark.parametrize("name", ["E1", "e12", SHOWN, SHOWN.replace("_", "-"), f"{SHOWN.replace('_', '-')}:x@rank0"])
def test_who_names_a_finding_of_the_pack_asks_for_it(name):
    assert is_of_extra(name)


@pytest.mark.parametrize("name", ["F1", "host-bound", "epoch", "few-steps@rank0", "mine"])
def test_other_names_do_not(name):
    assert not is_of_extra(name)


def test_the_word_extra_is_the_pack_and_a_path_is_a_path(tmp_path, monkeypatch):
    assert user_rules.load_rules() == default_rules()
    assert user_rules.load_rules([EXTRA]) == all_rules()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "mine.sql").write_text("-- fix: Do less.\nselect 1")
    listed = {
        given: [
            line.split()[:2]
            for line in CliRunner().invoke(main, ["rules", "list", "--rules", given]).output.split("\n")
        ]
        for given in ("extra", "./extra")
    }
    assert [["mine", "yours"] in lines for lines in listed.values()] == [False, True]
    assert [[SHOWN.replace("_", "-"), "extra"] in lines for lines in listed.values()] == [True, False]
    both = CliRunner().invoke(main, ["rules", "list", "--rules", "extra", "--rules", "./extra"]).output
    assert both.count("\n") == len(listed["extra"])


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extra")
    trace = TraceBuilder()
    functions(SHOWN)["found"](trace)
    trace.build(folder)._connection.close()
    return folder / "trace.duckdb"


@pytest.mark.parametrize("format_", ["text", "md", "html", "llm"])
def test_reports_show_them_apart_and_say_that_there_are_more(database, format_):
    told = {
        given: " ".join(CliRunner().invoke(main, ["report", str(database), "--format", format_, *given]).output.split())
        for given in ((), ("--rules", "extra"))
    }
    without, with_extra = told.values()
    mark = re.compile("Extra findings, (with low confidence|from rules)")
    assert not mark.search(without)
    assert f"{count_left_out(default_rules(), has_gpu=True)} more rules that no labelled trace has confirmed" in without
    assert mark.search(with_extra)
    assert re.search(r"\bE1\b", with_extra)
    assert "more rules that no labelled trace" not in with_extra


def test_the_json_has_them_in_a_list_of_their_own_and_the_same_verdict(database):
    without, with_extra = (
        json.loads(CliRunner().invoke(main, ["report", str(database), "--format", "json", *given]).output)["traces"][0]
        for given in ((), ("--rules", "extra"))
    )
    assert (without["extra_findings"], with_extra["extra_left_out"]) == ([], 0)
    assert SHOWN.replace("_", "-") in [each["rule"] for each in with_extra["extra_findings"]]
    assert all(each["is_extra"] and each["confidence"] == "low" for each in with_extra["extra_findings"])
    assert [without[key] for key in ("verdict", "account")] == [with_extra[key] for key in ("verdict", "account")]


@pytest.mark.parametrize("command", [["report", "--finding"], ["sql", "--of"], ["explain"]])
def test_commands_about_a_finding_know_those_of_the_pack(database, command):
    name, *option = command
    given = ["E1", str(database)] if name == "explain" else [str(database), *option, "E1"]
    done = CliRunner().invoke(main, [name, *given])
    assert done.exit_code == 0, done.output


def test_a_cached_judgement_is_by_the_rules_that_were_asked(database):
    with traceq.open(database) as traces:
        assert current_stamp(traces._connection, default_rules()) != current_stamp(traces._connection, all_rules())
    from traceq.database.connect import connect

    with closing(connect(database, read_only=False)) as connection:
        fill(connection)
        asked = {
            pack: next(decide() for _, decide in load_judgements(connection, rules=each))
            for pack, each in (("default", default_rules()), ("every", all_rules()))
        }
    assert asked["default"].extra_findings == ()
    assert asked["every"].extra_findings
    assert [replace(each, parts=()) for each in asked["every"].findings] == [
        replace(each, parts=()) for each in asked["default"].findings
    ]
