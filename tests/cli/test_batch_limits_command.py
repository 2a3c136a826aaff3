"""traceq tradeoff --batched-tokens: what is printed, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from traceq.cli import main

sys.path.append(str(Path(__file__).resolve().parents[2] / "fixtures" / "make"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The database logged.duckdb of a simulated server with a log of its requests, spans.jsonl."""
    from simulator.request_load import write_otlp
    from simulator.timed_load import TimedLoad, write_timed_kineto

    from traceq.loading.ingest import ingest
    from traceq.loading.monitors import MonitorLogs

    folder = tmp_path_factory.mktemp("served")
    served = TimedLoad(requests=60, rate=14).serve()
    write_timed_kineto(served.steps, folder / "trace.json")
    write_otlp(served.records, folder / "spans.jsonl")
    ingest([folder / "trace.json"], folder / "logged.duckdb", beside=MonitorLogs((folder / "spans.jsonl",)))
    return folder


@pytest.fixture
def tradeoff(folder, monkeypatch):
    monkeypatch.chdir(folder)

    def run(*arguments):
        return CliRunner().invoke(main, ["tradeoff", *arguments])

    return run


def test_the_report_and_its_json(tradeoff):
    options = ("logged.duckdb", "--batched-tokens", "9999,256,16")
    text = tradeoff(*options).output
    assert "Requests by limit of batched tokens" in text
    assert "Recorded limit: --max-num-batched-tokens 512, which several steps fill." in text
    assert "60 requests of spans.jsonl, which come when they came." in text
    content = json.loads(tradeoff(*options, "--format", "json").output)
    assert [(each["limit"], each["trust"] == "refused") for each in content["predictions"]] == [
        (16, True),
        (256, False),
        (9999, True),
    ]
    shown = f"{content['predictions'][1]['values']['gap_p95_ns']['value'] / 1e6:.2f} ms"
    assert shown in text
    assert {each["quantity"] for each in content["replay"]} == content["predictions"][1]["values"].keys()
    assert content["step_cost"]["per_unit_ns"].keys() >= {"step", "prefill", "decode"}


def test_a_budget_chooses_the_largest_limit_that_keeps_it(tradeoff):
    options = ("logged.duckdb", "--batched-tokens", "256,512", "--latency-budget")
    kept = tradeoff(*options, "1 s", "--percentile", "p99").output.replace("\n", " ")
    assert "512 is the largest of these limits that keeps the p99 of the time between tokens within 1.000 s" in kept
    lost = tradeoff(*options, "1 us").output.replace("\n", " ")
    assert "None of these limits keeps the p95 of the time between tokens within 1.000 µs." in lost


def test_a_trace_without_a_server_cannot_tell(tradeoff, folder):
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
    (folder / "train.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [launch]}))
    text = tradeoff("train.json", "--batched-tokens", "256", "--no-cache").output
    assert "Cannot tell: no step belongs to a server of language models." in text
    assert "What would tell: record a server whose steps are annotated" in text


def test_damaged_numbers_take_no_hours(tradeoff, folder):
    """One request of a billion tokens, and one step of a billion requests."""
    spans = (folder / "spans.jsonl").read_text()
    damaged = spans.replace(
        'completion_tokens", "value": {"intValue": "96"}', 'completion_tokens", "value": {"intValue": "1000000000"}', 1
    )
    assert damaged != spans
    (folder / "damaged.jsonl").write_text(damaged)
    trace = (folder / "trace.json").read_text()
    (folder / "damaged.json").write_text(trace.replace("generation_11(11)", "generation_1000000000(1000000000)", 1))
    found = {}
    for source in ("trace.json", "damaged.json"):
        result = tradeoff(
            source, "--with", "damaged.jsonl", "--batched-tokens", "256", "--no-cache", "--format", "json"
        )
        found[source] = json.loads(result.output)
        assert (found[source]["requests"], found[source]["requests_left_out"]) == (59, 1)
    assert found["damaged.json"]["steps"] == found["trace.json"]["steps"] - 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("trace.json", "--batched-tokens", "0"), "'0' is no list of numbers of tokens, as 256,512."),
        (("trace.json", "--batched-tokens", "256,x"), "'256,x' is no list of numbers of tokens"),
        (("trace.json", "b.json", "--batched-tokens", "256"), "name a single SOURCE, without VALUE=."),
        (("256=trace.json", "--batched-tokens", "256"), "name a single SOURCE, without VALUE=."),
        (("trace.json", "--batched-tokens", "256", "--knob", "x"), "are about several runs, not for --batched-tokens."),
        (("trace.json", "--max-num-seqs", "8"), "--max-num-seqs is for --batched-tokens."),
    ],
)
def test_wrong_use_says_what_is_right(tradeoff, arguments, error):
    result = tradeoff(*arguments)
    assert result.exit_code == 2
    assert error in result.output
