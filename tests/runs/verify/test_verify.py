"""What is said of a finding after a fix: whether it is gone, what was won, and whether that was foreseen."""

from __future__ import annotations

import json

import pytest
from handmade_runs import MS, noisy, run
from msgspec.structs import replace

from traceq.app.compare import ComparisonView
from traceq.app.verify import VerificationView, _with_earlier
from traceq.errors import NoSuchFinding, UnusableCalibration
from traceq.reports.comparison.verification import compose_verification
from traceq.reports.document import Verdict
from traceq.reports.renderers.comparison_to_json import verification_to_json
from traceq.reports.renderers.to_html import html_of
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.compare.compare import compare
from traceq.runs.losses import LossRecord
from traceq.runs.program_log import log_verification
from traceq.runs.run import FindingKept, PartKept
from traceq.runs.verify.calibration import append, calibrate, read
from traceq.runs.verify.verify import verify

STEP = 100 * MS


def finding(saving, rule="item-read", low=0.5, high=1.5, name=None):
    """A finding that would win `saving` ms of a step, or `low` to `high` times that."""
    saving *= MS
    return FindingKept(rule, name or f"{rule}-1", "A title", saving, low * saving, high * saving, "high")


def runs(middle, *findings, seed=0, **facts):
    return [run(*noisy(middle, seed=seed), findings=findings, name=f"{middle}.json", **facts)]


def verified(won, *now, predicted=20, name="item-read", **facts):
    """A finding that would win `predicted` ms of 100, and steps that became shorter by `won` ms."""
    before = runs(STEP, finding(predicted), finding(3, "other-rule"))
    return verify(name, before, runs(STEP - won * MS, *now, seed=1, **facts))


@pytest.mark.parametrize(
    ("won", "predicted", "prediction"),
    [
        (20, 20, "right"),
        (12, 20, "right"),
        (28, 20, "right"),
        (20, 60, "too high"),
        (40, 20, "too low"),
        (0, 1, "cannot tell"),
    ],
)
def test_a_prediction_is_right_when_what_was_won_may_lie_between_its_bounds(won, predicted, prediction):
    result = verified(won, predicted=predicted)
    assert result.state == "gone"
    assert result.prediction == prediction


def test_the_verdict_and_its_p_are_those_of_a_comparison():
    """Five of thirty steps are twice as long: the mean step tells another story than the typical one."""
    for longer in range(6):
        before = [run(*noisy(STEP, seed=1), findings=(finding(20),))]
        steps = noisy(STEP, seed=2)
        after = [run(*[2 * dur if place < longer else dur for place, dur in enumerate(steps)])]
        said, compared = verify("item-read", before, after).comparison, compare(before, after)
        assert (said.verdict, said.reasons) == (compared.verdict, compared.reasons)


def test_what_was_won_lies_in_its_interval_and_is_how_much_the_mean_step_got_shorter():
    result = verified(20)
    low, high = result.won_interval_ns
    assert 15 * MS < low < result.won_ns < high < 25 * MS
    change = result.comparison.change
    assert (result.won_ns, low, high) == (
        change.base_ns - change.new_ns,
        -change.interval_ns[1],
        -change.interval_ns[0],
    )


def test_steps_that_got_longer_have_won_less_than_nothing():
    result = verified(-20)
    assert result.won_interval_ns[1] < 0
    assert result.prediction == "too high"


@pytest.mark.parametrize(
    ("left", "state"), [(20, "still there"), (16, "still there"), (15.9, "smaller"), (1, "smaller")]
)
def test_a_finding_that_would_still_win_four_fifths_is_still_there(left, state):
    result = verified(10, finding(left))
    assert (result.state, result.after.saving_ns) == (state, left * MS)
    assert result.prediction == "cannot tell"


def test_a_finding_is_the_same_under_another_id_or_as_part_of_another():
    assert verified(20, finding(20, name="item-read-2")).state == "still there"
    part = PartKept("item-read", "item-read-1", "A title", 20 * MS, "other-rule-1")
    assert verified(20, parts=(part,)).after == part


