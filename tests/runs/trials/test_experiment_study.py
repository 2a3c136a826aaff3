from __future__ import annotations

from random import Random

import handmade_runs
import pytest
from handmade_trials import made, studied, verdicts
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from traceq.runs.run import FindingKept
from traceq.runs.trials.experiment import Predicted, TrialLimits
from traceq.runs.trials.study_experiment import study_experiment

THREE = """
baseline       : 100 101 99 100 100
try workers=2  : 70 71 69 70 70
try fused=1    : 90 91 89 90 90
try pin=1      : 100 101 99 100 100.2
try compile=1  : failed failed failed failed failed
"""


def chosen(found):
    return found.choice.setting


def test_each_change_is_held_against_the_baseline():
    found = studied(THREE)
    assert verdicts(found) == {
        "workers=2": "better",
        "fused=1": "better",
        "pin=1": "no difference",
    }
    assert found.results[0].setting.name == "baseline"
    step = found.results[1].measures["step"]
    assert step.value == pytest.approx(70e6, rel=0.01)
    assert step.interval[0] < step.value < step.interval[1]
    ratio = found.results[1].differences["step"]
    assert ratio.interval[0] < 0.7 < ratio.interval[1]
    assert ratio.rounds == 5


def test_the_changes_worth_making_come_in_the_order_of_what_they_win():
    found = studied(THREE)
    assert [win.setting for win in found.choice.wins] == ["workers=2", "fused=1"]
    assert not found.choice.together
    assert chosen(found) == "workers=2"


def test_what_won_together_is_chosen_and_is_no_change_of_its_own():
    found = studied(THREE + "try workers=2 fused=1 : 63 64 62 63 63\n")
    assert chosen(found) == "workers=2 fused=1"
    assert [win.setting for win in found.choice.wins] == ["workers=2", "fused=1"]
    assert found.choice.together


def test_of_changes_that_add_nothing_to_each_other_one_is_chosen():
    lines = "baseline : 100 101 99 100\ntry a=1 : 70 71 69 70\ntry b=1 : 80 81 79 80\ntry a=1 b=1 : 70 71 69 69.9"
    found = studied(lines)
    assert (chosen(found), found.choice.combined, found.choice.together) == ("a=1", "a=1 b=1", False)


def test_what_ran_in_rounds_of_its_own_is_held_against_the_others_by_the_baseline():
    """What won together runs after all others, beside the baseline; the machine is busier then."""
    found = studied("""
    baseline    : 100 101 99 100 130 131 129 130
    try a=1     : 70 71 69 70 - - - -
    try b=1     : 80 81 79 80 - - - -
    try a=1 b=1 : - - - - 72.8 73.5 72.1 72.8
    """)
    assert chosen(found) == "a=1 b=1"
    assert found.result("a=1 b=1").differences["step"].ratio == pytest.approx(0.56, abs=0.01)


def test_of_two_knobs_that_exclude_each_other_one_is_recommended():
    found = studied("baseline : 100 101 99\ntry fused=1 : 80 81 79\ntry foreach=1 : 90 91 89\ntry a=1 : 95 96 94")
    assert [win.setting for win in found.choice.wins] == ["fused=1", "a=1"]


def test_a_failed_setting_is_never_chosen_and_says_why():
    found = studied("baseline : 10 10 10\ndepth=64 : 1 1 oom\ndepth=32 : 9 9 9")
    assert chosen(found) == "depth=32"
    result = next(each for each in found.results if each.setting.name == "depth=64")
    assert (result.outcome, result.failed, result.reason) == ("out of memory", 1, "out of memory in round 2")


def test_where_the_baseline_fails_there_is_nothing_to_compare():
    found = studied("baseline : failed failed\ndepth=64 : 5 5")
    assert verdicts(found) == {}
    assert found.choice.wins == ()


def test_without_a_sure_gain_the_baseline_stays():
    found = studied("baseline : 10 12 9 11\na=1 : 9.9 12.1 8.8 11.3\nb=1 : 10.3 11.4 9.5 10.2")
    assert chosen(found) == "baseline"
    assert set(found.choice.alike) >= {"a=1"}


