"""Settings that change what a program computes, and those that were not tried: what the report of an experiment says first."""

from __future__ import annotations

import json

import pytest
from handmade_runs import run as made_run
from handmade_trials import made, studied
from msgspec.structs import replace

from traceq.reports.renderers.experiment_to_json import experiment_to_json
from traceq.reports.renderers.to_html import html_of
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.trials.experiment import compose_experiment
from traceq.runs.losses import LossRecord
from traceq.runs.run import FindingKept
from traceq.runs.trials.compare_losses import compare_with_baseline
from traceq.runs.trials.experiment import Predicted
from traceq.runs.trials.plan import EQUAL_ROUND
from traceq.runs.trials.results import ResultTable, results_of
from traceq.runs.trials.study_experiment import study_experiment

LINES = "baseline : 100 101 99 100\na=1 : 80 81 79 80\nb=1 : 100 101 99 100"


def record(share=0.0, *, first=3, seed=7, **facts):
    losses = tuple((1.0 * (1 + (share if step >= first else 0.0)),) for step in range(10))
    return LossRecord(losses, random=("r",) * 10, seed=seed, type="float32", **facts)


def studied_losses(text=LINES, equal=None, **shares):
    """The result of these lines with losses that differ by a share from the fourth step on, by name of setting."""
    settings, trials = made(text)
    trials = [replace(each, losses=record(shares.get(each.setting.partition("=")[0], 0.0))) for each in trials]
    if equal is not None:
        trials.append(replace(trials[0], round=EQUAL_ROUND, losses=record(equal)))
    return study_experiment(settings, trials)


def said(found):
    return " ".join(blocks_to_text(compose_experiment(found)).split())


def verdict(found):
    return said(found).partition("What to set for throughput ")[2]


def test_a_win_that_changes_results_says_so_first():
    found = studied_losses(a=0.05, equal=0.0)
    assert verdict(found).startswith(
        "a=1 changes the results: the loss differs by up to 5 % in the first 10 steps (equal runs: 0 %), from step 4 on."
        " Set a=1: steps/s +25"
    )
    assert "a=1 +25.0 % (+24.9 to +25.1 %) changed, 5 %" in said(found) or "changed, 5 %" in said(found)
    settings = {each["name"]: each["losses"] for each in json.loads(experiment_to_json(found))["settings"]}
    assert settings["baseline"] is None
    assert (settings["b=1"]["state"], settings["b=1"]["size"]) == ("same", 0.0)
    assert (settings["a=1"]["state"], settings["a=1"]["first_step"], settings["a=1"]["equal"]) == ("changed", 4, 0.0)
    assert "a=1 changes the results" in html_of(compose_experiment(found))


def test_a_small_change_is_said_with_its_size():
    assert verdict(studied_losses(a=4e-4, equal=0.0)).startswith(
        "a=1 slightly changes the results: the loss differs by up to 0.04 %"
    )


def test_what_changes_nothing_has_no_warning():
    found = studied_losses(a=2e-7)
    assert verdict(found).startswith("Set a=1: steps/s +25")
    assert "the loss differs by at most 2.0e-05 % in the first 10 steps (no two equal runs were made)" in said(found)


def test_what_equal_runs_differ_by_is_no_change_of_a_setting():
    assert verdict(studied_losses(a=4e-4, equal=3e-4)).startswith("Set a=1")


def test_the_equal_run_counts_for_its_losses_only():
    found = studied_losses(a=0.05, equal=0.0)
    assert (found.result("baseline").trials, found.rounds) == (4, 4)
    assert found.result("baseline").measures["step"].trials == 4


def test_a_number_that_is_not_finite_can_be_written():
    bad = replace(record(), losses=(*record().losses[:3], *[(None,)] * 7))
    settings, trials = made(LINES)
    trials = [replace(each, losses=bad if each.setting == "a=1" else record()) for each in trials]
    found = study_experiment(settings, trials)
    assert "the loss differs by up to infinity in the first 10 steps" in said(found)
    assert json.loads(experiment_to_json(found))["settings"][1]["losses"]["state"] == "changed"


def test_accuracy_is_no_cost_where_losses_are_the_same():
    text = "baseline : 100 101 99 100\namp=bf16 : 80 81 79 80"
    assert "perhaps accuracy" in said(studied(text))
    assert "perhaps accuracy" not in said(studied_losses(text))
    assert "perhaps accuracy" in said(studied_losses(text, amp=0.003))


