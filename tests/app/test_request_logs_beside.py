"""A log of requests beside a trace: placed on its clock, or not and why; what the first screen and the section say."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures" / "make"))

from simulator import simulate, write_kineto
from simulator.request_load import EPOCH_NS, RequestLoad, write_bench, write_otlp

from traceq.app.api import ingest, report
from traceq.cli import main
from traceq.errors import UnusableTrace

LOAD = RequestLoad(requests=30, pace=0.6, longest_output=12)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A folder with the trace of a server, and logs of its requests."""
    folder = tmp_path_factory.mktemp("server")
    run = simulate(LOAD.program())
    records = LOAD.records(run)
    write_kineto(run, folder / "trace.json")
    write_otlp(records, folder / "spans.jsonl")
    write_otlp(records, folder / "late.jsonl", epoch=EPOCH_NS + 7_200 * 10**9)
    write_bench(records, folder / "bench.json")
    return folder


def notes(server, *logs, offset=None):
    """Severity, code and words of the notes on logs of requests, and how many requests have which shift."""
    target = server / "notes.duckdb"
    target.unlink(missing_ok=True)
    ingest(server / "trace.json", target, logs=[server / log for log in logs], offset=offset)
    with duckdb.connect(str(target), read_only=True) as db:
        found = db.execute(
            "select severity, code, text from import_note where code like 'request%' or code = 'given_twice' order by all"
        ).fetchall()
        placed = db.execute("select count(arrival_ts), count(*) from request").fetchone()
        steps = db.execute("select count(*) > 0 from request_step").fetchone()[0]
    return found, placed, steps


def test_times_since_1970_are_placed_by_the_clock(server):
    assert notes(server, "spans.jsonl") == (
        [
            (
                "info",
                "request_log",
                "spans.jsonl, a log of 30 requests (otlp, of the server): 30 within the trace; its times are UTC",
            )
        ],
        (30, 30),
        True,
    )


def test_requests_of_another_time_are_said_to_be(server):
    found, placed, has_steps = notes(server, "late.jsonl")
    assert (placed, has_steps) == ((30, 30), False)
    ((severity, code, text),) = found
    assert (severity, code) == ("data_loss", "request_log_not_placed")
    assert text == (
        "late.jsonl, a log of 30 requests (otlp, of the server): none within the trace, the nearest 2.0 h after it; its times are"
        " UTC; if a clock was wrong, give --offset"
    )
    _, _, has_steps = notes(server, "late.jsonl", offset=-7_200)
    assert has_steps


def test_a_clock_of_its_own_is_placed_by_an_offset_only(server):
    found, placed, has_steps = notes(server, "bench.json")
    assert (placed, has_steps) == ((0, 30), False)
    assert found[0][:2] == ("data_loss", "request_log_not_placed")
    assert "its times count from a moment that only its writer knows; give --offset" in found[0][2]
    _, placed, has_steps = notes(server, "bench.json", offset=EPOCH_NS / 1e9)
    assert (placed, has_steps) == ((30, 30), True)


def test_the_same_file_counts_once(server):
    (server / "copy.jsonl").write_bytes((server / "spans.jsonl").read_bytes())
    found, placed, _ = notes(server, "spans.jsonl", "copy.jsonl")
    assert placed == (30, 30)
    assert ("info", "given_twice", "copy.jsonl is identical to spans.jsonl, and counts once") in found


def test_damaged_lines_are_counted(server):
    with (server / "spans.jsonl").open() as file:
        (server / "cut.jsonl").write_text(file.read() + '{"resourceSpans": [{"sco\n')
    found, placed, _ = notes(server, "cut.jsonl")
    assert placed == (30, 30)
    assert [code for _, code, _ in found] == ["request_log", "request_log_left_out"]


def test_the_first_screen_says_how_long_first_tokens_take(server):
    text = report(server / "trace.json", cache=False, logs=[server / "spans.jsonl"]).to_text()
    (line,) = re.findall(r"^p95 time to first token.*(?:\n.+)*", text, re.MULTILINE)
    assert re.fullmatch(
        r"p95 time to first token [\d.]+ ms over 30 requests; those at or beyond it spend [\d.]+ % of it in the queue\.",
        " ".join(line.split()),
    )
    assert "time to first token" not in report(server / "trace.json", cache=False).to_text()


def test_json_has_percentiles_and_the_slowest_requests(server):
    known = json.loads(report(server / "trace.json", cache=False, logs=[server / "spans.jsonl"]).to_json())
    (trace,) = known["traces"]
    ((log),) = trace["request_logs"]
    assert (log["file"], log["requests"], log["captured"], log["is_placed"]) == ("spans.jsonl", 30, 30, True)
    assert [row["quantity"] for row in trace["requests"]["quantities"]] == ["queue", "ttft", "tpot", "e2e"]
    assert [row["quantity"] for row in trace["requests"]["slowest"]] == ["ttft", "tpot", "e2e"]
    slowest = trace["requests"]["slowest"][0]
    # what the GPU did fills the time until the first token
    gpu = sum(slowest[f"{name}_ns"] for name in ("compute", "communication", "copy", "idle"))
    assert gpu == pytest.approx(slowest["dur_ns"], rel=0.02)
    assert slowest["queue_ns"] + slowest["prefill_ns"] == slowest["dur_ns"]


def test_a_database_with_requests_is_read_again(server, tmp_path):
    target = tmp_path / "kept.duckdb"
    ingest(server / "trace.json", target, logs=[server / "late.jsonl"])
    found = CliRunner().invoke(main, ["sql", str(target), "select count(*) as requests from request"])
    assert (found.exit_code, "30" in found.output) == (0, True), found.output


def test_a_log_alone_names_what_to_do(server):
    found = CliRunner().invoke(main, ["report", str(server / "spans.jsonl")])
    assert found.exit_code != 0
    assert "a log of requests to a server, not a trace" in found.output
    assert "--with" in found.output


def test_results_without_requests_are_refused(server, tmp_path):
    path = tmp_path / "bench.json"
    path.write_text('{"total_input_tokens": 1, "request_throughput": 1.0, "output_throughput": 1.0}')
    with pytest.raises(UnusableTrace, match="--save-detailed"):
        ingest(server / "trace.json", tmp_path / "x.duckdb", logs=[path])


def test_time_per_token_of_chunks_of_unknown_size_is_unknown(server):
    """Ten chunks after the first: with 21 tokens 20 ms each, without their number nobody knows."""
    requests = [
        {"rid": "known", "ttft_ms": 100, "itl_ms": [40] * 10, "output_tokens": 21},
        {"rid": "unknown", "ttft_ms": 100, "itl_ms": [40] * 10},
    ]
    (server / "chunks.jsonl").write_text("\n".join(map(json.dumps, requests)))
    target = server / "chunks.duckdb"
    ingest(server / "trace.json", target, logs=[server / "chunks.jsonl"])
    with duckdb.connect(str(target), read_only=True) as db:
        assert db.execute("select request_id, tpot / 1e6 from request order by 1").fetchall() == [
            ("known", 20),
            ("unknown", None),
        ]