def test_of_settings_that_are_alike_only_one_that_is_surely_better_is_chosen():
    found = studied("""
    baseline       : 100 101 99 100 100
    num_workers=2  : 80 101 84 104 82
    num_workers=4  : 78 79 77 78 78
    """)
    assert verdicts(found, "throughput")["num_workers=2"] == "cannot tell"
    assert (chosen(found), [win.setting for win in found.choice.wins]) == ("num_workers=4", ["num_workers=4"])
    assert "baseline" not in found.choice.alike


def test_a_noisy_setting_that_is_best_by_chance_hides_no_sure_gain():
    found = studied("""
    baseline : 100 100 100 100 100 100 100 100 100
    a=1      : 72 110 72 110 72 110 72 110 72
    b=1      : 90 91 89 90 90 91 89 90 90
    """)
    assert verdicts(found)["a=1"] == "cannot tell"
    assert found.result("a=1").measures["step"].value < found.result("b=1").measures["step"].value
    assert chosen(found) == "b=1"


def test_a_baseline_that_failed_once_is_judged_by_the_other_rounds():
    found = studied("baseline : 100 101 99 failed 100 100\na=1 : 80 81 79 80 80 80")
    assert (chosen(found), verdicts(found)) == ("a=1", {"a=1": "better"})


def test_what_was_not_run_is_no_failure():
    assert studied("baseline : 10 10\na=1 :").result("a=1").outcome == "not run"


def test_a_change_that_may_lose_something_is_dominant_perhaps_by_chance():
    lines = "baseline : 100 101 99 100 : host_memory_peak=100\na=1 : 80 81 79 80 : host_memory_peak=100"
    assert [(each.setting, each.is_sure) for each in studied(lines).dominated] == [("baseline", True)]
    settings, trials = made(lines)
    peaks = {"baseline": (100, 130, 80, 110), "a=1": (130, 80, 110, 100)}
    noisy = [replace(each, host_memory_peak=peaks[each.setting][each.round]) for each in trials]
    assert [(each.setting, each.is_sure) for each in study_experiment(settings, noisy).dominated] == [
        ("baseline", False)
    ]


def test_an_ablation_is_a_bound_and_no_choice():
    found = studied(
        "baseline : 100 101 99 100\nwithout data : 69 70 68 69",
        predictions={"without data": Predicted("idle-data", "idle-data", "Waits for data", 0.28, 0.1, 0.3)},
    )
    assert chosen(found) == "baseline"
    bound = found.ablations[0]
    assert (bound.what, round(bound.share, 2), bound.predicted.share) == ("data", 0.31, 0.28)
    assert bound.interval[0] < 0.31 < bound.interval[1]


BATCHES = """
baseline  : 10 10.1 9.9 10   : samples=32 host_memory_peak=100
batch=64  : 14 14.1 13.9 14  : samples=64 host_memory_peak=150
batch=128 : 24 24.1 23.9 24  : samples=128 host_memory_peak=250
batch=256 : 60 60.1 59.9 60  : samples=256 host_memory_peak=450
"""


@pytest.mark.parametrize(
    ("goal", "limits", "expected"),
    [
        ("throughput", TrialLimits(), "batch=128"),
        ("latency", TrialLimits(), "baseline"),
        ("memory", TrialLimits(), "baseline"),
        ("throughput", TrialLimits(latency_ns=20e6), "batch=64"),
        ("throughput", TrialLimits(host_memory=120), "baseline"),
        ("throughput", TrialLimits(latency_ns=1e6), None),
    ],
)
def test_the_goal_and_the_limits_choose(goal, limits, expected):
    found = studied(BATCHES, goal=goal, limits=limits)
    assert chosen(found) == expected
    assert {each.setting: each.by for each in found.dominated} == {"batch=256": "batch=64"}
    assert found.work == "samples"


