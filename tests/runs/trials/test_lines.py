from __future__ import annotations

import handmade_runs
import pytest
from handmade_trials import studied

from traceq.runs.run import FindingKept
from traceq.runs.trials.findings import list_lines, promise_of

LOADER = FindingKept("synchronous-loader", "synchronous-loader", "Loads batches", 28, 20, 33, "high")
PYTHON = FindingKept("python-bound", "python-bound", "Runs Python", 8, 4, 10, "high")


def lines(text, after, **settings):
    """The lines of an experiment whose settings all try the loader's finding."""
    base = handmade_runs.run(100, 100, findings=(LOADER, PYTHON), name="base.json")
    profiles = {"baseline": base, **{name: handmade_runs.run(70, 70, findings=after, name=name) for name in settings}}
    found = studied(text, predictions=dict.fromkeys(settings, promise_of(LOADER, base)), profiles=profiles)
    return list(list_lines(found, profiles, program="train", cores=2, is_public=True))


def test_a_finding_that_was_fixed_is_a_line():
    (line,) = lines(
        "baseline num_workers=0 : 100 101 99\ntry num_workers=2 : 70 71 69", [PYTHON], **{"num_workers=2": 1}
    )
    assert (line.rule, line.how, line.program, line.cores) == ("synchronous-loader", "experiment", "train", 2)
    assert (line.knob, line.knob_before, line.knob_after) == ("num_workers", "0", "2")
    assert line.won_share == pytest.approx(0.3, abs=0.01)
    assert line.likely_share == pytest.approx(0.28)
    assert line.won_low_ns < line.won_ns < line.won_high_ns
    assert (line.prediction, line.is_inside, line.also_gone) == ("right", True, 0)


def test_of_two_settings_that_fix_it_the_first_of_the_plan_is_kept():
    text = "baseline : 100 101 99\ntry a=1 : 80 81 79\ntry b=1 : 70 71 69"
    (line,) = lines(text, [], **{"a=1": 1, "b=1": 1})
    assert (line.knob, line.also_gone) == ("a", 1)


def test_a_finding_that_is_still_there_was_not_fixed():
    assert lines("baseline : 100 101 99\ntry a=1 : 90 91 89", [LOADER], **{"a=1": 1}) == []


def test_a_single_round_is_no_line():
    assert lines("baseline : 100\ntry a=1 : 70", [], **{"a=1": 1}) == []