def test_a_finding_of_the_rule_that_was_there_before_is_not_what_is_left_of_another():
    before = runs(STEP, finding(20), finding(10, name="item-read-2"))
    after = runs(STEP - 20 * MS, finding(10, name="item-read-2"), seed=1)
    assert verify("item-read-1", before, after).state == "gone"


def test_a_rule_that_cannot_judge_any_more_says_why():
    result = verified(20, cannot_tell={"item-read": "no host slices"})
    assert (result.state, result.prediction, result.reason) == ("cannot tell", "cannot tell", "no host slices")


def test_runs_of_other_gpus_win_nothing_unless_they_are_compared_anyway():
    before = runs(STEP, finding(20))
    after = runs(STEP - 20 * MS, seed=1, device_name="NVIDIA A100")
    result = verify("item-read", before, after)
    assert (result.state, result.won_ns, result.won_interval_ns, result.prediction) == (
        "cannot tell",
        None,
        None,
        "cannot tell",
    )
    assert "A100" in result.reason
    assert verify("item-read", before, after, anyway=True).prediction == "right"


def test_a_single_step_has_no_interval():
    result = verify("item-read", [run(STEP, findings=(finding(20),))], [run(80 * MS, name="b.json")])
    assert (result.won_ns, result.won_interval_ns, result.prediction) == (20 * MS, None, "cannot tell")
    assert "single step" in result.reason


def said(verification):
    return " ".join(blocks_to_text(compose_verification(verification), 1000, colour=False).split())


def test_other_causes_are_spoken_of_only_where_something_was_saved():
    saved, less = verified(10, finding(20)), verified(10, finding(5))
    assert saved.reason == "the saving has another cause: the finding is there as before"
    assert less.reason == "the saving may have other causes, too: the finding is there in part"
    assert "9.656 ms of a step were saved" in said(saved)
    assert "won +" in said(saved)
    for won in (-30, 0):
        told = said(verified(won, finding(20)))
        assert "The finding is still there" in told
        assert "cause" not in told
        assert "won" not in told
    assert "nothing was saved, the step is 30." in said(verified(-30, finding(20)))


def test_the_box_on_a_page_is_that_of_what_became_of_it():
    cases = {
        "healthy": verified(20),
        "problem": verified(20, finding(20)),
        "cannot-tell": verified(20, cannot_tell={"item-read": "x"}),
    }
    for outcome, result in cases.items():
        page = html_of(compose_verification(result))
        assert f'class="verdict {outcome}"' in page
        assert "To fix" not in page


def test_a_difference_within_the_noise_is_no_saving():
    """Claim nothing won beside "still there", as was said of Rodinia's gaussian after a change without effect."""
    after = [run(*[dur - 15_000 for dur in noisy(STEP)], name="b.json", findings=(finding(20),))]
    result = verify("item-read", runs(STEP, finding(20)), after)
    assert (result.state, result.won_ns, result.is_saved) == ("still there", 15_000, False)
    told = said(result)
    assert "The finding is still there; no saving is certain, the step is 15.00 µs" in told
    assert "won" not in told
    assert result.reason.startswith("no change: ")


def test_findings_that_vanished_with_it_are_named():
    assert [each.rule for each in verified(20).also_gone] == ["other-rule"]
    assert verified(20, finding(3, "other-rule")).also_gone == ()


def test_a_finding_is_named_by_id_or_rule_the_largest_of_the_rule_first():
    before = runs(STEP, finding(5), finding(9, name="item-read-2"))
    after = runs(STEP, seed=1)
    assert verify("item-read", before, after).finding.finding_id == "item-read-2"
    assert verify("item-read-1", before, after).finding.finding_id == "item-read-1"
    with pytest.raises(NoSuchFinding, match=r"item-raed: no such finding .* did you mean item-read"):
        verify("item-raed", before, after)


def test_text_and_json_say_what_became_of_it():
    result = verified(20)
    told = json.loads(verification_to_json(result))
    assert (told["state"], told["prediction"], told["won_ns"]) == ("gone", "right", result.won_ns)
    assert told["won_interval_ns"] == list(result.won_interval_ns)
    text = blocks_to_text(compose_verification(result))
    assert "gone" in text
    assert "A title" in text


