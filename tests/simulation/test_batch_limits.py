"""What another limit of batched tokens gives is what the simulated server gives with it: within the bounds, and near the value.

The server's steps cost otherwise than what is fitted: attention over all of the context, weights that are read whatever is
computed, noise, and a host that is slow now and then.
"""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import quantiles

import pytest
from simulator.request_load import write_otlp
from simulator.timed_load import TimedLoad, write_timed_kineto

import traceq

BUSY = TimedLoad(requests=300, rate=14)
QUIET = 0.05


def compute_truth(served):
    """The quantities, in ns, by the server's own times."""
    first = quantiles([one.ttft for one in served.records], n=100, method="inclusive")
    gaps = [b - a for one in served.records for a, b in zip(one.tokens, one.tokens[1:], strict=False)]
    between = quantiles(gaps, n=100, method="inclusive")
    took = served.steps[-1].end - served.records[0].arrival
    return {
        "ttft_p50_ns": first[49],
        "ttft_p95_ns": first[94],
        "gap_p50_ns": between[49],
        "gap_p95_ns": between[94],
        "gap_p99_ns": between[98],
        "tokens_per_s": sum(len(one.tokens) for one in served.records) * 1e9 / took,
    }


@pytest.fixture(scope="module")
def predict(tmp_path_factory):
    """predict(load, limits): what is predicted from a recording of the load, as JSON has it."""

    def made(load, limits, part=(0, 1), *, is_detailed=False, has_log=True, **options):
        folder = tmp_path_factory.mktemp("limits")
        served = load.serve()
        begin, end = (int(share * len(served.steps)) for share in part)
        write_timed_kineto(served.steps[begin:end], folder / "trace.json", is_detailed=is_detailed)
        write_otlp(served.records, folder / "spans.jsonl")
        logs = [folder / "spans.jsonl"] if has_log else []
        view = traceq.batch_limits(folder / "trace.json", limits, logs=logs, cache=False, **options)
        return json.loads(view.to_json())

    return made


@pytest.mark.parametrize(
    ("load", "limits", "options"),
    [
        pytest.param(replace(BUSY, requests=120), (256, 1024), {}, id="mixed"),
        pytest.param(BUSY, (128, 384), {}, id="smaller", marks=pytest.mark.slow),
        pytest.param(BUSY, (64, 1024), {"is_detailed": True}, id="contexts", marks=pytest.mark.slow),
        pytest.param(BUSY, (256, 1024), {"part": (0.3, 0.6)}, id="a part", marks=pytest.mark.slow),
        pytest.param(replace(BUSY, mixes=False, rate=11), (256, 1024), {}, id="apart", marks=pytest.mark.slow),
        pytest.param(replace(BUSY, seed=5, limit=1024), (512,), {}, id="half", marks=pytest.mark.slow),
        pytest.param(replace(BUSY, seed=6, noise=0.2), (256, 768), {}, id="noisy", marks=pytest.mark.slow),
        pytest.param(replace(BUSY, seed=7, attention=60), (256, 768), {}, id="long", marks=pytest.mark.slow),
        pytest.param(
            replace(BUSY, seed=8, slots=12), (256, 1024), {"max_num_seqs": 12}, id="slots", marks=pytest.mark.slow
        ),
    ],
)
def test_the_truth_is_within_the_bounds(load, limits, options, predict):
    found = predict(load, limits, **options)
    assert found["reason"] is None
    assert [each["limit"] for each in found["predictions"]] == sorted(limits)
    outside = []
    for each in found["predictions"]:
        truth = compute_truth(replace(load, limit=each["limit"]).serve())
        assert each["values"].keys() == truth.keys()
        outside += [
            (each["limit"], quantity, bounds, truth[quantity])
            for quantity, bounds in each["values"].items()
            if not bounds["low"] <= truth[quantity] <= bounds["high"]
        ]
        # bounds that hold anything would say nothing
        usual = each["values"]["gap_p50_ns"]
        assert usual["high"] < (1.3 if load.noise <= QUIET else 2) * usual["low"]
        assert usual["value"] == pytest.approx(truth["gap_p50_ns"], rel=0.05)
    assert outside == []


@pytest.mark.slow
def test_the_limit_moves_what_it_moves(predict):
    found = predict(BUSY, (128, 512))
    small, recorded = (each["values"] for each in found["predictions"])
    assert (found["largest_step_tokens"], found["is_filled"], found["mixes"]) == (512, True, True)
    # long prompts wait longer for their first token, and hold up others less
    assert small["ttft_p95_ns"]["value"] > 1.5 * recorded["ttft_p95_ns"]["value"]
    assert small["gap_p95_ns"]["high"] < recorded["gap_p95_ns"]["low"]


def test_without_a_log_first_tokens_are_not_told(predict):
    load = replace(BUSY, requests=120)
    found = predict(load, (256,), has_log=False)
    (each,) = found["predictions"]
    truth = compute_truth(replace(load, limit=256).serve())
    assert each["values"].keys() == {"gap_p50_ns", "gap_p95_ns", "gap_p99_ns", "tokens_per_s"}
    assert found["log_file"] is None
    for quantity in ("gap_p50_ns", "gap_p95_ns"):
        assert each["values"][quantity]["low"] <= truth[quantity] <= each["values"][quantity]["high"]


@pytest.mark.slow
def test_a_server_that_batches_otherwise_is_refused(predict):
    # in truth 12 requests at a time: with four times as many nobody would queue
    found = predict(replace(BUSY, rate=10, slots=12, longest_output=240, requests=200), (1024,), max_num_seqs=48)
    assert "this server batches otherwise" in found["reason"]
    assert found["predictions"] == []
