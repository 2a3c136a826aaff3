"""What must hold of any two sides: everything adds up to the nanosecond, and nothing hangs on the order of things."""

from __future__ import annotations

from fractions import Fraction

import pytest
from handmade_runs import MS, item, noisy, run
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from traceq.runs import statistics
from traceq.runs.baselines import decode_runs, encode_runs
from traceq.runs.compare.causes import UNTOLD
from traceq.runs.compare.compare import compare
from traceq.runs.compare.side import round_parts, step_ns
from traceq.runs.run import Amount

CATEGORIES = ("compute", "communication", "copy_h2d", "idle_data", "idle_python", "memset")
NAMES = (
    None,
    "gemm",
    "void gemm<float, 128>(float*)",
    "gemm<half>",
    "triton_poi_fused_add_3",
    "triton_poi_fused_add_7",
    "é",
)
FLIPPED = {"regression": "improvement", "improvement": "regression"}

amounts = st.builds(Amount, *(st.integers(0, 10**6) for _ in range(3)))
items = st.builds(
    lambda category, name, shape, operator, every, typical: replace(
        item(name, 0, category=category, shape=shape, operator=operator), every=every, typical=typical
    ),
    st.sampled_from(CATEGORIES),
    st.sampled_from(NAMES),
    st.sampled_from((None, "1x1x1", "2x1x1")),
    st.sampled_from((None, "aten::mm", "aten::conv")),
    amounts,
    amounts,
)
ledgers = st.one_of(
    st.none(), st.dictionaries(st.sampled_from(CATEGORIES[1:]), st.integers(0, 10**6), max_size=3), st.just({})
)


@st.composite
def runs(draw):
    durations = draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=9))
    ledger = [draw(ledgers) for _ in durations]
    return run(
        *durations,
        ledger=ledger,
        items=draw(st.lists(items, max_size=8)),
        excluded=draw(st.sets(st.integers(0, 2), max_size=len(durations) - 1)),
        sha256=draw(st.text("0123456789abcdef", min_size=8, max_size=8)),
        name=draw(st.sampled_from(("one.json", "two.json"))),
    )


# A trace counts once on a side, however often it is given.
sides = st.lists(runs(), min_size=1, max_size=3, unique_by=lambda each: each.sha256)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """Sums do not hang on how often is drawn."""
    for name, number in (("_MOST_RESAMPLES", 20), ("_LEAST_RESAMPLES", 20), ("_PERMUTATIONS", 20), ("_MOST_EXACT", 20)):
        monkeypatch.setattr(statistics, name, number)


def adds_up(comparison, base, new, statistic):
    change = comparison.change
    assert (change.base_ns, change.new_ns) == tuple(round(step_ns(side, statistic)) for side in (base, new))
    assert change.delta_ns == change.new_ns - change.base_ns
    for name in ("base_ns", "new_ns", "delta_ns"):
        assert sum(getattr(cause, name) for cause in comparison.causes) == getattr(change, name)
        for cause in comparison.causes:
            if cause.parts:
                assert sum(getattr(part, name) for part in cause.parts) == getattr(cause, name), cause.category
    for each in (
        *comparison.causes,
        *(part for cause in comparison.causes for part in cause.parts),
        *comparison.operators,
    ):
        assert each.delta_ns == each.new_ns - each.base_ns


@settings(max_examples=80, deadline=None)
@given(sides, sides, st.sampled_from(("typical", "mean")))
def test_causes_and_their_parts_add_up(base, new, statistic):
    adds_up(compare(base, new, statistic=statistic, anyway=True), base, new, statistic)


@settings(max_examples=40, deadline=None)
@given(sides, sides)
def test_with_sides_swapped_everything_has_the_other_sign(base, new):
    there, back = compare(base, new), compare(new, base)
    assert back.change.delta_ns == -there.change.delta_ns
    deltas = [{cause.category: cause.delta_ns for cause in each.causes} for each in (there, back)]
    assert deltas[1] == {category: -delta for category, delta in deltas[0].items()}
    for cause, other in zip(
        *(sorted(each.causes, key=lambda cause: cause.category) for each in (there, back)), strict=True
    ):
        assert sorted(part.delta_ns for part in cause.parts) == pytest.approx(
            sorted(-part.delta_ns for part in other.parts), abs=1
        )
    rows = [sorted((row.name or "", row.delta_ns) for row in each.operators) for each in (there, back)]
    assert rows[1] == [(name, -delta) for name, delta in rows[0]]