def test_what_says_more_than_a_verification_is_a_command():
    """It said that traceq compare says more, without what to type, under titles in another style than the report's (D31)."""
    before = runs(STEP, finding(20), source="my base.duckdb")
    text = blocks_to_text(compose_verification(verify("item-read", before, runs(80 * MS, seed=1))))
    assert f"More on the difference: traceq compare 'my base.duckdb' {80 * MS}.json\n" in text
    assert "===" not in text


def test_without_a_verdict_the_command_that_would_give_one_is_printed():
    result = verified(20, device_name="another GPU")
    assert result.comparison.obstacles
    text = blocks_to_text(compose_verification(result))
    assert f"Compare them anyway: traceq compare {STEP}.json {80 * MS}.json --anyway\n" in text


def test_pages_name_the_runs_without_their_folders():
    before = runs(STEP, finding(20), source="/home/alice/old/job.duckdb")
    after = runs(80 * MS, seed=1, source="/home/alice/new/job.duckdb", device_name="another GPU")
    verification = VerificationView(verify("item-read", before, after))
    comparison = ComparisonView(verification.content.comparison)
    for view in (verification, comparison):
        assert "traceq compare /home/alice/old/job.duckdb /home/alice/new/job.duckdb --anyway" in view.to_text(
            width=300
        )
        for page in (view.to_html(), view.to_markdown()):
            assert "traceq compare old/job.duckdb new/job.duckdb --anyway" in page
            assert "alice" not in page
    assert "/home/alice/old/job.duckdb" in comparison.to_json()


def test_earlier_predictions_of_the_rule_are_told(tmp_path):
    path = tmp_path / "own.jsonl"
    assert append(path, calibrate(verified(28)))
    other = verified(20)
    assert _with_earlier(other, tmp_path / "none.jsonl", "gpu") is other
    assert _with_earlier(other, path, "cpu") is other
    told = _with_earlier(other, path, "gpu")
    assert (told.earlier.predictions, told.earlier.inside) == (1, 1)
    said = " ".join(blocks_to_text(compose_verification(told)).split())
    assert "1 prediction of this rule on a GPU: 1 inside the bounds, median error" in said
    assert json.loads(verification_to_json(told))["earlier"]["predictions"] == 1


def test_a_gain_too_small_to_be_sure_of_is_kept_and_one_that_may_be_drift_is_not():
    line = calibrate(verified(0, predicted=1))
    assert (line.prediction, line.version) == ("cannot tell", 2)
    rising = [run(*[STEP + number * MS for number in range(30)], findings=(finding(5),), name="rising")]
    drifting = verify("item-read", rising, runs(STEP + 14 * MS, seed=1))
    assert drifting.comparison.verdict == "cannot tell"
    assert calibrate(drifting) is None


def test_a_checked_prediction_is_added_once(tmp_path):
    path = tmp_path / "calibration.jsonl"
    result = verified(20)
    line = calibrate(result)
    assert (line.saving_ns, line.saving_low_ns, line.saving_high_ns) == (20 * MS, 10 * MS, 30 * MS)
    assert (line.won_low_ns, line.won_high_ns, line.prediction, line.also_gone) == (*result.won_interval_ns, "right", 1)
    assert [append(path, line), append(path, line)] == [True, False]
    other = calibrate(verified(20, predicted=60))
    path.write_text(path.read_text("utf-8").rstrip("\n"), "utf-8")
    assert append(path, other) is False, "the same runs, rule and version are one pair"
    assert append(path, calibrate(verify("other-rule", runs(STEP, finding(3, "other-rule")), runs(80 * MS, seed=1))))
    assert [each.rule for each in read(path)] == ["item-read", "other-rule"]


def test_a_prediction_that_cannot_be_judged_is_not_kept():
    assert calibrate(verified(10, finding(20))) is None


def test_a_line_that_is_no_prediction_is_named(tmp_path):
    path = tmp_path / "calibration.jsonl"
    path.write_text('\n{"rule": "item-read"}\n', "utf-8")
    with pytest.raises(UnusableCalibration, match="line 1"):
        list(read(path))