@pytest.mark.parametrize(
    ("name", "again", "state"),
    [
        ("num_workers=2", "4", "cannot tell"),
        ("batch_size=2", "4", "cannot tell"),
        ("x=2", "3", "changed"),
        ("x=2", "5", "cannot tell"),
        ("x=2", None, "cannot tell"),
    ],
)
def test_what_a_knob_does_to_the_data_is_no_change_of_results(name, again, state):
    """`again` is the contents of the batches of a second, equal baseline; None without one."""
    settings, trials = made(f"baseline : 10\n{name} : 9")
    batches = (("1.2.3",),) * 10
    records = {"baseline": record(batches=batches), name: record(0.05, batches=(("1.2.4",),) * 10)}
    trials = [replace(each, losses=records[each.setting]) for each in trials]
    if again is not None:
        equal = record(batches=((f"1.2.{again}",),) * 10)
        trials.append(replace(trials[0], round=EQUAL_ROUND, losses=equal))
    assert compare_with_baseline(trials, settings[1]).state == state


def test_ablations_are_not_compared():
    settings, trials = made("baseline : 10\nwithout data : 9")
    assert compare_with_baseline([replace(each, losses=record()) for each in trials], settings[1]) is None


def test_steps_that_wait_in_turn_for_workers_are_averaged_over_cycles():
    """With two workers that end together one step waits for 200 ms, and the next one does not."""
    settings, trials = made("baseline : 100 100 100\nnum_workers=2 : 100 100 100")
    pairs = [200_000_000, 4_000_000] * 9 + [4_000_000, 200_000_000]
    trials = [replace(each, steps_ns=tuple(pairs), cycle=2) if each.setting != "baseline" else each for each in trials]
    results = results_of(ResultTable(tuple(settings), tuple(trials), "steps", 0.02))
    assert results[1].measures["step"].value == pytest.approx(102e6)
    assert 1e9 / results[1].measures["throughput"].value == pytest.approx(102e6)


PREDICTED = Predicted("synchronous-loader", "x", "Load batches in workers", 0.5, 0.1, 0.6)


def test_the_baseline_is_not_kept_where_the_largest_prediction_was_not_tried():
    text = "baseline : 100 101 99 100\ntry a=1 : 100 101 99 100\ntry num_workers=2 :"
    found = studied(text, predictions={"num_workers=2": PREDICTED})
    assert verdict(found).startswith(
        "Of what was tried, a=1 is not certain to be better for throughput. It is within the noise of a=1. Still untested:"
        " num_workers=2 (the budget left no time for it; 50 % (10 to 60 %) of a step predicted, for synchronous-loader)."
    )
    assert "Keep the baseline" not in said(found)
    assert [(each.setting, each.why) for each in found.not_tried] == [("num_workers=2", "the budget")]


def test_a_win_says_what_is_still_untested():
    text = "baseline : 100 101 99 100\ntry a=1 : 80 81 79 80\ntry num_workers=2 :"
    found = studied(text, predictions={"num_workers=2": PREDICTED})
    assert "Set a=1: steps/s +25" in verdict(found)
    assert "Still untested: num_workers=2 (the budget left no time for it; 50 %" in verdict(found)


def test_findings_without_a_knob_are_untested_where_findings_are_tried():
    finding = FindingKept("late-rank", "id", "One rank is late", 40.0, 20.0, 60.0, "high")
    settings, trials = made("baseline : 100 101 99 100\ntry a=1 : 100 101 99 100")
    profiles = {"baseline": made_run(100, 100, findings=(finding,))}
    found = study_experiment(settings, trials, profiles=profiles, tries_findings=True)
    assert "Still untested: One rank is late (no knob does it, so change it by hand; 40 % (20 to 60 %)" in verdict(
        found
    )
    assert not study_experiment(settings, trials, profiles=profiles).not_tried


def test_the_largest_prediction_comes_first():
    predictions = {f"n={each}": replace(PREDICTED, share=each / 10) for each in (1, 3, 2)}
    found = studied("baseline : 100 101 99\nn=1 :\nn=3 :\nn=2 :", predictions=predictions)
    assert [each.setting for each in found.not_tried] == ["n=3", "n=2", "n=1"]
