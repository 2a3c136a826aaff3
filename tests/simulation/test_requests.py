"""Percentiles of requests are those that plain Python reckons from a simulated server's own records, in both trace formats."""

from __future__ import annotations

from collections import Counter
from statistics import fmean, median, quantiles

import pytest
from simulator import simulate, write_kineto, write_nsys
from simulator.request_load import RequestLoad, write_bench, write_otlp, write_sglang_otlp

import traceq
from traceq.loading.ingest import ingest
from traceq.loading.monitors import MonitorLogs

WRITERS = {"nsys": (write_nsys, "sqlite"), "kineto": (write_kineto, "json")}
LOGS = {"spans": (write_otlp, "jsonl"), "stages": (write_sglang_otlp, "json"), "bench": (write_bench, "json")}
SIZES = [
    pytest.param(RequestLoad(requests=200, pace=0.6), id="200"),
    pytest.param(RequestLoad(requests=5000, pace=0.75, seed=2), id="5000", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """served(load, format): the records of a load, its run, and its database with all logs, in the order of LOGS."""
    runs, folder = {}, tmp_path_factory.mktemp("requests")

    def made(load, trace_format):
        if load not in runs:
            run = simulate(load.program())
            runs[load] = run, load.records(run)
            for name, (write, suffix) in LOGS.items():
                write(runs[load][1], folder / f"{name}{load.requests}.{suffix}")
        write, suffix = WRITERS[trace_format]
        path = folder / f"{load.requests}.{suffix}"
        target = path.with_suffix(f".{suffix}.duckdb")
        if not target.exists():
            write(runs[load][0], path)
            logs = tuple(folder / f"{name}{load.requests}.{suffix}" for name, (_, suffix) in LOGS.items())
            ingest([path], target, beside=MonitorLogs(logs))
        return *runs[load], target

    return made


def compute_stats(records):
    """By quantity: how many, mean, p50, p90, p95, p99 and the longest, interpolated as statistics.quantiles does."""
    several = {
        "queue": [one.queue for one in records],
        "ttft": [one.ttft for one in records],
        "tpot": [(one.e2e - one.ttft) / (len(one.tokens) - 1) for one in records if len(one.tokens) > 1],
        "inter_token": [b - a for one in records for a, b in zip(one.tokens, one.tokens[1:], strict=False)],
        "e2e": [one.e2e for one in records],
    }
    for name, values in several.items():
        cuts = quantiles(values, n=100, method="inclusive")
        yield name, (len(values), fmean(values), median(values), cuts[89], cuts[94], cuts[98], max(values))


# another name than trace_format: both formats are asked by default
@pytest.mark.parametrize("profiler", WRITERS)
@pytest.mark.parametrize("load", SIZES)
def test_percentiles_are_those_of_the_records(load, profiler, served):
    _, records, target = served(load, profiler)
    expected = dict(compute_stats(records))
    with traceq.open(target) as db:
        found = db.sql(
            "select log_id, quantity, requests, mean, p50, p90, p95, p99, longest from request_stats"
        ).fetchall()
    told = {(log, quantity): numbers for log, quantity, *numbers in found}
    # spans of vLLM tell of no token but the first; those of SGLang of decode steps, not of tokens; a client of no queue
    assert told.keys() == {
        *((0, quantity) for quantity in expected.keys() - {"inter_token"}),
        *((1, quantity) for quantity in expected.keys() - {"tpot"}),
        *((2, quantity) for quantity in expected.keys() - {"queue"}),
    }
    for (log, quantity), numbers in told.items():
        # the bench adds up gaps in seconds
        tolerance = {"rel": 1e-12, "abs": 0.0 if log < 2 else 2.0}
        assert list(numbers) == pytest.approx(list(expected[quantity]), **tolerance), (log, quantity)


@pytest.mark.parametrize("trace_format", WRITERS)
@pytest.mark.parametrize("load", SIZES)
def test_each_token_is_of_the_step_that_computed_it(load, trace_format, served):
    _, records, target = served(load, trace_format)
    expected = Counter((number, place) for place, step in enumerate(load.steps) for number in step.given)
    with traceq.open(target) as db:
        found = db.sql(
            "select r.request_id, s.step, s.tokens from request_step as s join request as r using (trace_id, request_number)"
            " where r.log_id = 1 and s.tokens > 0"
        ).fetchall()
    several = {one.number for one in records if len(one.tokens) > 1}
    assert {(int(name, 16), step): tokens for name, step, tokens in found} == {
        key: tokens for key, tokens in expected.items() if key[0] in several
    }


@pytest.mark.parametrize("load", SIZES[:1])
def test_where_a_request_is_in_each_step(load, served):
    run, records, target = served(load, "kineto")
    (process,) = run.processes
    marks = [one for one in process.slices if one.name.startswith("execute_")]
    begins = [mark.ts for mark in marks]
    ends = [*begins[1:], marks[-1].ts + marks[-1].dur]

    def common(begin, end, step):
        return max(0, min(end, ends[step]) - max(begin, begins[step]))

    expected = {}
    for one in records:
        for step in range(len(marks)):
            if one.arrival < ends[step] and one.tokens[-1] > begins[step]:
                expected[one.number, step] = (
                    common(one.arrival, one.scheduled, step),
                    common(one.arrival, one.tokens[0], step),
                    common(one.tokens[0], one.tokens[-1], step),
                )
    with traceq.open(target) as db:
        found = db.sql(
            "select r.request_id[6:]::integer, s.step, s.queue, s.before_first, s.decode from request_step as s"
            " join request as r using (trace_id, request_number) where r.log_id = 0"
        ).fetchall()
        # a wait for prompts of others is a part of the time in which a request decodes
        odd = db.sql(
            "from request_account where prefill_delay > decode + decode_beside_prefill or prefill_delay < 0"
        ).fetchall()
    # spans have arrivals to the ns and durations in seconds
    assert {(number, step): tuple(numbers) for number, step, *numbers in found} == expected
    assert odd == []