@pytest.mark.parametrize(
    ("won", "changed", "decision", "outcome", "reason"),
    [
        (20, None, "keep", "improvement", ""),
        (20, "the loss changed", "reject", "improvement", "the loss changed"),
        (-20, None, "reject", "regression", "regression: "),
        (0, None, None, "no change", "no change: "),
    ],
)
def test_the_log_keeps_what_saved_time_and_rejects_what_cost_some(won, changed, decision, outcome, reason):
    entry = log_verification(verified(won), "a.json", "b.json", changed)
    assert (entry.decision, entry.outcome, entry.state) == (decision, outcome, "gone")
    assert (entry.predicted, entry.predicted_low, entry.predicted_high) == pytest.approx((0.2, 0.1, 0.3), rel=0.02)
    assert entry.won == pytest.approx(won / 100, abs=0.01)
    assert entry.won_low <= entry.won <= entry.won_high
    assert (entry.source, entry.rule, entry.step_ns) == ("a.json -> b.json", "item-read", pytest.approx(STEP, rel=0.02))
    assert entry.reason.startswith(reason)
    assert bool(entry.reason) is bool(reason)


def losses(*values, seed=0):
    return LossRecord(tuple((value,) for value in values), random=("a",) * len(values), seed=seed, type="float32")


def verified_losses(before, after, *again):
    runs_before = [*runs(STEP, finding(20), losses=before), *(runs(STEP, seed=2, losses=each)[0] for each in again)]
    return verify("item-read", runs_before, runs(STEP - 20 * MS, seed=1, losses=after))


def test_a_fix_that_changes_results_says_so_first():
    result = verified_losses(losses(2.0, 1.9, 1.8), losses(2.0, 1.9, 1.6))
    text = said(result)
    assert (
        "The results changed: the loss differs by up to 11 % in the first 3 steps (no two equal runs were made)" in text
    )
    assert "from step 3 on. The finding is gone" in text
    told = json.loads(verification_to_json(result))["losses"]
    assert (told["state"], told["first_step"]) == ("changed", 3)
    (box,) = [block for block in compose_verification(result) if isinstance(block, Verdict)]
    assert box.outcome == "problem"


def test_a_fix_that_keeps_results_says_so_among_the_facts():
    result = verified_losses(losses(2.0, 1.9), losses(2.0, 1.9))
    assert "results same: every loss of the first 2 steps is equal" in said(result)
    assert "The results changed" not in said(result)


def test_two_runs_before_the_fix_show_how_far_equal_runs_differ():
    result = verified_losses(losses(2.0, 1.9), losses(2.0, 1.9005), losses(2.0, 1.9004))
    assert (result.losses.state, result.losses.equal) == ("same", pytest.approx(0.0004 / 1.95, rel=1e-3))
    assert (
        verified_losses(losses(2.0, 1.9), losses(2.0, 1.9005), losses(5.0, 4.0, seed=1)).losses.state
        == "slightly changed"
    )


def test_runs_of_other_seeds_leave_it_open():
    result = verified_losses(losses(2.0, 1.9), losses(3.0, 1.8, seed=1))
    assert "results cannot tell: the runs have different seeds; torch.manual_seed(0)" in said(result)


def test_traces_without_losses_say_nothing_of_them():
    assert verified(20).losses is None
    assert "results" not in said(verified(20))


def test_other_workers_may_give_other_data():
    batches = ((("1.2.3",),) * 2, (("1.2.4",),) * 2)
    records = [replace(losses(2.0, value), batches=each) for value, each in zip((1.9, 1.7), batches, strict=True)]
    sides = [
        runs(STEP, finding(20), losses=record, made_with={"num_workers": number})
        for record, number in zip(records, "02", strict=True)
    ]
    assert verify("item-read", *sides).losses.state == "cannot tell"


def test_two_equal_runs_with_augmentation_that_has_no_seed_are_not_rejected():
    """Two recordings of one program that draws from Python's random were told as changed, and the log rejected the fix."""
    one, other, third = (replace(losses(2.0, 1.0 + at), batches=((f"1.2.{at}",),) * 2) for at in (1, 2, 3))
    for result in (verified_losses(one, other), verified_losses(one, other, third)):
        assert result.losses.state == "cannot tell"
        assert "The results changed" not in said(result)
    again = replace(one, losses=one.losses)
    assert "The results changed" in said(verified_losses(one, other, again))
