"""The traces of a folder that is measured, and the names that their labels have."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from traceq.app.blind.folder import traces_in
from traceq.errors import NoTraces, WrongUse

BROKEN = Path(__file__).parents[2] / "fixtures" / "broken"


def put(source, place):
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(BROKEN / source, place)


def names(folder):
    return {each.path.as_posix(): each.name for each in traces_in(folder)}


def test_a_name_is_that_of_the_file_or_the_whole_path_where_several_have_it(tmp_path):
    for place in ("w0.pt.trace.json", "a/rank0.json", "b/rank0.json", "b/pairs.json"):
        put("two_processes_one_file.json", tmp_path / place)
    assert names(tmp_path) == {
        "a/rank0.json": "a__rank0.json",
        "b/pairs.json": "b__pairs.json",
        "b/rank0.json": "b__rank0.json",
        "w0.pt.trace.json": "w0",
    }


def test_files_called_as_traces_count_and_no_others(tmp_path):
    put("two_processes_one_file.json", tmp_path / "a.json")
    put("two_processes_one_file.json", tmp_path / "labels" / "a.json")
    put("two_processes_one_file.json", tmp_path / ".hidden" / "a.json")
    put("not_json.json", tmp_path / "c.json")
    put("not_json.json", tmp_path / "d.txt")
    put("not_json.json", tmp_path / "a.made_with.json")
    assert names(tmp_path) == {"a.json": "a", "c.json": "c"}


def test_two_that_would_have_one_name_are_refused(tmp_path):
    for place in ("a/x__y.json", "b/x__y.json", "a__x/y.json", "a__x/y.json.gz", "a/x/y.json"):
        put("two_processes_one_file.json", tmp_path / place)
    with pytest.raises(WrongUse, match=r"would be named a__x__y\.json: rename one"):
        traces_in(tmp_path)


def test_a_folder_without_a_trace_is_refused(tmp_path):
    put("not_json.json", tmp_path / "c.json")
    with pytest.raises(NoTraces):
        traces_in(tmp_path)
