"""Claims on the same time: who is first owns it, who comes late is a part or gets what is left."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.diagnosis import user_rules
from traceq.diagnosis.judge import judge_subject, load_subjects

COPIES = """-- rule: {name}
-- fix: {name}
-- likely: {likely}
select step, ts, dur, name, slice_id, {claimed} as claimed, category as cause, slice_id as busy_id
from busy_piece where trace_id = $trace_id and device = $device and {where}
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Steps of 100 ns: a copy of 40 at 0, one of 20 at 40."""
    trace = TraceBuilder()
    for start in (0, 100, 200):
        trace.annotation("outer", start, 10)
        trace.memcpy("h2d", start, 40, launched=(start, 1))
        trace.memcpy("h2d", start + 40, 20, launched=(start + 2, 1))
        trace.kernel("gemm", start + 60, 40, launched=(start + 4, 1))
    return trace.build(tmp_path_factory.mktemp("trace"))


@pytest.fixture
def judged(trace, tmp_path):
    """What rules say of the trace that claim what is given (name -> columns)."""

    def judge(**rules):
        made = []
        for name, (claimed, where, *likely) in rules.items():
            path = tmp_path / f"{name}.sql"
            path.write_text(COPIES.format(name=name, claimed=claimed, where=where, likely=likely[0] if likely else 1))
            made += [each for each in user_rules.load_rules([path]) if each.name == name]
        (subject,) = load_subjects(trace._connection)
        return judge_subject(subject, made)

    return judge


ALL = "ledger_dur", "category = 'copy_h2d'"
LONG = "ledger_dur", "category = 'copy_h2d' and dur = 40"
SHORT = "ledger_dur", "dur = 20"


def owned(judged):
    return {each.rule: (each.claimed_ns, each.owned_ns) for each in judged.findings}


def parts(judged):
    return {each.rule: [part.rule for part in each.parts] for each in judged.findings}


def test_claims_on_different_time_stand_side_by_side(judged):
    result = judged(a=LONG, b=SHORT)
    assert owned(result) == {"a": (40.0, 40.0), "b": (20.0, 20.0)}


def test_who_is_first_owns_it_and_the_other_is_a_part(judged):
    result = judged(a=ALL, b=LONG)
    assert owned(result) == {"a": (60.0, 60.0)}
    assert parts(result) == {"a": ["b"]}


def test_who_keeps_half_of_its_claim_stands_by_itself_with_what_is_left(judged):
    result = judged(a=SHORT, b=ALL)
    assert owned(result) == {"a": (20.0, 20.0), "b": (60.0, 40.0)}


def test_who_loses_more_than_half_is_a_part_even_with_something_left(judged):
    result = judged(a=LONG, b=ALL)
    assert parts(result) == {"a": ["b"]}


def test_a_piece_can_be_shared(judged):
    result = judged(a=("ledger_dur * 0.25", LONG[1]), b=LONG)
    assert owned(result) == {"a": (10.0, 10.0), "b": (40.0, 30.0)}


def test_a_part_of_a_part_stands_under_the_finding(judged):
    result = judged(a=ALL, b=ALL, c=ALL)
    assert parts(result) == {"a": ["b", "c"]}


def test_savings_never_exceed_what_is_there(judged):
    result = judged(a=SHORT, b=ALL, c=LONG, d=("ledger_dur", "true"))
    assert sum(each.owned_ns for each in result.findings) <= 100
    assert sum(each.saving_ns for each in result.findings) <= 100


def test_findings_are_ranked_by_saving(judged):
    result = judged(a=SHORT, b=LONG)
    assert [each.rule for each in result.findings] == ["b", "a"]


def test_who_wins_too_little_of_what_is_left_owns_nothing(judged):
    """Of 60 ns b keeps 40, of which 2 % are less than 1 % of the step: then they are c's."""
    result = judged(a=SHORT, b=(*ALL, 0.02), c=LONG)
    assert owned(result) == {"a": (20.0, 20.0), "c": (40.0, 40.0)}
    assert result.small == ("b",)


def test_no_category_gives_more_than_the_ledger_holds(judged, monkeypatch):
    """Pieces may add up to more, when work runs after the step that launched it."""
    monkeypatch.setattr("traceq.diagnosis.judge._load_ledgers", lambda *_: {0: {"copy_h2d": 150, "compute": 120}})
    result = judged(a=LONG, b=SHORT)
    assert owned(result) == {"a": (40.0, 40.0), "b": (20.0, 10.0)}