@settings(max_examples=40, deadline=None)
@given(sides, sides, st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_matter(base, new, random):
    shuffled = [random.sample(side, len(side)) for side in (base, new)]
    first, second = compare(base, new), compare(*shuffled)
    assert (first.change.base_ns, first.change.new_ns) == (second.change.base_ns, second.change.new_ns)
    totals = [[(cause.category, cause.base_ns, cause.new_ns) for cause in each.causes] for each in (first, second)]
    assert totals[0] == totals[1]
    parts = [[part for cause in each.causes for part in cause.parts] for each in (first, second)]
    assert sorted(part.delta_ns for part in parts[0]) == pytest.approx(
        sorted(part.delta_ns for part in parts[1]), abs=1
    )
    assert (first.operators, first.phases, first.counts) == (second.operators, second.phases, second.counts)
    assert set(first.obstacles) == set(second.obstacles)


@settings(max_examples=40, deadline=None)
@given(sides, sides)
def test_a_baseline_says_the_same_as_the_trace(base, new):
    kept = decode_runs(encode_runs(tuple(base), traceq="0", saved="now"), "b.json")
    assert list(kept.runs) == base
    assert compare(kept.runs, new) == compare(tuple(base), new)


@settings(max_examples=40, deadline=None)
@given(runs(), st.integers(2, 50))
def test_a_run_of_steps_k_times_as_long_has_k_times_the_causes(base, factor):
    steps = tuple(
        replace(step, dur=factor * step.dur, ledger={name: factor * dur for name, dur in step.ledger.items()})
        for step in base.steps
    )
    scaled = replace(base, steps=steps, items=(), sha256="scaled")
    found = compare([replace(base, items=())], [scaled], anyway=True)
    for cause in found.causes:
        assert cause.new_ns == pytest.approx(factor * cause.base_ns, abs=factor)


def test_swapping_the_sides_of_a_clear_change_flips_the_verdict(monkeypatch):
    monkeypatch.undo()
    base, new = run(*noisy(100 * MS), name="a"), run(*noisy(110 * MS), name="b")
    there, back = compare([base], [new]), compare([new], [base])
    assert (there.verdict, back.verdict) == ("regression", "improvement")
    assert there.change.interval_ns == pytest.approx([-end for end in reversed(back.change.interval_ns)], rel=0.1)


def test_in_other_units_of_time_the_verdict_is_the_same(monkeypatch):
    monkeypatch.undo()
    durations = [noisy(1_000_000), noisy(1_040_000)]
    found = [
        compare(*([run(*(dur * factor for dur in side), name=str(number))] for number, side in enumerate(durations)))
        for factor in (1, 1000)
    ]
    assert found[0].verdict == found[1].verdict == "regression"
    assert found[0].change.p == found[1].change.p
    assert found[1].change.delta_ns == pytest.approx(1000 * found[0].change.delta_ns, abs=1000)
    assert found[1].change.interval_ns == pytest.approx([1000 * end for end in found[0].change.interval_ns], rel=0.1)


def test_every_run_counts_the_same_however_many_steps_it_has():
    base = [run(*[100] * 4, name="a"), run(*[200] * 40, name="b")]
    assert compare(base, [run(150, name="c")]).change.base_ns == 150


def test_steps_without_a_ledger_are_told_from_those_that_have_one():
    base = run(*[1000] * 6, ledger=[{"idle_data": 300}] * 3 + [None] * 3, name="a")
    new = run(*[1000] * 6, ledger={"idle_data": 300}, name="b")
    causes = {cause.category: cause.delta_ns for cause in compare([base], [new], statistic="mean").causes}
    assert causes == {"compute": 350, "idle_data": 150, UNTOLD: -500}


def test_what_items_leave_of_a_category_is_a_part_without_a_name():
    base = run(*[1000] * 4, items=[item("gemm", 600, steps=4)], name="a")
    new = run(*[1000] * 4, items=[item("gemm", 700, steps=4)], name="b")
    (cause,) = compare([base], [new]).causes
    assert [(part.name, part.delta_ns) for part in cause.parts] == [("gemm", 100), (None, -100)]


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        ("ProfilerStep#4", "ProfilerStep#17", "ProfilerStep#"),
        ("aten::fill_, op_id = 82", "aten::fill_, op_id = 91", "aten::fill_"),
        ("aten::fill_, seq = 3, op_id = 82", "aten::fill_", "aten::fill_"),
    ],
)
def test_the_number_of_a_step_or_call_makes_no_other_wait(one, other, named):
    """torch.autograd.profiler.emit_nvtx numbers its ranges; so do steps."""

    def waits(name, number):
        waited = item(name, 400, category="idle_python", steps=4)
        return run(*[1000] * 4, ledger={"idle_python": 400}, items=[waited], name=number)

    (cause,) = (
        cause for cause in compare([waits(one, "a")], [waits(other, "b")]).causes if cause.category == "idle_python"
    )
    assert [(part.kind, part.name) for part in cause.parts] == [("same", named)]


parts = st.lists(st.fractions(-1000, 1000, max_denominator=60), min_size=1, max_size=12)


@given(parts, st.sampled_from((round, lambda total: total.__floor__(), lambda total: total.__floor__() + 1)))
def test_whole_parts_add_up_and_are_near(exact, rounded):
    total = rounded(sum(exact, Fraction(0)))
    found = round_parts(exact, total)
    assert sum(found) == total
    assert all(abs(integer - part) <= 1 for integer, part in zip(found, exact, strict=True))


def test_the_largest_remainders_are_rounded_up():
    assert round_parts([Fraction(9, 10), Fraction(1, 10), Fraction(8, 10), Fraction(2, 10)], 2) == [1, 0, 1, 0]
    with pytest.raises(ValueError, match="cannot be rounded to 9"):
        round_parts([Fraction(1)], 9)
