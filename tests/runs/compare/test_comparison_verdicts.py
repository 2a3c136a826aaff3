"""Each situation in which two runs are compared: the verdict, and what is said of it."""

from __future__ import annotations

import pytest
from handmade_runs import MS, item, noisy, run
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from traceq.diagnosis.finding import Confidence
from traceq.runs.compare.compare import compare
from traceq.runs.compare.comparison import OutlierStep
from traceq.runs.compare.known_noise import KnownNoise
from traceq.runs.run import FindingKept

USUAL = 100 * MS
NONE = KnownNoise(0)

pytestmark = pytest.mark.usefixtures("fewer_draws")


def usual(seed=0, count=30, share=0.02, middle=USUAL, **facts):
    return run(*noisy(middle, count, share, seed), name=facts.pop("name", f"{seed}.json"), **facts)


def said(comparison):
    """Verdict and first reason."""
    return f"{comparison.verdict}: {comparison.reasons[0]}"


def verdict(base, new, **options):
    return said(compare([base], [new], **options))


def test_a_change_that_is_no_chance():
    found = compare([usual(1)], [usual(2, middle=110 * MS)])
    assert said(found) == "regression: permutation test: p = 0.0005 (threshold 0.02)"
    low, high = found.change.interval_ns
    assert 0 < low < 10 * MS < high < 14 * MS
    assert found.comparable
    assert found.obstacles == ()


def test_no_change_is_said_with_what_would_have_been_found():
    found = compare([usual(1)], [usual(2)])
    assert found.verdict == "no change"
    assert found.reasons[0].endswith("or more would have been found in 9 of 10 such comparisons")
    assert found.change.interval_ns[0] <= 0 <= found.change.interval_ns[1]
    assert 0 < found.change.detectable_ns < 5 * MS


def test_too_few_steps():
    found = compare([usual(1, count=4)], [usual(2, count=4, middle=2 * USUAL)])
    assert said(found) == (
        "cannot tell: 4 against 4 steps are too few to show a change at a level of 0.02; capture more"
    )
    assert compare([usual(1, count=5)], [usual(2, count=5, middle=2 * USUAL)]).verdict == "regression"


def test_a_laxer_level_needs_fewer_steps():
    assert verdict(usual(1, count=4), usual(2, count=4, middle=2 * USUAL), level=0.05).startswith("regression")


def test_one_step_a_side_has_no_interval():
    found = compare([run(USUAL, name="a")], [run(2 * USUAL, name="b")])
    assert found.verdict == "cannot tell"
    assert (found.change.delta_ns, found.change.interval_ns, found.change.p) == (USUAL, None, None)
    assert sum(cause.delta_ns for cause in found.causes) == USUAL


def test_different_step_counts_are_compared_and_said():
    found = compare([usual(1, count=12)], [usual(2, count=40, middle=110 * MS)])
    assert found.verdict == "regression"
    assert "12 steps are compared with 40: each side is judged by its own spread" in found.remarks


def test_one_long_step_changes_nothing_and_is_named():
    base, new = usual(1), usual(2)
    steps = (*new.steps[:-1], replace(new.steps[-1], dur=9 * USUAL, ledger={"compute": 9 * USUAL}))
    found = compare([base], [replace(new, steps=steps)])
    assert found.verdict == "no change"
    assert found.new.outliers == (OutlierStep("2.json", 29, "step 29", 9 * USUAL, found.new.outliers[0].typical_ns),)
    assert any(remark.startswith("new: 1 outlier, step 29 (900.0 ms where 99.") for remark in found.remarks)


def test_an_outlier_of_steps_that_take_no_time():
    found = compare([run(0, 0, 0, 0, 0, 0, 7, name="a")], [usual(2)])
    assert len(found.base.outliers) == 1


def test_a_drift_as_large_as_the_change_is_no_verdict():
    rising = [dur + number * MS for number, dur in enumerate(noisy(USUAL, share=0.005))]
    found = compare([usual(1, share=0.005)], [run(*rising, name="b")])
    assert found.verdict == "cannot tell"
    assert found.reasons[0].startswith("steps drift by ")
    assert "which may depend on the part of a run that was captured" in found.reasons[0]
    assert any("new: steps of b get longer during the run, by " in remark for remark in found.remarks)


