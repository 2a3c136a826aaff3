"""What a change is put down to: only what is sure, and what became of it."""

from __future__ import annotations

import numpy as np
import pytest
from handmade_runs import MS, item, noisy, run
from msgspec.structs import replace

from traceq.reports.comparison.verdict import describe_cause
from traceq.runs.compare.compare import compare
from traceq.runs.compare.known_noise import KnownNoise

pytestmark = pytest.mark.usefixtures("fewer_draws")

STEPS = 30


def with_deviation(each, share):
    """The item, its time scattering from step to step by that share of what it takes in one."""
    amounts = {
        name: replace(amount, deviation=share * amount.dur / steps)
        for name, amount, steps in (("every", each.every, STEPS), ("typical", each.typical, STEPS - 2 * (STEPS // 4)))
    }
    return replace(each, **amounts)


def program(seed, *items, share=0.005, idle=0, scatter=0.01):
    """A run of steps that are made of these items of compute, and of idle time that Python caused."""
    length = sum(each.every.dur for each in items if each.category == "compute") // STEPS
    steps = noisy(length + idle, STEPS, share, seed)
    return run(
        *steps,
        ledger=[{"idle_python": idle + dur - length - idle} if idle else {} for dur in steps],
        items=[with_deviation(each, scatter) for each in items],
        name=f"{seed}.json",
    )


def kernel(name, ns, count=1, **more):
    return item(name, ns, count, steps=STEPS, **more)


GEMM, ADD = kernel("gemm", 60 * MS, 6), kernel("add", 40 * MS, 40)


def named(base, new, **options):
    """What is named, a line each."""
    return ["".join(describe_cause(each)) for each in compare([base], [new], **options).named]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (kernel("gemm", 72 * MS, 6), "mostly gemm: 1.20x slower at the same shape, +12.00 ms"),
        (kernel("gemm", 70 * MS, 7), "mostly gemm: 16.7 % more often (6.00 -> 7.00 per step), +10.00 ms"),
        (kernel("gemm", 84 * MS, 7), "mostly gemm: 6.00 -> 7.00 per step, each 1.20x as long, +24.00 ms"),
        (
            kernel("gemm<2>", 80 * MS, 6, operator="aten::mm"),
            "mostly gemm<2>: another kernel of that name, +20.00 ms",
        ),
    ],
    ids=["slower", "more often", "both", "renamed"],
)
def test_a_kernel_that_explains_the_change_is_named_with_what_it_did(changed, expected):
    (line,) = named(program(1, GEMM, ADD), program(2, changed, ADD))
    assert line.endswith(expected)
    assert line.startswith("kernels (compute, +")


def test_a_faster_kernel_and_one_that_is_gone():
    (line,) = named(program(1, GEMM, ADD), program(2, kernel("gemm", 40 * MS, 6), ADD))
    assert line.endswith("mostly gemm: 1.50x faster at the same shape, -20.00 ms")
    (line,) = named(program(1, GEMM, ADD), program(2, GEMM))
    assert line.endswith("mostly add: gone, -40.00 ms")


def test_a_kernel_whose_own_time_scatters_as_much_is_not_named():
    base, new = program(1, GEMM, ADD, scatter=0.8), program(2, kernel("gemm", 72 * MS, 6), ADD, scatter=0.8)
    (line,) = named(base, new)
    assert line.endswith("without a single part that certainly changed")


def test_runs_that_do_not_tell_how_parts_scatter_name_categories_only():
    """Baselines of traceq 0.1."""
    sides = [program(1, GEMM, ADD), program(2, kernel("gemm", 72 * MS, 6), ADD)]
    old = [
        replace(
            each,
            items=tuple(
                replace(one, every=replace(one.every, deviation=None), typical=replace(one.typical, deviation=None))
                for one in each.items
            ),
        )
        for each in sides
    ]
    found = compare(old[:1], old[1:])
    assert found.verdict == "regression"
    assert {part.interval_ns for cause in found.causes for part in cause.parts} == {None}
    assert [(each.category, each.part) for each in found.named] == [("compute", None)]


def test_nothing_is_named_without_a_verdict():
    found = compare([program(1, GEMM, ADD)], [program(2, GEMM, ADD)])
    assert (found.verdict, found.named, found.across) == ("no change", (), None)


def test_what_changed_for_sure_is_said_although_the_step_may_not_have():
    """Data loading alone may differ by more from run to run."""
    load = item("enumerate(DataLoader)", 30 * MS, category="idle_data", steps=STEPS)
    sides = []
    for seed, gemm in ((1, GEMM), (2, kernel("gemm", 65 * MS, 6))):
        made = program(seed, gemm, ADD)
        steps = tuple(
            replace(one, dur=one.dur + 30 * MS, ledger={**one.ledger, "idle_data": 30 * MS}) for one in made.steps
        )
        sides.append(replace(made, steps=steps, items=(*made.items, with_deviation(load, 0.01))))
    found = compare(sides[:1], sides[1:])
    assert found.verdict == "cannot tell"
    (line,) = ("".join(describe_cause(each)) for each in found.named)
    assert line.endswith("mostly gemm: 1.08x slower at the same shape, +5.000 ms")


def test_what_got_better_is_no_cause_of_a_regression():
    base = program(1, GEMM, ADD, idle=20 * MS)
    new = program(2, kernel("gemm", 90 * MS, 6), ADD, idle=5 * MS)
    found = compare([base], [new], noise=KnownNoise(0))
    assert found.verdict == "regression"
    assert [each.category for each in found.named] == ["compute"]


def test_kernels_that_all_got_slower_alike_are_told_as_one():
    kernels = [kernel(f"kernel_{letter}", (10 + number) * MS, 5) for number, letter in enumerate("abcdefgh")]
    slower = [kernel(each.name, round(each.every.dur / STEPS * 1.08), 5) for each in kernels]
    across = compare([program(1, *kernels)], [program(2, *slower)]).across
    assert (across.kernels, across.of) == (8, 8)
    assert across.factor == pytest.approx(1.08)
    one = [kernel("kernel_a", 60 * MS, 5), *kernels[1:]]
    assert compare([program(1, *kernels)], [program(2, *one)]).across is None


def test_kernels_against_a_graph_of_them_are_one_part():
    eager = [kernel(f"kernel_{letter}", 10 * MS, 5) for letter in "abcdefgh"]
    found = compare([program(1, *eager)], [program(2, kernel("CUDA graph 4", 70 * MS))])
    (part,) = (part for cause in found.causes for part in cause.parts if part.name)
    assert (part.kind, part.base_ns, part.new_ns) == ("graphed", 80 * MS, 70 * MS)
    (line,) = ("".join(describe_cause(each)) for each in found.named)
    assert line.endswith("mostly CUDA graph 4: now in CUDA graphs, -10.00 ms")


@pytest.mark.slow
def test_the_interval_of_a_part_holds_its_true_change_as_often_as_it_says():
    """Of 200 pairs of runs whose kernels scatter by 2 %, at 95 %: a kernel that is 3 % slower."""
    random, held = np.random.default_rng(3), 0
    for _ in range(200):
        sides = []
        for middle in (10 * MS, 10.3 * MS):
            times = [random.normal(middle, 0.02 * middle) for _ in range(STEPS)]
            mean = sum(times) / STEPS
            deviation = (sum((each - mean) ** 2 for each in times) / (STEPS - 1)) ** 0.5
            amount = replace(kernel("gemm", round(mean)).every, deviation=deviation)
            steps = [round(each) for each in times]
            sides.append(
                run(*steps, items=[replace(kernel("gemm", 1), every=amount, typical=amount)], name=str(middle))
            )
        found = compare(sides[:1], sides[1:], statistic="mean", level=0.05, noise=KnownNoise(0))
        (interval,) = (part.interval_ns for cause in found.causes for part in cause.parts if part.name)
        held += interval[0] <= 0.3 * MS <= interval[1]
    assert held >= 184


def test_runs_tell_by_how_much_a_kernel_of_a_single_run_may_differ():
    """Five runs in which it takes 54 to 66 ms against one in which it takes 68: its own steps alone would be sure of it."""
    base = [program(seed, kernel("gemm", ms * MS, 6), ADD) for seed, ms in enumerate((54, 57, 60, 63, 66))]
    found = compare(base, [program(9, kernel("gemm", 68 * MS, 6), ADD)])
    (part,) = (part for cause in found.causes for part in cause.parts if part.name == "gemm")
    low, high = part.interval_ns
    assert low < 0 < part.delta_ns < high
    # Student's t of 4 degrees of freedom at 0.99 is 3.75; the standard deviation of a run is 4.74 ms
    assert (high - low) / 2 == pytest.approx(3.75 * 4.74 * MS * (1 + 1 / 5) ** 0.5, rel=0.05)
