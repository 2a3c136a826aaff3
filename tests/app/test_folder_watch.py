"""A trace in a folder is found once, when nobody writes it any more, and again when it was written again."""

from __future__ import annotations

import json
import os

import pytest

from traceq.app.folder_watch import FolderWatch

TRACE = {
    "schemaVersion": 1,
    "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}],
}
TEXT = json.dumps(TRACE)


@pytest.fixture
def watch(tmp_path):
    return FolderWatch(tmp_path)


def test_a_trace_is_found_when_it_has_not_changed_for_one_look(watch, tmp_path):
    trace = tmp_path / "t.json"
    trace.write_text(TEXT)
    assert [watch.find_new() for _ in range(3)] == [[], [trace], []]


def test_a_trace_that_grows_is_not_read(watch, tmp_path):
    trace = tmp_path / "t.json"
    for end in range(100, len(TEXT), 20):
        trace.write_text(TEXT[:end])
        assert watch.find_new() == []
    trace.write_text(TEXT)
    assert [watch.find_new() for _ in range(2)] == [[], [trace]]


def test_a_trace_that_is_written_over_with_the_same_size_is_not_read(watch, tmp_path):
    trace = tmp_path / "t.json"
    for second in range(3):
        trace.write_text(TEXT)
        os.utime(trace, (second, second))
        assert watch.find_new() == []
    assert watch.find_new() == [trace]


def test_a_trace_that_was_written_again_is_found_again(watch, tmp_path):
    trace = tmp_path / "t.json"
    trace.write_text(TEXT)
    assert [watch.find_new() for _ in range(2)] == [[], [trace]]
    trace.write_text(TEXT + "\n")
    assert [watch.find_new() for _ in range(3)] == [[], [trace], []]


def test_other_and_hidden_files_are_left_alone(watch, tmp_path):
    (tmp_path / "train.log").write_text("epoch 1")
    (tmp_path / ".t.json.part").write_text(TEXT)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "t.json").write_text(TEXT)
    assert [watch.find_new() for _ in range(3)] == [[], [], []]


def test_folders_in_it_are_followed(watch, tmp_path):
    assert watch.find_new() == []
    (tmp_path / "rank1").mkdir()
    for name in ("b.json", "a.json"):
        (tmp_path / "rank1" / name).write_text(TEXT)
    assert [watch.find_new() for _ in range(2)] == [[], [tmp_path / "rank1" / "a.json", tmp_path / "rank1" / "b.json"]]


def test_a_trace_of_several_files_waits_for_all_of_them(watch, tmp_path, monkeypatch):
    """Its files come one after the other; `of_two` is a format whose traces are pairs."""
    one, two = tmp_path / "t.1", tmp_path / "t.2"
    one.write_text("first")

    class OfTwo:
        NAME = "of_two"

        @staticmethod
        def trace_files(_path):
            return [path for path in (one, two) if path.exists()]

    monkeypatch.setattr("traceq.app.folder_watch.importers.sniff", lambda _path: OfTwo)
    watch.find_new()
    two.write_text("sec")
    assert watch.find_new() == []
    two.write_text("second")
    assert watch.find_new() == []
    assert [watch.find_new() for _ in range(2)] == [[one], []]


def test_a_file_that_vanishes_is_forgotten(watch, tmp_path):
    trace = tmp_path / "t.json"
    trace.write_text(TEXT)
    watch.find_new()
    trace.unlink()
    assert [watch.find_new() for _ in range(2)] == [[], []]
