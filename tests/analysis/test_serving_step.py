"""Steps of a server: their time by kind and batch, the pauses between them, and what prompts cost those who decode."""

from __future__ import annotations

from builder import TraceBuilder


def build_server(*steps):
    """A server that runs `steps`, (ts, dur, name): a kernel of half the annotation's length, from its middle on."""
    trace = TraceBuilder()
    for ts, dur, name in steps:
        trace.annotation(name, ts, dur)
        trace.kernel("gemm", ts + dur // 2, dur // 2, launched=(ts + 1, 2))
    return trace.fill("time_ledger")


def test_a_step_has_the_payload_of_its_annotation_and_its_pauses():
    trace = build_server(
        (0, 100, "step[EXTEND bs=2 toks=30]"), (120, 100, "step[DECODE bs=2]"), (220, 60, "step[TARGET_VERIFY bs=2]")
    )
    columns = "step, kind, requests, new_tokens, output_tokens, dur, token_dur, gpu_busy, host_gap, gpu_gap"
    assert trace.text(f"select {columns} from serving_step order by step") == (
        "0 prefill 2 30 0 120 - 50 - -\n1 decode 2 2 2 100 100 50 20 70\n2 decode 2 - - 60 - 30 0 30"
    )


def test_work_that_overlaps_the_steps_before_leaves_no_gap():
    trace = TraceBuilder()
    for ts, start in ((0, 10), (100, 150), (200, 350)):
        trace.annotation("step[DECODE bs=1]", ts, 100)
        trace.kernel("gemm", start, 200, launched=(ts, 5), stream=ts)
    trace.fill("time_ledger")
    assert trace.text("select host_gap, gpu_gap from serving_step order by step") == "- -\n0 0\n0 0"


def test_other_steps_are_no_steps_of_a_server():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 100)
    trace.annotation("step[DECODE bs=1]", 10, 20)
    trace.kernel("gemm", 20, 10, launched=(12, 5))
    assert trace.fill(step_range="^ProfilerStep").rows("from serving_step") == []


def test_batches_are_counted_by_powers_of_two():
    sizes = (1, 2, 3, 4, 7, 8, 255, 256)
    trace = build_server(*((100 * number, 100, f"step[DECODE bs={bs}]") for number, bs in enumerate(sizes)))
    assert trace.text("select least_requests, most_requests, steps from serving_stats order by 1") == (
        "1 1 1\n2 3 2\n4 7 2\n8 15 1\n128 255 1\n256 511 1"
    )


def test_statistics_of_a_bucket():
    durations = (100, 100, 200, 400)
    starts = [sum(durations[:number]) for number in range(4)]
    steps = [(ts, dur, "step[DECODE bs=4]") for ts, dur in zip(starts, durations, strict=True)]
    trace = build_server(*steps, (800, 200, "execute_new_1_cached_3"))
    columns = "dialect, kind, least_requests, steps, dur, p50, token_p50, output_tokens_per_second, gpu_busy_share"
    assert trace.text(f"select {columns} from serving_stats order by dialect") == (
        "sglang decode 4 4 800 150.0 150.0 20000000.0 0.5\nvllm - 4 1 200 200.0 - - 0.5"
    )


def test_excluded_steps_are_in_no_statistics():
    trace = TraceBuilder()
    for number in range(5):
        ts = 1000 * number + (5000 if number else 0)
        trace.annotation("step[DECODE bs=1]", ts, 900)
        trace.kernel("gemm", ts + 100, 200, launched=(ts, 5))
    trace.fill("time_ledger")
    assert trace.text("select count(*), count(excluded) from serving_step") == "5 1"
    assert trace.text("select steps from serving_stats") == "4"


EXCLUDED = "select step, excluded[:10] from step where excluded is not null"


def in_turn(*steps):
    """A server whose steps, (dur, name, launches), follow one another."""
    trace, ts = TraceBuilder(), 0
    for dur, name, launches in steps:
        trace.annotation(name, ts, dur)
        for number in range(launches):
            trace.kernel("gemm", ts + 10 * (number + 1), 10, launched=(ts + 2 * number, 1))
        ts += dur
    return trace.fill("time_ledger")


def test_a_long_prompt_first_is_no_warming_up():
    decode, prompt = (100, "step[DECODE bs=4]", 1), (120, "step[EXTEND bs=1 toks=40]", 1)
    trace = in_turn((900, "step[EXTEND bs=2 toks=500]", 1), *[decode, decode, prompt] * 5)
    assert trace.text(EXCLUDED) == ""


def test_a_first_step_slower_than_those_of_its_kind_that_compute_more_is_warm_up():
    decode, prompt = (100, "step[DECODE bs=4]", 1), (120, "step[EXTEND bs=1 toks=40]", 1)
    trace = in_turn((900, "step[EXTEND bs=1 toks=30]", 1), *[decode, decode, prompt] * 5)
    assert trace.text(EXCLUDED) == "0 warm-up: l"


def test_a_last_step_is_cut_where_it_has_less_work_than_those_of_its_kind():
    decode, prompt = (100, "step[DECODE bs=4]", 1), (300, "step[EXTEND bs=1 toks=40]", 20)
    assert in_turn(prompt, prompt, prompt, (90, "step[DECODE bs=4]", 1)).text(EXCLUDED) == ""
    assert (
        in_turn(decode, prompt, prompt, decode, (200, "step[EXTEND bs=1 toks=40]", 9)).text(EXCLUDED) == "4 incomplete"
    )


STALLS = "select step, cause, prefill_steps, prefill_tokens, waiting_requests, dur from serving_stall order by step"


def test_prompts_between_two_decoding_steps_make_the_fewer_requests_wait():
    trace = build_server(
        (0, 50, "step[EXTEND bs=1 toks=9]"),  # nobody decodes yet
        (50, 50, "step[DECODE bs=3]"),
        (100, 70, "step[EXTEND bs=1 toks=10]"),
        (170, 80, "step[EXTEND bs=1 toks=20]"),
        (250, 50, "step[DECODE bs=5]"),
        (300, 50, "step[DECODE bs=5]"),
        (350, 50, "step[EXTEND bs=1 toks=9]"),  # nobody decodes any more
    )
    assert trace.text(STALLS) == "4 prefill 2 30 3 150"


def test_a_mixed_step_costs_what_it_takes_beyond_decode_steps_of_its_size():
    decode, mixed = "execute_context_0(0)_generation_{0}({0})", "execute_context_1(7)_generation_{0}({0})"
    trace = build_server(
        (0, 100, decode.format(4)),
        (100, 120, decode.format(7)),
        (220, 300, mixed.format(5)),
        (520, 90, mixed.format(5)),  # no longer than the others
        (610, 300, mixed.format(9)),  # none to compare with
    )
    assert trace.text(STALLS) == "2 mixed 1 7 5 190"