def test_a_drift_smaller_than_the_change_is_a_remark():
    falling = [dur - number * MS // 5 for number, dur in enumerate(noisy(130 * MS, share=0.005))]
    found = compare([usual(1, share=0.005)], [run(*falling, name="b")])
    assert found.verdict == "regression"
    assert any("get shorter during the run" in remark for remark in found.remarks)


@pytest.mark.parametrize(
    ("base", "new", "reasons"),
    [
        ([], [usual()], ("the base is empty",)),
        ([usual()], [], ("the new is empty",)),
        ([], [], ("the base is empty", "the new is empty")),
        ([usual()], [run(USUAL, name="b", excluded=(0,))], ("the new has no steps that count",)),
        ([usual()], [run(name="b")], ("the new has no steps that count",)),
    ],
)
@pytest.mark.parametrize("anyway", [False, True])
def test_an_empty_side(base, new, reasons, anyway):
    found = compare(base, new, anyway=anyway)
    assert (found.verdict, found.reasons, found.change, found.causes) == ("cannot tell", reasons, None, ())
    assert not found.comparable


def test_identical_files():
    found = compare([usual()], [usual(source="copy.duckdb")])
    assert said(found) == "no change: both sides are the same files, byte for byte"
    assert (found.change.delta_ns, found.change.interval_ns, found.change.p) == (0, (0, 0), 1)


def test_one_step_of_identical_files_is_no_change_either():
    assert verdict(run(5), run(5)) == "no change: both sides are the same files, byte for byte"


def test_other_steps_of_the_same_file_are_not_the_same():
    assert "byte for byte" not in verdict(usual(1, sha256="x"), usual(2, sha256="x"))


OBSTACLES = [
    pytest.param({}, {"device_name": "NVIDIA A100"}, "another GPU: NVIDIA H100 against NVIDIA A100", id="GPU"),
    pytest.param({"devices": 1}, {"devices": 8}, "number of GPUs in use: 1 against 8", id="GPUs"),
    pytest.param({"world_size": 8}, {"world_size": 16}, "world size: 8 against 16", id="world size"),
    pytest.param(
        {"payload": {"samples": 32.0}},
        {"payload": {"samples": 64.0}},
        "samples per step: 32.0 against 64.0; traceq tradeoff compares runs that do different work",
        id="payload",
    ),
    pytest.param(
        {"shapes": {"aten::mm": {"[[8, 8]]": 90, "[[1]]": 10}}},
        {"shapes": {"aten::mm": {"[[16, 8]]": 90, "[[1]]": 10}}},
        "input shapes: aten::mm mostly [[8, 8]] against [[16, 8]]",
        id="shapes",
    ),
    pytest.param(
        {"producer": "PyTorch Profiler", "settings": {"with_stack": "1"}},
        {"producer": "PyTorch Profiler"},
        "profiler setting with_stack: on against off",
        id="with_stack",
    ),
    pytest.param(
        {"overhead_share": 0.01},
        {"overhead_share": 0.2},
        "profiler overhead: 1.0 % of a step against 20.0 %; record both with the same options of traceq record "
        "(--skip 20 or more measures that better), or compare --anyway",
        id="overhead",
    ),
    pytest.param(
        {"items": [item("gemm", 90, steps=30)]},
        {"items": [item("softmax", 90, steps=30)]},
        "they do not run the same program: only 0.0 % of one side's kernel time is in kernels of the other",
        id="program",
    ),
]


@pytest.mark.parametrize(("base", "new", "reason"), OBSTACLES)
def test_what_cannot_be_compared_says_why(base, new, reason):
    sides = [usual(1, **base)], [usual(2, middle=110 * MS, **new)]
    found = compare(*sides)
    assert (found.verdict, found.reasons, found.obstacles) == ("cannot tell", (reason,), (reason,))
    assert not found.comparable
    assert sum(cause.delta_ns for cause in found.causes) == found.change.delta_ns > 0
    overruled = compare(*sides, anyway=True)
    assert (overruled.verdict, overruled.obstacles, overruled.comparable) == ("regression", (reason,), False)
    assert overruled.reasons[0].startswith("permutation test: p = ")
    assert compare(sides[1], sides[0]).obstacles != ()


@pytest.mark.parametrize(
    ("base", "new"),
    [
        pytest.param({}, {"device_name": None}, id="GPU not named"),
        pytest.param({"world_size": None}, {"world_size": 8}, id="world size not named"),
        pytest.param({"payload": {"samples": 32.0}}, {"payload": {"samples": 32.1}}, id="payload as good as the same"),
        pytest.param({"payload": {"samples": 32.0}}, {"payload": {"tokens": 5.0}}, id="other things counted"),
        pytest.param({"payload": {"samples": 32.0}}, {}, id="nothing counted"),
        pytest.param(
            {"shapes": {"aten::mm": {"[[8, 8]]": 90}}}, {"shapes": {"aten::add": {"[[1]]": 9}}}, id="other operators"
        ),
        pytest.param({"settings": {"with_stack": "1"}, "format": "nsys"}, {}, id="setting that nsys does not have"),
        pytest.param({"overhead_share": 0.01}, {"overhead_share": 0.05}, id="overhead as good as the same"),
        pytest.param({"overhead_share": None}, {"overhead_share": 0.5}, id="overhead not known"),
        pytest.param({"step_source": "window"}, {"step_source": "window"}, id="two whole traces"),
        pytest.param({"items": [item("gemm", 9)]}, {}, id="no kernels"),
        pytest.param(
            {"items": [item("cudnn", 9, operator="aten::conv")]},
            {"items": [item("cublas", 9, operator="aten::conv")]},
            id="other kernels for the same operators",
        ),
    ],
)
def test_what_is_not_known_or_hardly_differs_is_no_obstacle(base, new):
    assert compare([usual(1, **base)], [usual(2, **new)]).obstacles == ()


def test_a_change_that_the_profiler_cannot_explain_is_judged_and_the_interval_holds_its_cost():
    sides = [usual(1, overhead_share=0.0)], [usual(2, middle=30 * MS, overhead_share=0.2)]
    found, alike = compare(*sides), compare([usual(1)], [usual(2, middle=30 * MS)])
    assert (found.verdict, found.obstacles) == ("improvement", ())
    assert found.assumptions[-1] == (
        "profiler overhead: 0.0 % of a step against 20.0 %; the interval covers the change with and without it"
    )
    # 30 ms are 25 ms and a fifth of them.
    low, high = alike.change.interval_ns
    assert found.change.interval_ns == (pytest.approx(low - 5 * MS, abs=MS // 2), high)


def test_a_cost_of_the_profiler_that_is_not_known_is_said_with_a_way_to_know_it():
    found = compare([usual(1, overhead_share=0.0)], [usual(2, middle=110 * MS, loader_queue=8)])
    assert (found.verdict, found.obstacles) == ("regression", ())
    assert (
        "new: profiler overhead is not known: the steps without the profiler may have used batches that a loader had queued (8); "
        "record with --skip 34 or more"
    ) in found.remarks


def test_several_obstacles_are_all_said():
    found = compare([usual(1, world_size=8)], [usual(2, world_size=4, device_name="NVIDIA A100")])
    assert found.reasons == ("another GPU: NVIDIA H100 against NVIDIA A100", "world size: 8 against 4")


def test_two_windows_are_too_few_steps():
    sides = [run(dur, name=str(dur), step_source="window") for dur in (USUAL, 2 * USUAL)]
    assert verdict(*sides) == (
        "cannot tell: 1 against 1 steps: no steps were found; mark them, or ingest with --step-range"
    )


def test_noisy_steps_cannot_tell_and_say_what_would_have_been_seen():
    found = compare([usual(1, share=0.2)], [usual(2, share=0.2)])
    assert found.verdict == "cannot tell"
    assert found.change.detectable_ns > 5 * MS
    assert found.reasons[0].startswith("a change below ")
    assert found.reasons[0].endswith(
        "could have gone unnoticed, as steps differ too much among themselves; capture more of them"
    )
    assert verdict(usual(1, share=0.2), usual(2, share=0.2), sensitivity_share=0.5).startswith("no change")


def test_a_certain_change_below_the_floor_is_none():
    sides = usual(1, share=0.0005), usual(2, share=0.0005, middle=USUAL + MS // 2)
    assert verdict(*sides, noise=NONE) == (
        "no change: the difference is significant (p = 0.0005), but below 1.0 % of the step, which single "
        "runs may differ by without a cause"
    )
    assert verdict(*sides, noise=NONE, floor_share=0.001).startswith("regression")


def test_runs_that_differ_among_themselves_more_than_the_sides_are_not_called():
    """Steps alone would be certain of it: each run is 10 % off another, and steps scatter by 0.5 %."""
    base = [usual(seed, share=0.005, middle=middle * MS) for seed, middle in enumerate((95, 105, 115))]
    new = [usual(seed + 10, share=0.005, middle=middle * MS) for seed, middle in enumerate((100, 110, 120))]
    found = compare(base, new)
    assert found.verdict == "cannot tell"
    assert found.change.p > found.level
    assert found.change.interval_ns[0] < 0 < found.change.interval_ns[1]
    assert found.reasons[0].endswith("for a comparison of 3 against 3; give 3 or more per side")


def test_two_runs_against_one_never_ask_for_more_than_the_whole_step():
    """Student's t of one degree of freedom alone would ask for 130 times the step."""
    found = compare([usual(1), usual(2, middle=112 * MS)], [usual(3, middle=103 * MS)])
    assert found.change.detectable_ns < USUAL / 2
    assert found.reasons[0].endswith(
        "could have gone unnoticed, as the runs of a side differ too much for a comparison of 2 against 1; "
        "give 3 or more per side"
    )
    assert found.assumptions[0].startswith(
        "2 against 1 run: the interval includes an assumed run-to-run noise, 0.5 % of the step "
    )


def test_known_noise_of_runs_widens_the_interval_and_is_said():
    """Steps are certain of 3 %; of runs that differ by 2 % two may differ by that."""
    sides = usual(1, share=0.005), usual(2, share=0.005, middle=103 * MS)
    alone, known, small = (compare([sides[0]], [sides[1]], noise=KnownNoise(noise)) for noise in (0, 0.02, 0.002))
    assert (alone.verdict, known.verdict, small.verdict) == ("regression", "cannot tell", "regression")
    low, high = known.change.interval_ns
    # Student's t of 8 degrees of freedom at 0.99 is 2.9
    assert (low + high) / 2 == pytest.approx(known.change.delta_ns, rel=0.2)
    assert (high - low) / 2 == pytest.approx(2.9 * 0.02 * 2**0.5 * USUAL, rel=0.1)
    assert known.assumptions == (
        "runs of one program are expected to differ by 2.0 % of the step (standard deviation, --noise)",
    )


def test_runs_that_agree_make_known_noise_smaller():
    base = [usual(seed, share=0.005) for seed in range(4)]
    new = [usual(seed + 10, share=0.005, middle=103 * MS) for seed in range(4)]
    (one, several) = (compare(base[:runs], new[:runs], noise=KnownNoise(0.01)).change for runs in (1, 4))
    assert several.detectable_ns < one.detectable_ns / 2


@given(
    st.integers(0, 10_000),
    st.integers(2, 12),
    st.floats(0.9, 1.1),
    st.sampled_from([0.005, 0.02, 0.3]),
    st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_the_interval_holds_no_change_exactly_where_p_is_above_the_level(seed, count, factor, level, several):
    base = [usual(seed + number, count, middle=USUAL) for number in range(several)]
    new = [usual(seed + 50 + number, count, middle=round(factor * USUAL)) for number in range(several)]
    change = compare(base, new, level=level).change
    low, high = change.interval_ns
    assert (low <= 0 <= high) == (change.p > level)


def test_runs_that_agree_with_one_another_tell_a_change():
    base = [usual(seed, share=0.01) for seed in range(3)]
    new = [usual(seed + 10, share=0.01, middle=104 * MS) for seed in range(3)]
    found = compare(base, new)
    assert found.verdict == "regression"
    assert found.assumptions == ()


def test_one_run_twice_on_a_side_is_no_second_run():
    """What is the same file tells nothing of how runs differ, nor more than its steps."""
    base, new = usual(1, count=4), usual(2, count=4, middle=104 * MS)
    found = compare([base] * 5, [new] * 5)
    assert found.verdict == "cannot tell" or any("same" in remark for remark in found.remarks)


def test_every_fifth_step_is_slow_only_the_mean_sees_it():
    def long(seed, factor):
        durations = noisy(USUAL, 40, 0.005, seed)
        return run(
            *(round(factor * dur) if number % 5 == 4 else dur for number, dur in enumerate(durations)), name=str(seed)
        )

    base, new = long(1, 1), long(2, 1.2)
    typical, mean = (compare([base], [new], statistic=each, noise=NONE) for each in ("typical", "mean"))
    assert typical.verdict == "no change"
    assert typical.other.statistic == "mean"
    assert typical.other.delta_ns == pytest.approx(0.04 * USUAL, rel=0.1)
    assert typical.other.interval_ns[0] > 0
    assert mean.change == typical.other
    assert mean.verdict == "regression"


def test_warm_up_is_said():
    found = compare([usual(1)], [usual(2, excluded=(0, 1))])
    assert "new: 2 steps left out (warm-up)" in found.remarks
    assert (found.new.counted, found.new.excluded) == (28, 2)


@pytest.mark.parametrize(
    ("base", "new", "remark"),
    [
        ({}, {"device_name": None}, "the new does not say which GPU it ran on"),
        (
            {"producer": "nsys", "format": "nsys"},
            {"producer": "PyTorch Profiler"},
            "profiler: nsys against PyTorch Profiler",
        ),
        ({"producer_version": "1"}, {"producer_version": "2"}, "version of the profiler: 1 against 2"),
        ({"step_source": "optimizer"}, {}, "steps found by: optimizer against profiler_step"),
        ({"settings": {"nccl_version": "2.1"}}, {"settings": {"nccl_version": "2.2"}}, "nccl_version: 2.1 against 2.2"),
        ({"lost": ("3 events",)}, {}, "base: 1.json is incomplete: 3 events"),
        (
            {"conditions": {"SM clock [MHz]": 1980.0, "power [W]": 700.0}},
            {"conditions": {"SM clock [MHz]": 1755.0, "power [W]": 699.0}},
            "SM clock [MHz]: 1,980 against 1,755 (-11.4 %)",
        ),
        ({"rank": 0, "ranks": (0, 1, 2)}, {"rank": 0}, "base: rank 0 of 3 in 1.json; --rank chooses another"),
    ],
)
def test_remarks(base, new, remark):
    found = compare([usual(1, **base)], [usual(2, **new)])
    assert any(each.startswith(remark) for each in found.remarks), found.remarks
    assert found.comparable


def test_findings_come_and_go():
    def finding(rule, confidence: Confidence = "high"):
        return FindingKept(rule, f"{rule}-1", rule.title(), 5e6, 1e6, 9e6, confidence)

    base = usual(1, findings=(finding("gone"), finding("stays")))
    found = compare([base], [usual(2, findings=(finding("stays"), finding("comes")))])
    assert [each.rule for each in found.findings_gone] == ["gone"]
    assert [each.rule for each in found.findings_new] == ["comes"]


def test_how_many_and_how_much():
    base = [item("gemm", 9, 4, steps=30), item("pinned", 9, 2, category="copy_h2d", size=64, steps=30)]
    new = [item("gemm", 9, 6, steps=30), item("memset", 1, 1, category="memset", steps=30)]
    found = compare([usual(1, items=base)], [usual(2, items=new)])
    assert [(each.what, each.base, each.new) for each in found.counts] == [
        ("kernels", 4, 6),
        ("copies to the GPU", 2, 0),
        ("bytes of copies to the GPU", 64, 0),
        ("memsets", 0, 1),
    ]


def test_by_operator_and_by_phase_without_idle_time():
    def made(forward, backward, seed):
        items = (
            item("gemm", forward, operator="aten::mm", phase="forward", steps=30),
            item("gemm", backward, phase="backward", steps=30),
            item("a wait", 5 * MS, category="idle_data", operator="aten::mm", phase="forward", steps=30),
        )
        return usual(seed, items=items)

    found = compare([made(10, 20, 1)], [made(15, 20, 2)])
    assert [(row.name, row.base_ns, row.new_ns, row.delta_ns) for row in found.operators] == [
        ("aten::mm", 10, 15, 5),
        (None, 20, 20, 0),
    ]
    assert [row.name for row in found.phases] == ["forward", "backward"]


def test_without_operators_there_is_no_such_table():
    found = compare([usual(1, items=[item("gemm", 5)])], [usual(2, items=[item("gemm", 5)])])
    assert (found.operators, found.phases) == ((), ())
