"""Changes that steps do not prove, but that are many times the usual difference of two such runs or windows."""

from __future__ import annotations

from random import Random

import pytest
from handmade_runs import MS, item, noisy, run
from msgspec.structs import replace

from traceq.reports.comparison.ticket import compose_ticket
from traceq.reports.comparison.verdict import verdict_sentence
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.budgets.budget import Budget
from traceq.runs.budgets.regression import judge_regression
from traceq.runs.compare.compare import compare
from traceq.runs.compare.known_noise import KnownNoise
from traceq.runs.run import CaptureFacts

pytestmark = pytest.mark.usefixtures("fewer_draws")

WARM = CaptureFacts(vendor="nvidia", kind="unmarked", once_ns=0)


def window(gpu, launch, *, name="base", calls=50, shape="8x1x1 of 256x1x1", capture=WARM, steps=1, **facts):
    """Whole windows of `gpu` ms of kernels and `launch` ms of launching, each in `calls` calls."""
    return run(
        *[(gpu + launch) * MS] * steps,
        ledger={"idle_launch": launch * MS},
        items=[
            item("gemm", gpu * MS, calls, steps=steps, shape=shape),
            item("cudaLaunchKernel", launch * MS, calls, steps=steps, category="idle_launch"),
        ],
        name=name,
        **{"step_source": "window", "capture": capture, **facts},
    )


def plain(spans):
    return "".join(map(str, spans))


def told(base, new, **options):
    """Verdict and first reason."""
    found = compare([base], [new], **options)
    return f"{found.verdict}: {found.reasons[0]}"


def test_a_window_that_does_the_same_work_many_times_faster_is_a_likely_improvement():
    found = compare([window(300, 60)], [window(100, 20, name="new")])
    assert found.verdict == "likely improvement"
    assert found.reasons[0] == (
        "1 against 1 steps are too few for a test, but the change is 15.8 times what single steps of the same work are expected "
        "to differ by, 15.23 ms (standard deviation)"
    )
    assert plain(verdict_sentence(found)) == (
        "Likely improvement: the whole window takes 240.0 ms (66.7 %) shorter, 360.0 ms before and 120.0 ms now. Most of it is "
        "kernels (compute, -200.0 ms), mostly gemm: 3.00x faster at the same shape, -200.0 ms."
    )
    assert [(each.category, each.interval_ns) for each in found.named] == [("compute", None)]
    assert compare([window(100, 20)], [window(300, 60, name="new")]).verdict == "likely regression"


def test_a_marked_step_is_one_too():
    facts = {"step_source": "profiler_step", "unit_name": "ProfilerStep#"}
    found = compare([window(300, 60, **facts)], [window(100, 20, name="new", **facts)])
    assert found.verdict == "likely improvement"
    assert "a step takes 240.0 ms" in plain(verdict_sentence(found))


NOT_LIKELY = [
    pytest.param(window(300, 60), window(260, 50, name="new"), id="within what two windows differ by"),
    pytest.param(window(10, 60), window(10, 40, name="new"), id="host time of half as much again"),
    pytest.param(window(300, 60), window(100, 20, name="new", shape="2x1x1 of 256x1x1"), id="other launch shapes"),
    pytest.param(window(300, 60), window(100, 20, name="new", capture=CaptureFacts()), id="start-up is not known"),
    pytest.param(
        window(300, 60), window(100, 20, name="new", capture=replace(WARM, kind="sampled")), id="a part of a run"
    ),
    pytest.param(
        window(300, 60), window(100, 20, name="new", capture=replace(WARM, foreign_ns=30 * MS)), id="others' work in it"
    ),
    pytest.param(
        window(20, 400, capture=replace(WARM, longest_waits_ns=395 * MS)), window(20, 20, name="new"), id="a few stalls"
    ),
    pytest.param(window(300, 60, calls=5), window(100, 20, name="new", calls=5), id="too few calls to tell the work"),
]


@pytest.mark.parametrize(("base", "new"), NOT_LIKELY)
def test_what_is_not_likely(base, new):
    assert told(base, new).startswith("cannot tell: ")
    assert told(new, base).startswith("cannot tell: ")


def test_what_other_ranks_and_loaders_make_is_not_likely():
    def waiting(ms, category, name):
        items = [item("gemm", 50 * MS, 50), item("all", ms * MS, 50, category=category)]
        return run(
            (50 + ms) * MS, ledger={category: ms * MS}, items=items, name=name, step_source="window", capture=WARM
        )

    for category in ("communication", "idle_data", "idle_allocation", "idle_unattributed"):
        assert told(waiting(400, category, "a"), waiting(40, category, "b")).startswith("cannot tell"), category


def test_stated_noise_that_is_larger_counts():
    assert told(window(300, 60), window(100, 20, name="new"), noise=KnownNoise(0.3)).startswith("cannot tell: ")


def cold(once, rest, name, kind="cold"):
    return window(
        10, once + rest, name=name, capture=CaptureFacts(kind=kind, once_ns=once * MS, longest_waits_ns=once * MS)
    )