def test_more_work_in_a_longer_step_is_better_for_throughput_only():
    found = studied(BATCHES)
    assert verdicts(found) == {"batch=64": "worse", "batch=128": "worse", "batch=256": "worse"}
    assert set(verdicts(found, "throughput").values()) == {"better"}
    win = found.choice.wins[0]
    assert (win.setting, set(win.costs)) == ("batch=128", {"step", "host_memory"})


def test_what_a_limit_lies_within_is_said():
    found = studied("baseline : 10 10.1 9.9 10", limits=TrialLimits(latency_ns=10.2e6, percentile="p95"))
    assert found.choice.unsure == ("baseline",)


def better(found):
    """The settings that are certain to be better for the goal."""
    return {name for name, verdict in verdicts(found, found.quantity).items() if verdict == "better"}


steps = st.integers(8, 14)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), st.tuples(steps, steps, steps, st.booleans()), min_size=1), st.data())
def test_neither_a_failed_nor_a_dominated_setting_is_chosen(tried, data):
    goal = data.draw(st.sampled_from(["latency", "throughput", "memory"]))
    lines = ["baseline : 10 10 10 : host_memory_peak=10 samples=10"]
    for name, (step, memory, work, fails) in tried.items():
        last = "oom" if fails else step
        lines.append(f"{name}=1 : {step} {step} {last} : host_memory_peak={memory} samples={work}")
    found = studied("\n".join(lines), goal=goal, scatter=0.2)
    failed = {each.setting.name for each in found.results if each.outcome != "ok"}
    beaten = {each.setting for each in found.dominated}
    sure = {each.setting: each.by for each in found.dominated if each.is_sure}
    assert chosen(found) not in failed | sure.keys()
    assert chosen(found) in {"baseline", sure.get("baseline"), *better(found)}
    assert not {win.setting for win in found.choice.wins} & failed
    assert set(found.front) | beaten | failed == {each.setting.name for each in found.results}


FACTORIAL = """
baseline workers=0  : 100 101 99 100
workers=2           : 50 50.5 49.5 50
depth=64            : 100 101 99 100
workers=2 depth=64  : 50 50.5 49.5 50
"""


def test_the_effect_of_a_knob_is_the_mean_over_the_others():
    found = studied(FACTORIAL)
    effects = {(each.knob, each.value): each for each in found.effects}
    assert effects["workers", "2"].difference.ratio == pytest.approx(2, rel=0.01)
    assert effects["workers", "2"].difference.verdict == "better"
    assert effects["depth", "64"].difference.verdict == "no difference"
    assert (effects["depth", "64"].pairs, effects["depth", "64"].of) == (2, 2)
    assert found.interactions == ()


def test_what_two_values_do_to_each_other_is_said_where_it_is_sure():
    found = studied(FACTORIAL.replace("workers=2 depth=64  : 50 50.5 49.5 50", "workers=2 depth=64 : 80 81 79 80"))
    interaction = found.interactions[0]
    assert set(zip(interaction.knobs, interaction.values, strict=True)) == {("workers", "2"), ("depth", "64")}
    assert interaction.difference.ratio == pytest.approx(50 / 80, rel=0.02)


def test_combinations_that_failed_are_left_out_of_the_mean():
    found = studied(FACTORIAL.replace("workers=2 depth=64  : 50 50.5 49.5 50", "workers=2 depth=64 : oom oom oom oom"))
    assert {(each.knob, each.pairs, each.of) for each in found.effects} == {("workers", 1, 2), ("depth", 1, 2)}


def test_a_combination_that_fails_later_takes_no_rounds_from_the_others():
    found = studied(FACTORIAL.replace("workers=2 depth=64  : 50 50.5 49.5 50", "workers=2 depth=64 : 50 oom"))
    assert {(each.knob, each.pairs, each.difference.rounds) for each in found.effects} == {
        ("workers", 1, 4),
        ("depth", 1, 4),
    }


def test_no_memory_at_all_has_no_effect():
    assert studied(FACTORIAL, goal="memory", facts={"gpu_memory_peak": 0}).effects == ()


