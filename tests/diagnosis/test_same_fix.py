"""Findings that one fix wins are one finding."""

from __future__ import annotations

from msgspec.structs import replace

from traceq.diagnosis.finding import Evidence, Finding, Where
from traceq.diagnosis.same_fix import attach_small_effects, merge_same_fix

_PROOF = Evidence((), (), "")


def finding(rule, saving, **others):
    return replace(
        Finding(
            rule, rule, rule, Where(1, None, 0, None), 2 * saving, 2 * saving, saving, saving / 2, 1.5 * saving, False, 1.0,
            100 - saving, "high", "", _PROOF, _PROOF, "", "", (),
        ),
        **others,
    )  # fmt: skip


def test_the_largest_speaks_for_all_and_savings_add_up():
    one, other = merge_same_fix(
        [("launches", finding("small", 10)), ("launches", finding("large", 30)), ("", finding("apart", 5))]
    )
    assert (one.rule, one.saving_ns, one.saving_low_ns, one.saving_high_ns) == ("large", 40, 20, 60)
    assert (one.claimed_ns, one.owned_ns, one.expected_step_ns) == (80, 80, 60)
    assert [(part.rule, part.saving_ns) for part in one.parts] == [("small", 10)]
    assert other == finding("apart", 5)


def test_time_that_several_lay_claim_to_counts_once():
    (one,) = merge_same_fix(
        [
            ("copies", finding("a", 20, claimed_ns=70, owned_ns=40)),
            ("copies", finding("b", 10, claimed_ns=60, owned_ns=20)),
        ]
    )
    assert (one.claimed_ns, one.owned_ns) == (70, 60)


def test_more_than_the_step_is_never_won():
    (one,) = merge_same_fix([("copies", finding("a", 50)), ("copies", finding("b", 40))])
    assert one.saving_high_ns == 100


def test_bounds_of_one_are_bounds_of_all():
    (one,) = merge_same_fix([("copies", finding("a", 50)), ("copies", finding("b", 40, only_bounds=True))])
    assert one.only_bounds


def test_findings_without_a_word_stay_apart():
    assert [each.rule for each in merge_same_fix([("", finding("a", 5)), ("", finding("b", 6))])] == ["a", "b"]


MADE_BY = {"slow-python": ("frozen", "late-input")}


def test_what_a_much_larger_cause_may_have_made_stands_under_it():
    (one,) = attach_small_effects([finding("frozen", 40), finding("slow-python", 3.9)], MADE_BY)
    assert (one.rule, one.saving_ns, one.saving_low_ns, one.saving_high_ns) == ("frozen", 40, 20, 60 + 1.5 * 3.9)
    assert [(part.rule, part.saving_ns) for part in one.parts] == [("slow-python", 3.9)]


def test_what_is_not_much_smaller_stays():
    found = [finding("frozen", 40), finding("slow-python", 4)]
    assert attach_small_effects(found, MADE_BY) == found


def test_other_causes_make_nothing():
    found = [finding("something-else", 40), finding("slow-python", 1)]
    assert attach_small_effects(found, MADE_BY) == found


def test_nothing_is_lost_where_one_stands_under_another_that_stands_under_a_third():
    made_by = {"slow-python": ("late-input",), "late-input": ("frozen",)}
    found = [finding("slow-python", 0.1), finding("late-input", 2), finding("frozen", 40)]
    one, other = attach_small_effects(found, made_by)
    assert (one.rule, other.rule, [part.rule for part in other.parts]) == ("slow-python", "frozen", ["late-input"])
