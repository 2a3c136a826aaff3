"""Requests and the steps of a server that they overlap: for what, which tokens a step gave, and where a request's time went."""

from __future__ import annotations

from builder import TraceBuilder

DECODE, MIXED, PREFILL = "step[DECODE bs=2]", "execute_context_1(8)_generation_2(2)", "step[EXTEND bs=1 toks=8]"


def build_server(*steps, requests=(), tokens=()):
    """A server that runs `steps`, (ts, dur, name), each with a kernel in its second half, and requests of one log.

    A request is (arrival, scheduled, first token, end); tokens are (request, ns after its arrival).
    """
    trace = TraceBuilder()
    for ts, dur, name in steps:
        trace.annotation(name, ts, dur)
        trace.kernel("gemm", ts + dur // 2, dur // 2, launched=(ts + 1, 2))
    about = {"clock": "utc", "shift": 0, "left_out": 0, "reason": ""}
    trace.add("request_log", log_id=0, file="x", format="otlp", side="server", requests=len(requests), **about)
    for number, (arrival, scheduled, first, end) in enumerate(requests):
        times = {"arrival_ts": arrival, "scheduled_ts": scheduled, "first_token_ts": first, "end_ts": end}
        if first is not None:
            times["ttft"] = first - arrival
        trace.add("request", request_number=number, log_id=0, status="ok" if end else "failed", **times)
    for number, (request, since) in enumerate(tokens):
        trace.add("request_token", request_number=request, token=number, since_arrival=since)
    return trace.fill("time_ledger", "request_step")


STEPS = ((0, 100, DECODE), (100, 100, DECODE), (200, 300, MIXED), (500, 100, DECODE))
COLUMNS = "request_number, step, queue, before_first, decode, tokens"


def test_a_request_is_in_each_step_that_it_overlaps():
    trace = build_server(*STEPS, requests=[(50, 120, 250, 550), (-500, None, -100, 20), (580, 590, 700, 900)])
    assert trace.text(f"select {COLUMNS} from request_step order by all") == (
        "0 0 50 50 0 -\n0 1 20 100 0 -\n0 2 0 50 250 -\n0 3 0 0 50 -\n"
        # nothing says when it was scheduled
        "1 0 - 0 20 -\n"
        "2 3 10 20 0 -"
    )


def test_requests_outside_of_the_steps_are_in_none():
    trace = build_server(*STEPS, requests=[(-100, -90, -50, 0), (600, 610, 620, 700)])
    assert trace.text("select count(*) from request_step") == "0"


def test_a_token_is_of_the_last_step_whose_work_is_done():
    """Work ends at 100, 200, 500 and 600: tokens at 99 and before are of no captured step, that at 650 of one after them."""
    came = (99, 100, 199, 200, 499, 500, 600, 650)
    trace = build_server(*STEPS, requests=[(0, 0, 99, 700)], tokens=[(0, at) for at in came])
    assert trace.text("select step, tokens from request_step order by step") == "0 2\n1 2\n2 1\n3 1"


def test_what_prompts_of_others_cost_a_request():
    """A decode step takes 100, the mixed one 300: 200 more, of which a request that ends in it has a part at most."""
    trace = build_server(*STEPS, requests=[(0, 0, 100, 600), (0, 0, 100, 250)])
    columns = "request_number, steps, is_whole, decode, decode_beside_prefill, prefill_delay, longest_step"
    assert trace.text(f"select {columns} from request_account order by 1") == (
        "0 4 True 200 300 200 300\n1 3 True 100 50 50 300"
    )
    assert trace.text("select step, cause, dur, tokens, request_time, requests from prefill_delay") == (
        "2 mixed 200 2 400 2"
    )


def test_a_prompt_only_step_delays_all_of_its_time():
    trace = build_server((0, 100, DECODE), (100, 150, PREFILL), (250, 100, DECODE), requests=[(0, 0, 50, 350)])
    assert trace.text("select decode, decode_beside_prefill, prefill_delay from request_account") == "150 150 150"


def test_who_is_there_in_a_step():
    trace = build_server(
        *STEPS, requests=[(0, 0, 100, 600), (210, 520, 600, 900), (150, 210, 480, 600), (-9, None, None, 600)]
    )
    columns = "step, queued, prefilling, decoding, requests"
    assert trace.text(f"select {columns} from request_composition order by step") == (
        "0 0 1 0 2\n1 1 0 1 2\n2 1 1 2 3\n3 0 1 2 2"
    )


def test_percentiles_are_interpolated_over_requests_that_did_not_fail():
    """Without an end it failed."""
    trace = build_server(*STEPS, requests=[*((0, 0, ttft, 100) for ttft in (10, 20, 40)), (0, 0, 1000, None)])
    assert trace.text("select quantity, requests, mean, p50, p95, longest from request_stats") == (
        "ttft 3 23.333333333333332 20.0 38.0 40.0"
    )
