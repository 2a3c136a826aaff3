"""What is kept of a report: quantities with their units, facts, the series, the time and the commit."""

from __future__ import annotations

import copy
import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import traceq
from traceq.errors import UnusableTrace
from traceq.runs.history.origin import ProgramCommit, find_origin
from traceq.runs.history.summary import SCHEMAS, summarize_report

DEMO = Path(traceq.__file__).parent / "app" / "demo" / "training.pt.trace.json.gz"
NOW = datetime(2026, 9, 7, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def report_once():
    return json.loads(traceq.report(DEMO, drawn=False).to_json())


@pytest.fixture
def report(report_once):
    return copy.deepcopy(report_once)


def summarize(report, **options):
    (entry,) = summarize_report(report, "r.json", added_at=NOW, **options)
    return entry


def quantities(entry):
    return {each.name: (round(each.value, 4), each.unit) for each in entry.quantities}


def test_this_version_of_the_report_can_be_kept(report):
    assert report["schema_version"] in SCHEMAS


def test_quantities_have_the_names_of_budgets_and_their_units(report):
    found = quantities(summarize(report))
    assert {name: unit for name, (_, unit) in found.items() if unit != "ns"} == {"gpu.busy": "share"}
    assert found["step.typical"] == (49358096.25, "ns")
    assert found["step.p50"] == (49388835.5, "ns")
    assert not {"step.p90", "step.p95", "step.p99"} & set(found)  # of 6 steps
    assert found["ledger.compute"] == (25217112.8333, "ns")
    busy = sum(found[name][0] for name in ("ledger.compute", "ledger.communication", "ledger.copy", "ledger.memset"))
    assert found["ledger.busy"][0] == pytest.approx(busy)
    assert found["ledger.busy"][0] + found["ledger.idle"][0] == pytest.approx(found["step.mean"][0])
    assert found["gpu.busy"][0] == pytest.approx(found["ledger.busy"][0] / found["step.mean"][0], abs=1e-4)
    assert found["data.stall"] == (20867329.1667, "ns")
    assert found["findings.synchronous-loader"] == (13679058.1667, "ns")


def test_the_typical_step_has_quartiles_and_a_saving_its_bounds(report):
    bounds = {each.name: (each.low, each.value, each.high) for each in summarize(report).quantities}
    low, typical, high = bounds["step.typical"]
    assert low < typical < high
    assert bounds["findings.synchronous-loader"] == pytest.approx((8025319.4, 13679058.1667, 13983272.1667))
    assert bounds["step.p50"][::2] == (None, None)


def test_what_only_some_traces_have(report):
    trace = report["traces"][0]
    trace["throughput"] = [{"key": "samples", "steps": 6, "total": 192.0, "per_second": 608.0}]
    trace["memory"]["peaks"] = [
        {"device": 0, "memory": "device", "peak_bytes": 7 << 30},
        {"device": None, "memory": "host", "peak_bytes": 1},
    ]
    trace["kernels"]["mfu"] = [{"device": 0, "mfu_share": 0.41}, {"device": 1, "mfu_share": 0.1}]
    power = {"name": "gpu_power", "instance": None, "lowest": 300.0, "mean": 500.0, "highest": 600.0, "unit": "W"}
    trace["conditions"] = [{**power, "device": 0}, {**power, "device": 1, "mean": 1.0}]
    trace["serving"]["summary"] |= {"steps": 4, "output_tokens_per_second": 900.0, "token_p50_ns": 8}
    report["jobs"][0] |= {"slowdown": 1.2, "dur_ns": 600, "steps": 6}
    entry = summarize(report)
    found = quantities(entry)
    expected = {
        "throughput.samples": (608.0, "/s"),
        "memory.peak": (7 << 30, "bytes"),
        "mfu.share": (0.41, "share"),
        "condition.gpu_power": (500.0, "W"),
        "energy.step": (round(500 * 52628918.833333336e-9, 4), "J"),
        "serving.tokens": (900.0, "/s"),
        "serving.token_p50": (8.0, "ns"),
        "job.slowdown": (1.2, "x"),
        "job.step": (100.0, "ns"),
    }
    assert {name: found[name] for name in expected} == expected
    assert entry.report.batch == 32.0


def test_a_window_without_steps_has_no_times_of_a_step(report):
    report["traces"][0]["steps"]["source"] = "window"
    entry = summarize(report)
    assert set(quantities(entry)) == {"gpu.busy"}
    assert entry.report.steps == 0


def test_facts_are_those_that_the_run_was_made_with_and_the_users(report):
    made_with = {"topic": "software", "instance": 0, "unit": None, "is_knob": False}
    report["traces"][0]["made_with"] = [
        {**made_with, "name": "torch", "value": "2.4.0"},
        {**made_with, "topic": "loader", "name": "batch_size", "value": "64"},
        {**made_with, "topic": "loader", "name": "batch_size", "value": "8", "instance": 1},
    ]
    entry = summarize(report, facts={"cluster": "a", "torch": "2.4.1"})
    assert entry.facts == {
        "torch": "2.4.1",
        "batch_size": "64",
        "batch_size[1]": "8",
        "cluster": "a",
        "producer": "PyTorch Profiler",
        "step_source": "profiler_step",
        "gpus": "1",
    }
    assert entry.report.batch == 64


def test_the_series_is_what_can_be_compared(report):
    first = summarize(report)
    same = copy.deepcopy(report)
    same["traces"][0]["trace"]["sha256"] = "another"
    assert summarize(same).report.series == first.report.series
    assert summarize(same).report.report_id != first.report.report_id
    report["traces"][0]["devices"][0]["name"] = "NVIDIA B200"
    assert summarize(report).report.series != first.report.series
    assert summarize(same, program="other").report.series != first.report.series


def test_the_time_is_the_users_else_the_traces_else_now(report):
    assert (summarize(report).report.ran_at, summarize(report).report.ran_at_from) == (NOW, "added")
    at = NOW - timedelta(days=3)
    assert summarize(report, at=at).report.ran_at_from == "option"
    report["traces"][0]["trace"]["begin_ns"] = int(at.timestamp()) * 10**9 + 5_000
    found = summarize(report).report
    assert (found.ran_at, found.ran_at_from) == (at + timedelta(microseconds=5), "trace")


def test_a_commit_that_is_younger_than_the_run_is_not_its_commit(report):
    origin = ProgramCommit("a" * 40, "main", NOW - timedelta(hours=1))
    assert summarize(report, origin=origin).report.commit == "a" * 40
    earlier = summarize(report, origin=origin, at=NOW - timedelta(hours=2)).report
    assert (earlier.commit, earlier.branch) == (None, None)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"a": 1}, "is no JSON report"),
        ([], "is no JSON report"),
        ({"schema_version": 99, "traces": [], "jobs": []}, "is a report of schema 99, this traceq keeps 4"),
        ({"schema_version": 4, "traces": [{"trace": {"trace_id": 1}}], "jobs": []}, "is a damaged report"),
    ],
)
def test_what_is_no_report(content, words):
    with pytest.raises(UnusableTrace, match=words):
        summarize_report(content, "r.json", added_at=NOW)


def test_the_commit_is_the_ci_systems_else_gits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_origin({"GITHUB_SHA": "b" * 40, "GITHUB_REF_NAME": "main"}) == ("b" * 40, "main", None)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert find_origin({}) == (None, None, None)
    for words in (
        ("init", "-q", "-b", "trunk"),
        ("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "first"),
    ):
        subprocess.run(["git", *words], check=True)
    found = find_origin({})
    assert len(found.commit) == 40
    assert found.branch == "trunk"
    assert abs(datetime.now(UTC) - found.made_at) < timedelta(minutes=5)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_origin({}) == (None, None, None)