def test_one_knob_at_a_time_has_no_main_effects():
    assert studied("baseline : 10 10\na=1 : 9 9\nb=1 : 8 8").effects == ()


def test_amdahl_is_fitted_with_its_cap():
    ms = {n: 100 * (0.2 + 0.8 / min(n, 4)) for n in (1, 2, 3, 4, 8)}
    lines = [f"baseline workers=1 : {ms[1]} {ms[1]} {ms[1]}"]
    lines += [f"workers={n} : {ms[n]} {ms[n]} {ms[n]}" for n in (2, 3, 4, 8)]
    found = studied("\n".join(lines), scatter=0).scaling[0]
    assert (found.knob, found.counts, found.has_one) == ("workers", (1, 2, 3, 4, 8), True)
    assert found.serial == pytest.approx(0.2, abs=0.02)
    assert found.effective == pytest.approx(4, rel=0.05)
    assert found.error < 0.02


def test_amdahl_without_a_cap_has_none():
    lines = "\n".join(f"{'baseline ' if n == 1 else ''}workers={n} : {20 + 80 / n} {20 + 80 / n}" for n in (1, 2, 4))
    found = studied(lines, scatter=0).scaling[0]
    assert (found.serial, found.effective) == (pytest.approx(0.2), None)


@pytest.mark.parametrize(
    "lines",
    [
        "baseline workers=0 : 10 10\nworkers=1 : 9 9\nworkers=2 : 5 5",  # none is no count
        "baseline batch=1 : 10 10\nbatch=2 : 9 9\nbatch=3 : 5 5",  # no executors
    ],
)
def test_what_is_no_three_counts_has_no_law(lines):
    assert studied(lines).scaling == ()


def test_a_law_has_intervals_that_hold_the_truth():
    ms = {n: 100 * (0.2 + 0.8 / min(n, 4)) for n in (1, 2, 3, 4, 8)}
    noise = Random(5)  # noqa: S311
    lines = [
        f"{'' if n > 1 else 'baseline '}workers={n} : "
        + " ".join(f"{ms[n] * (1 + noise.gauss(0, 0.02)):.2f}" for _ in range(9))
        for n in ms
    ]
    found = studied("\n".join(lines)).scaling[0]
    assert found.serial_interval[0] < 0.2 < found.serial_interval[1] < 0.4
    assert found.effective_interval[0] < 4 < (found.effective_interval[1] or 99)


def test_nothing_is_said_to_scale_where_the_work_of_a_step_is_not_known():
    lines = "baseline nproc=1 : 100 101 99\nnproc=2 : 102 101 102\nnproc=4 : 104 103 104"
    assert studied(lines).scaling == ()
    assert studied(lines, work={"samples": 8.0}).scaling != ()


def test_a_finding_whose_fix_is_the_baseline_is_not_checked():
    prediction = Predicted("too-few-workers", "a", "Few workers", 0.3, 0.2, 0.4)
    lines = "baseline num_workers=2 : 100 101 99\nnum_workers=4 : 80 81 79"
    assert studied(lines, predictions={"baseline": prediction}).checked == ()


def test_nothing_is_won_where_the_work_of_a_step_is_not_known():
    lines = "baseline : 100 101 99\nbatch_size=8 : 70 71 69\nwithout data : 80 81 79"
    prediction = Predicted("idle-data", "idle-data", "Waits for data", 0.3, 0.2, 0.4)
    found = studied(lines, predictions={"batch_size=8": prediction})
    assert (found.checked[0].won, found.checked[0].judged) == (None, "cannot tell")
    assert found.ablations[0].share is not None


def test_a_law_that_misses_is_rejected_with_its_error():
    found = studied("baseline workers=1 : 100 100\nworkers=2 : 30 30\nworkers=4 : 90 90").scaling[0]
    assert (found.serial, found.effective) == (None, None)
    assert found.error > 0.1


