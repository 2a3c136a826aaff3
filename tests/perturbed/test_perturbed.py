"""Causes put into real traces: the changed files are sound, and traceq names the cause first. All of them:
tests/benchmarks/perturbed_truth.py."""

from __future__ import annotations

import ast
import gzip
import json
import sqlite3
from pathlib import Path

import pytest
from edit_chrome import PROCESS, Trace, read_end, read_track, start
from perturbations import CASES, MS, Perturbation
from perturbed_truth import said, scored

from traceq.diagnosis.grading.causes import all_causes

HERE = Path(__file__).resolve().parent
NAMED = {case.name: case for case in CASES}
FAST = ("loader_ns", "clock_jacobi")
LARGE = ("clock_ns", "workers_control", "unpin_control")


def require_trace(name: str) -> Perturbation:
    case = NAMED[name]
    if not case.source.exists():
        pytest.skip("the folder shared is not beside the checkout")
    return case


def test_the_scripts_that_change_traces_know_nothing_of_traceq():
    for file in HERE.glob("*.py"):
        if not file.name.startswith("test_"):
            imported = [
                node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)
            ]
            names = {alias.name for node in imported for alias in node.names} | {
                getattr(node, "module", "") for node in imported
            }
            assert not any(str(name).split(".")[0] == "traceq" for name in names), file.name


def test_there_are_forty_with_names_of_their_own_and_causes_of_the_vocabulary():
    assert len(NAMED) == len(CASES) >= 40
    assert {cause for case in CASES for cause in (*case.causes, *case.may_follow)} <= all_causes().keys()


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_the_cause_comes_first_and_no_other_is_new(name, tmp_path):
    case = require_trace(name)
    path, truth = case.make(tmp_path)
    row, _ = (scored(truth, *each) for each in zip(said(case.source, tmp_path), said(path, tmp_path), strict=True))
    assert row.is_right, row
    assert not row.false, row


@pytest.mark.slow
def test_the_same_name_makes_the_same_file(tmp_path):
    case = require_trace("frozen_mi300")
    made = [case.make(folder)[0].read_bytes() for folder in (tmp_path / "a", tmp_path / "b") if not folder.mkdir()]
    first, second = (json.loads(gzip.decompress(data)) for data in made)
    assert first == second


@pytest.mark.slow
def test_a_frozen_host_makes_slices_longer_but_keeps_them_nested(tmp_path):
    case = require_trace("frozen_mi300")
    path, truth = case.make(tmp_path)
    before, after = Trace(case.source), Trace(path)
    assert len(before.events) == len(after.events)
    assert truth["size_ns"] > 10 * MS
    for old, new in zip(before.host, after.host, strict=True):
        if not any(
            start(old) < wait.end and wait.start < read_end(old) for wait in before.waits
        ):  # waits become shorter
            assert read_end(new) - start(new) >= read_end(old) - start(old)
    assert count_crossing_slices(after) == count_crossing_slices(before)


def count_crossing_slices(trace: Trace) -> int:
    """Count slices of the host's threads that overlap one before them without lying inside it."""
    broken, stacks = 0, {}
    for event in sorted(trace.host, key=lambda event: (start(event), -read_end(event))):
        stack = stacks.setdefault(read_track(event), [])
        while stack and stack[-1] <= start(event):
            stack.pop()
        broken += bool(stack) and stack[-1] < read_end(event)
        stack.append(read_end(event))
    return broken


@pytest.mark.slow
def test_an_inserted_item_reads_from_the_gpu_and_holds_the_host(tmp_path):
    case = require_trace("item_ns")
    path, _ = case.make(tmp_path)
    trace = Trace(path)
    added = len(trace.gpu) - len(Trace(case.source).gpu)
    items = [event for event in trace.host if event["name"] == "aten::item"]
    assert added == len(items) == 16 * 5
    copies = [number for number, event in enumerate(trace.gpu) if "DtoH" in event["name"]]
    for number in copies[-added:]:
        call, work = trace.launches[number], trace.works[number]
        assert call is not None
        assert start(call) < work.start < work.end < read_end(call)
        assert work.process == PROCESS


def test_unpinned_copies_of_an_export_come_from_pageable_memory(tmp_path):
    path, truth = require_trace("unpin_streams").make(tmp_path)
    with sqlite3.connect(path) as connection:
        kinds = connection.execute(
            "select distinct srcKind from CUPTI_ACTIVITY_KIND_MEMCPY where copyKind = 1"
        ).fetchall()
        (late,) = connection.execute(
            "select count(*) from CUPTI_ACTIVITY_KIND_MEMCPY m join CUPTI_ACTIVITY_KIND_RUNTIME r using (correlationId)"
            " where m.copyKind = 1 and r.end < m.end"
        ).fetchone()
    assert kinds == [(0,)]
    assert late == 0
    assert truth["size_ns"] > 0
