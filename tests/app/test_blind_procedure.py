"""What is frozen stays blind: labels that were there, files that changed, and runs at the same time are noticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from traceq.app.blind.freeze import freeze
from traceq.app.blind.grade import measure
from traceq.errors import StoreError, UnusableLabel

TRACE = Path(__file__).parents[2] / "fixtures" / "broken" / "two_processes_one_file.json"
LABEL = {
    "judged": {"per": "run", "step_ns": 1000, "bottlenecks": [], "first": [], "also_true": [], "nothing": True},
}


@pytest.fixture
def folder(tmp_path):
    for name in ("alpha", "beta"):
        shutil.copyfile(TRACE, tmp_path / f"{name}.pt.trace.json")
    (tmp_path / "labels").mkdir()
    return tmp_path


def label(folder, name):
    (folder / "labels" / f"{name}.json").write_text(json.dumps(LABEL))


def judging(_):
    pass


def test_a_label_of_no_trace_keeps_a_folder_from_being_frozen(folder):
    label(folder, "alpha.pt.trace")
    with pytest.raises(UnusableLabel, match=r"alpha\.pt\.trace\.json: there is no trace"):
        freeze(folder, None, judging)
    assert not (folder / "blind" / "frozen.json").exists()


def test_a_label_written_while_traces_are_judged_is_one_that_was_there(folder):
    frozen = freeze(folder, None, lambda name: label(folder, name))
    assert set(frozen.labels) == {"alpha", "beta"}


def test_two_runs_do_not_freeze_one_set(folder):
    def again(_):
        with pytest.raises(StoreError, match="another run is freezing this set"):
            freeze(folder, None, judging)

    freeze(folder, None, again)
    assert not (folder / "blind" / ".freezing").exists()


def test_traces_of_pairs_must_be_as_they_were(folder):
    pairs = folder / "labels" / "pairs.json"
    pairs.write_text(json.dumps([{"base": "alpha", "new": "beta"}]))
    freeze(folder, None, judging)
    pairs.write_text(json.dumps([{"base": "alpha", "new": "beta", "verdict": "no change"}]))
    assert "alpha" in measure(folder).page
    (folder / "beta.pt.trace.json").write_text("{}")
    with pytest.raises(UnusableLabel, match="was changed after it was frozen"):
        measure(folder)


def test_a_trace_that_came_or_changed_later_is_graded_in_a_set_of_its_own(folder):
    freeze(folder, None, judging)
    shutil.copyfile(TRACE, folder / "gamma.json")
    (folder / "alpha.pt.trace.json").write_text(TRACE.read_text() + " ")
    freeze(folder, "later", judging)
    for name in ("alpha", "beta", "gamma"):
        label(folder, name)
    assert "gamma" in measure(folder, "later").page
    with pytest.raises(UnusableLabel, match="gamma"):
        measure(folder)