def test_a_serial_share_is_by_the_work_of_all_ranks():
    lines = ["baseline gpus=1 : 100 100 100 : samples=8", "gpus=2 : 105 105 105 : samples=16"]
    found = studied("\n".join([*lines, "gpus=4 : 115 115 115 : samples=32"]), scatter=0.001)
    assert chosen(found) == "gpus=4"
    assert found.scaling[0].serial == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize("knob", ["gpus=2", "batch_size=64", "seq_len=128"])
def test_throughput_of_unknown_work_is_not_judged(knob):
    lines = f"baseline : 10 10\n{knob} : 18 18"
    found = studied(lines)
    assert (found.quantity, found.choice) == (None, None)
    assert studied(lines, goal="latency").choice is not None
    assert studied(lines, work={"samples": 8.0}).choice is not None


def finding(rule, saving, low=0.0, high=0.0):
    return FindingKept(rule, rule, rule.title(), saving, low, high, "high")


def profiles():
    findings = (finding("idle-data", 30, 20, 35), finding("python-bound", 8, 4, 10), finding("cpu-starved", 5))
    base = handmade_runs.run(100, 100, 100, findings=findings)
    after = handmade_runs.run(
        70, 70, 70, findings=(finding("python-bound", 4),), cannot_tell={"cpu-starved": "few samples"}
    )
    return {"baseline": base, "workers=2": after}


def test_which_findings_a_change_removed():
    removed = studied(THREE, profiles=profiles()).removed[0]
    assert removed.setting == "workers=2"
    assert [
        [each.rule for each in group] for group in (removed.gone, removed.smaller, removed.unsure, removed.new)
    ] == [
        ["idle-data"],
        ["python-bound"],
        ["cpu-starved"],
        [],
    ]


def test_a_finding_is_smaller_only_where_its_bounds_are_apart():
    base = handmade_runs.run(100, 100, findings=[finding("host-python", 40, 20, 50)])
    for high, smaller in ((19, ["host-python"]), (25, [])):
        after = handmade_runs.run(100, 100, findings=[finding("host-python", 15, 10, high)])
        (removed,) = studied("baseline : 10 10\na=1 : 10 10", profiles={"baseline": base, "a=1": after}).removed
        assert [each.rule for each in removed.smaller] == smaller


def test_findings_that_no_setting_is_for_and_none_removed_are_left():
    settings = "baseline : 100 101\nworkers=2 : 70 71"
    assert [each.rule for each in studied(settings, profiles=profiles()).untried] == ["python-bound", "cpu-starved"]


@pytest.mark.parametrize(
    ("low", "likely", "high", "judged"),
    [(0.2, 0.3, 0.4, "right"), (0.4, 0.5, 0.6, "too high"), (0.01, 0.1, 0.2, "too low")],
)
def test_a_prediction_is_held_against_what_was_won(low, likely, high, judged):
    prediction = Predicted("idle-data", "idle-data", "Waits for data", likely, low, high)
    found = studied(THREE, predictions={"workers=2": prediction}, profiles=profiles()).checked[0]
    assert (found.judged, found.state) == (judged, "gone")
    assert found.won == pytest.approx(0.3, abs=0.01)
    assert found.error == pytest.approx(abs(likely - 0.3) / 0.3, abs=0.05)


def test_rare_long_steps_count_in_what_was_won():
    """A checkpoint every tenth step: the typical step is the same, and a tenth of all time is saved."""
    from traceq.runs.trials.trial import Setting, Trial

    slow = tuple(int(20e6) if step % 10 == 9 else int(10e6) for step in range(20))
    trials = [Trial("baseline", n, n, "ok", steps_ns=slow) for n in range(4)]
    trials += [Trial("async=1", n, n, "ok", steps_ns=(int(10e6),) * 20) for n in range(4)]
    found = study_experiment([Setting("baseline", "baseline"), Setting("async=1", "try", {"async": "1"})], trials)
    assert verdicts(found) == {"async=1": "no difference"}
    assert found.choice.wins[0].ratio == pytest.approx(1.1)