def test_one_off_work_that_is_over_is_a_likely_change_and_said_to_be_a_warm_up():
    assert told(cold(300, 20, "a"), cold(0, 20, "b", "unmarked")) == (
        "likely improvement: one-off work (loading and compiling code, first calls) took 300.0 ms of the base and 0 ns of the "
        "new; without it 30.00 ms against 30.00 ms remain; if both run the same program, that is its warm-up"
    )


def test_one_off_work_of_both_sides_varies_from_run_to_run():
    assert told(cold(700, 90, "a"), cold(450, 90, "b")) == (
        "cannot tell: most of the difference is one-off work (loading and compiling code, first calls), 700.0 ms of the base and "
        "450.0 ms of the new, which can vary as much from run to run; without it 100.0 ms against 100.0 ms remain; warm up "
        "before the capture"
    )
    assert told(cold(700, 90, "a"), cold(70, 90, "b")).startswith("cannot tell: ")


def few(*steps, name):
    return replace(
        window(10, 10, name=name),
        steps=run(*(ms * MS for ms in steps)).steps,
        items=(item("gemm", sum(steps) * MS // len(steps), 50, steps=len(steps), shape="1"),),
    )


def test_a_few_steps_a_side_must_lie_apart():
    assert told(few(400, 410, name="a"), few(100, 110, name="b")).startswith("likely improvement: 2 against 2 steps")
    assert told(few(400, 110, name="a"), few(100, 120, name="b")).startswith("cannot tell: ")


def course(scale, name, *, late=1.0, seed=0):
    """Steps that get shorter as a program works off its matrix, 5 % of noise on each; the last fifth `late` times as long."""
    random = Random(seed)  # noqa: S311
    steps = [
        round(scale * (5 - 4 * place / 100) * MS * random.gauss(1, 0.01) * (late if place >= 80 else 1))
        for place in range(100)
    ]
    return run(*steps, items=[item("fan", sum(steps) // 100, 2, steps=100)], name=name, step_source="recurrence")


def test_loops_whose_steps_change_alike_are_compared_as_a_whole():
    found = compare([course(1, "a")], [course(0.9, "b", seed=1)])
    assert found.verdict == "likely improvement"
    assert found.reasons[0].startswith(
        "steps change during a run, but in the same way on both sides: all 100 steps take 30"
    )
    assert found.change.statistic == "mean"
    assert [each.category for each in found.named] == ["compute"]


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(course(0.98, "b", seed=1), id="too little"),
        pytest.param(course(0.9, "b", late=3.0, seed=1), id="a stretch goes the other way"),
        pytest.param(
            run(*noisy(2.7 * MS, 100, 0.01, 1), name="b", items=[item("fan", 3 * MS, 2, steps=100)]), id="other course"
        ),
        pytest.param(replace(course(0.9, "b"), steps=course(0.9, "b").steps[:99]), id="fewer steps"),
    ],
)
def test_loops_of_another_course_are_not(new):
    assert told(course(1, "a"), new).startswith(("cannot tell: ", "no change: "))


def scattered(loading, name, seed):
    """Six steps whose kernels scatter, and that wait for data for about `loading` ms each."""
    random = Random(seed)  # noqa: S311
    kernels = [round(random.gauss(100, 9) * MS) for _ in range(6)]
    data = [round(loading * random.uniform(0.9, 1.1) * MS) for _ in range(6)]
    return run(
        *(each + more for each, more in zip(kernels, data, strict=True)),
        ledger=[{"idle_data": each} for each in data],
        name=name,
    )


def test_a_part_that_changed_for_sure_makes_a_change_of_scattering_steps_likely():
    found = compare([scattered(20, "a", 3)], [scattered(0, "b", 53)])
    assert (found.verdict, 0.02 < found.change.p <= 0.1) == ("likely improvement", True)
    assert "but idle_data certainly changed" in found.reasons[0]
    (cause,) = [each for each in found.named if each.category == "idle_data"]
    assert cause.interval_ns[1] < 0


def test_a_likely_regression_fails_no_gate_unless_asked():
    budget = Budget("compare", "main", ())
    worse = compare([window(100, 20)], [window(300, 60, name="new")])
    assert judge_regression(budget, worse).state == "cannot judge"
    assert judge_regression(budget, worse).reason.startswith(
        "a likely regression, at which --fail-on-likely fails: 1 against 1"
    )
    assert judge_regression(budget, worse, fail_on_likely=True).state == "fail"
    better = compare([window(300, 60)], [window(100, 20, name="new")])
    assert judge_regression(budget, better, fail_on_likely=True).state == "pass"


def test_a_ticket_does_not_speak_of_noise_that_nobody_knows():
    words = " ".join(
        blocks_to_text(compose_ticket(compare([window(300, 60)], [window(290, 70, name="new")])), 120).split()
    )
    assert "A side has too few steps to tell which parts certainly changed. The largest changes:" in words
    assert "- kernels (compute, -10.00 ms)" in words
    assert "its own noise" not in words
    likely = " ".join(
        blocks_to_text(compose_ticket(compare([window(300, 60)], [window(100, 20, name="new")])), 120).split()
    )
    assert (
        "gemm: 3.00x faster at the same shape, -200.0 ms; its certainty is not known; the part: 300.0 ms in 50 before"
        in likely
    )
