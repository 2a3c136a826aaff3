"""What traceq says of a simulated server's steps is what plain Python reckons from its batches and from the work that ran."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from statistics import median, quantiles

import pytest
from simulator import simulate, write_kineto, write_nsys
from simulator.serving import SERVERS

import traceq
from traceq.loading.ingest import ingest

WRITERS = {"nsys": (write_nsys, "sqlite"), "kineto": (write_kineto, "json")}

STATS = """
    select kind, least_requests, steps, dur, p50, p95, p99, token_p50, token_p95, token_p99, new_tokens_per_second,
        output_tokens_per_second, gpu_busy_share, host_gap_p50, gpu_gap_p50
    from serving_stats
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """served(server, format): the batches of a server, its run, and its database."""
    runs, folder = {}, tmp_path_factory.mktemp("served")

    def made(name, trace_format):
        server = SERVERS[name]
        if name not in runs:
            runs[name] = server.batches(), simulate(server.program())
        write, suffix = WRITERS[trace_format]
        path, target = folder / f"{name}.{suffix}", folder / f"{name}.{suffix}.duckdb"
        if not target.exists():
            write(runs[name][1], path)
            ingest([path], target)
        return *runs[name], target

    return made


def list_executed_steps(batches, run):
    """Per step, as a dict: its batch, when it ran, and what the GPU did."""
    (process,) = run.processes
    marks = [one for one in process.slices if one.name.startswith(("execute_", "step["))]
    work = sorted((one.item.start, one.item.end, one.ts) for one in process.started)
    found, gpu_end = [], None
    for number, (batch, mark) in enumerate(zip(batches, marks, strict=True)):
        own = [(start, end) for start, end, launched in work if mark.ts <= launched < mark.ts + mark.dur]
        last = number + 1 == len(marks)
        ts_end = max(mark.ts + mark.dur, own[-1][1]) if last else marks[number + 1].ts
        found.append(
            {
                "batch": batch,
                "dur": ts_end - mark.ts,
                # the host waits for each step's work: it is in its own step
                "busy": sum(end - start for start, end in own),
                "host_gap": None if not number else mark.ts - marks[number - 1].ts - marks[number - 1].dur,
                "gpu_gap": None if gpu_end is None else max(0, own[0][0] - gpu_end),
            }
        )
        gpu_end = own[-1][1]
    return found


def compute_percentiles(several):
    """p50, p95 and p99, interpolated."""
    cuts = quantiles(several, n=100, method="inclusive") if len(several) > 1 else several * 99
    return median(several), cuts[94], cuts[98]


def compute_stats(steps):
    """The rows of STATS."""
    buckets = defaultdict(list)
    for step in steps:
        buckets[step["batch"].kind, 2 ** (step["batch"].requests.bit_length() - 1)].append(step)
    for (kind, least), several in buckets.items():
        durations = [each["dur"] for each in several]
        tokens = [None] * 3 if kind == "prefill" else compute_percentiles(durations)
        gaps = [[each[name] for each in several if each[name] is not None] for name in ("host_gap", "gpu_gap")]
        yield (
            kind,
            least,
            len(several),
            sum(durations),
            *compute_percentiles(durations),
            *tokens,
            sum(each["batch"].new_tokens for each in several) * 1e9 / sum(durations),
            sum(len(each["batch"].decode) for each in several) * 1e9 / sum(durations),
            sum(each["busy"] for each in several) / sum(durations),
            *(median(each) if each else None for each in gaps),
        )


@pytest.mark.sample(8)
@pytest.mark.parametrize("trace_format", WRITERS)
@pytest.mark.parametrize("name", SERVERS)
def test_statistics_of_a_server_are_those_of_its_batches(name, trace_format, served):
    batches, run, target = served(name, trace_format)
    assert len(batches) >= 500
    assert Counter(batch.kind for batch in batches).most_common(2)[1][1] >= 50
    with traceq.open(target) as db:
        found = {row[:2]: row[2:] for row in db.sql(STATS).fetchall()}
        counted = db.sql("select source, count(*), count(excluded) from step group by source").fetchall()
    steps = list_executed_steps(batches, run)
    # a long prompt first is no warming up
    assert counted == [("serving", len(steps), 0)]
    expected = {row[:2]: row[2:] for row in compute_stats(steps)}
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert [value is None for value in found[key]] == [value is None for value in row], key
        assert [value or 0 for value in found[key]] == pytest.approx([value or 0 for value in row]), key


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", SERVERS)
def test_the_payload_of_each_step_is_that_of_its_batch(name, served):
    batches, _, target = served(name, "kineto")
    columns = "kind, requests, prefill_requests, decode_requests, new_tokens, kv_tokens"
    with traceq.open(target) as db:
        found = db.sql(f"select {columns} from serving_step order by step").fetchall()
    knows_kv = name.endswith("_detailed")
    assert found == [
        (b.kind, b.requests, len(b.prefill), len(b.decode), b.new_tokens, b.kv_tokens if knows_kv else None)
        for b in batches
    ]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", SERVERS)
def test_what_decoding_requests_waited_for_prompts(name, served):
    batches, run, target = served(name, "kineto")
    steps = list_executed_steps(batches, run)
    decoding = [number for number, step in enumerate(steps) if step["batch"].decode]
    expected = []
    for earlier, later in pairwise(decoding):
        between = steps[earlier + 1 : later]
        if between:
            waiting = min(len(steps[number]["batch"].decode) for number in (earlier, later))
            expected.append((later, "prefill", len(between), waiting, sum(step["dur"] for step in between)))
    usual = defaultdict(list)
    for step in steps:
        if step["batch"].kind == "decode":
            usual[len(step["batch"].decode).bit_length()].append(step["dur"])
    for number, step in enumerate(steps):
        alike = usual[len(step["batch"].decode).bit_length()]
        if step["batch"].kind == "mixed" and alike and (beyond := step["dur"] - median(alike)) > 0:
            expected.append((number, "mixed", 1, len(step["batch"].decode), pytest.approx(beyond, abs=1)))
    assert expected
    with traceq.open(target) as db:
        found = db.sql("select step, cause, prefill_steps, waiting_requests, dur from serving_stall").fetchall()
    assert sorted(found, key=lambda row: row[0]) == sorted(expected, key=lambda row: row[0])
