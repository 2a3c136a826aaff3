"""Logs of requests to a server: spans of engines, results of benchmarks, exports of clients, and records by their names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers.request_logs import is_request_log, read_request_log

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND


def read(folder, content, name="log"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_request_log(path)


def show(log):
    """A line about the log, and one for each request: times in ms since START, durations in ms."""

    def ms(at, since=0):
        return "-" if at is None else f"{(at - since) / 1e6:g}"

    lines = [f"{log.format} {log.side} {log.clock} left_out={log.left_out}"]
    since = START if log.clock == "utc" else 0
    for one in log.requests:
        times = " ".join(ms(at, since) for at in (one.arrival_ns, one.scheduled_ns, one.first_token_ns, one.end_ns))
        durations = " ".join(ms(each) for each in (one.queue_ns, one.ttft_ns, one.e2e_ns))
        counts = " ".join(
            "-" if n is None else str(n) for n in (one.prompt_tokens, one.output_tokens, one.cached_tokens)
        )
        tokens = " ".join(ms(at) for at in one.token_ns)
        lines.append(f"{one.request_id} {one.status} | {times} | {durations} | {counts} | {tokens}".rstrip(" |"))
    return "\n".join(lines)


def attribute(key, value):
    if isinstance(value, list):
        return {"key": key, "value": {"arrayValue": {"values": [attribute("", each)["value"] for each in value]}}}
    kind = "stringValue" if isinstance(value, str) else "doubleValue" if isinstance(value, float) else "intValue"
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def span(name, begin, end, *, trace="t", span="s", parent="", status=0, events=(), **attributes):
    """A span from begin to end, ms after START; __ in names of attributes is a dot."""
    return {
        "traceId": trace,
        "spanId": span,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(START + round(begin * 1e6)),
        "endTimeUnixNano": str(START + round(end * 1e6)),
        "attributes": [attribute(key.replace("__", "."), value) for key, value in attributes.items()],
        "events": list(events),
        "status": {"code": status},
    }


def document(*spans, inner="scopeSpans", outer="resourceSpans"):
    return json.dumps(
        {outer: [{"resource": {"attributes": []}, inner: [{"scope": {"name": "x"}, "spans": list(spans)}]}]}
    )


VLLM = {
    "gen_ai__request__id": "cmpl-1",
    "gen_ai__usage__prompt_tokens": 12,
    "gen_ai__usage__completion_tokens": 5,
    "gen_ai__latency__time_in_queue": 0.01,
    "gen_ai__latency__time_to_first_token": 0.06,
    "gen_ai__latency__e2e": 0.1,
}


def test_spans_of_vllm_a_document_a_line(tmp_path):
    lines = [
        document(span("llm_request", 0, 101, **VLLM, gen_ai__latency__time_in_model_prefill=0.045)),
        document(span("llm_request", 20, 30, gen_ai__request__id="cmpl-2", gen_ai__latency__e2e=0.01, status=2)),
        document(span("tokenize", 0, 1)),
        '{"resourceSpans": [{"scopeSp',
    ]
    log = read(tmp_path, "\n".join(lines))
    assert show(log) == (
        "otlp server utc left_out=1\n"
        # it was scheduled when its prompt began to be computed: the queue begins after the arrival
        "cmpl-1 ok | 0 15 60 100 | 10 60 100 | 12 5 -\n"
        "cmpl-2 failed | 20 - - 30 | - - 10 | - - -"
    )
    assert (log.other_spans, log.lines) == (1, 4)


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"inner": "scope_spans", "outer": "resource_spans"},
        {"inner": "instrumentationLibrarySpans"},
        {"outer": "batches"},
    ],
)
def test_one_document_over_several_lines_in_older_spellings(tmp_path, shape):
    text = json.dumps(json.loads(document(span("llm_request", 0, 101, **VLLM), **shape)), indent=2)
    assert show(read(tmp_path, text)) == ("otlp server utc left_out=0\ncmpl-1 ok | 0 10 60 100 | 10 60 100 | 12 5 -")


def test_stages_of_sglang_say_when_each_token_came(tmp_path):
    """Two processes of tensor parallelism tell of the same stages; those of the one that tells of more count."""
    spans = [
        span(" Req 4f2a", 0, 50, span="r", rid="4f2a", module="sglang::request", gen_ai__usage__cached_tokens=3),
        span("scheduler [TP 0] ", 1, 50, span="t0", parent="r"),
        span("scheduler [TP 1] ", 1, 50, span="t1", parent="r"),
        *(
            span(name, begin, end, span=f"{thread}{begin}", parent=thread)
            for thread in ("t0", "t1")
            for name, begin, end in (
                ("request_process", 1, 2),
                ("prefill_waiting", 2, 8),
                ("prefill forward", 8, 20),
                ("decode_loop", 20, 30),
                ("decode loop", 30, 45),
            )
            if (thread, begin) != ("t1", 30)
        ),
    ]
    assert show(read(tmp_path, document(*spans))) == (
        "otlp server utc left_out=0\n4f2a ok | 0 8 20 50 | 8 20 50 | - - 3 | 20 30 45"
    )


def test_spans_that_were_exported_twice_count_once(tmp_path):
    spans = [
        span("Req 4f2a", 0, 50, span="r", rid="4f2a"),
        span("prefill forward", 8, 20, span="p", parent="r"),
        span("decode_loop", 20, 30, span="d", parent="r"),
        span("llm_request", 0, 101, span="v", **VLLM),
    ]
    once, twice = (
        show(read(tmp_path, document(*spans))),
        show(read(tmp_path, f"{document(*spans)}\n{document(*spans)}")),
    )
    assert (
        once
        == twice
        == (
            "otlp server utc left_out=0\n"
            "4f2a ok | 0 - 20 50 | - 20 50 | - - - | 20 30\ncmpl-1 ok | 0 10 60 100 | 10 60 100 | 12 5 -"
        )
    )


def test_processes_that_tell_of_requests_are_counted(tmp_path):
    """Data-parallel servers write into one collector; a client beside them is none of them."""

    def process(instance, *spans):
        named = json.loads(document(*spans))
        named["resourceSpans"][0]["resource"]["attributes"] = [attribute("service.instance.id", instance)]
        return json.dumps(named)

    lines = [process(name, span("llm_request", at, at + 101, **VLLM)) for name, at in (("a", 0), ("b", 5), ("a", 9))]
    other = process("c", span("chat", 0, 9, gen_ai__operation__name="chat"))
    assert read(tmp_path, "\n".join([*lines, other])).servers == 2
    assert read(tmp_path, lines[0]).servers == 1


def test_of_a_client_only_where_no_engine_told_of_it(tmp_path):
    client = span(
        "chat llama", 0, 80, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=7, gen_ai__usage__output_tokens=2,
        events=[{"name": "gen_ai.first_token", "timeUnixNano": str(START + 30_000_000)}],
        gen_ai__response__finish_reasons=["stop"],
    )  # fmt: skip
    assert show(read(tmp_path, document(client))) == (
        "otlp client utc left_out=0\nNone ok | 0 - 30 80 | - 30 80 | 7 2 -"
    )
    log = read(tmp_path, document(client, span("llm_request", 1, 60, **VLLM)))
    assert [one.request_id for one in log.requests] == ["cmpl-1"]
    assert (log.side, log.other_spans) == ("server", 1)


def test_a_request_that_was_aborted(tmp_path):
    log = read(tmp_path, document(span("llm_request", 0, 9, gen_ai__response__finish_reasons=["abort"])))
    assert show(log) == "otlp server utc left_out=0\nNone aborted | 0 - - 9 | - - 9 | - - -"


BENCH = {
    "backend": "vllm",
    "total_input_tokens": 30,
    "request_throughput": 1.0,
    "output_throughput": 2.0,
    "input_lens": [10, 20],
    "output_lens": [3, 0],
    "ttfts": [0.05, 0.0],
    "itls": [[0.02, 0.03], []],
    "generated_texts": ["abc", ""],
    "errors": ["", "Service Unavailable"],
}


def test_results_of_vllm_with_moments_of_its_own_clock(tmp_path):
    text = json.dumps(BENCH | {"start_times": [100.5, 101.0]})
    assert show(read(tmp_path, text)) == (
        "bench client own left_out=0\n"
        "None ok | 100500 - 100550 100600 | - 50 100 | 10 3 - | 50 70 100\n"
        "None failed | 101000 - 101000 - | - 0 - | 20 0 -"
    )


def test_results_of_sglang_a_run_a_line(tmp_path):
    text = json.dumps(BENCH) + "\n" + json.dumps(BENCH)[:90] + "\n" + json.dumps(BENCH | {"ttfts": [0.5], "itls": [[]]})
    assert show(read(tmp_path, text)) == (
        "bench client none left_out=1\n"
        "None ok | - - - - | - 50 100 | 10 3 - | 50 70 100\n"
        "None failed | - - - - | - 0 - | 20 0 -\n"
        "None ok | - - - - | - 500 500 | 10 3 - | 500"
    )


def test_results_without_requests_name_the_option(tmp_path):
    summary = {name: BENCH[name] for name in ("total_input_tokens", "request_throughput", "output_throughput")}
    with pytest.raises(UnusableTrace, match="--save-detailed"):
        read(tmp_path, json.dumps(summary))


def test_export_of_genai_perf(tmp_path):
    """The chunk that names the role, and the end of the stream, bring no token."""
    outputs = [
        'data: {"choices":[{"delta":{"role":"assistant"}}]}', 'data: {"choices":[{"delta":{"content":"a"}}]}',
        'data: {"choices":[{"delta":{"content":"b"}}]}', "data: [DONE]",
    ]  # fmt: skip
    request = {
        "timestamp": START,
        "response_timestamps": [START + ms * 1_000_000 for ms in (5, 20, 30, 31)],
        "response_outputs": [{"response": text} for text in outputs],
    }
    text = json.dumps({"experiments": [{"experiment": {"mode": "concurrency", "value": 1}, "requests": [request, 7]}]})
    assert show(read(tmp_path, text)) == (
        "profile_export client utc left_out=1\nNone ok | 0 - 20 31 | - 20 31 | - - - | 20 30"
    )


def test_export_of_aiperf(tmp_path):
    metrics = {
        "ttft": {"value": 20.0, "unit": "ms"},
        "request_latency": {"value": 45.0, "unit": "ms"},
        "input_sequence_length": {"value": 9, "unit": "tokens"},
        "output_sequence_length": {"value": 3, "unit": "tokens"},
        "inter_chunk_latency": {"value": [10.0, 15.0], "unit": "ms"},
    }
    about = {
        "x_request_id": "a",
        "request_start_ns": START,
        "request_end_ns": START + 45_000_000,
        "benchmark_phase": "profiling",
    }
    lines = [
        {"metadata": about | {"benchmark_phase": "warmup"}, "metrics": metrics},
        {"metadata": about, "metrics": metrics, "error": None},
        {"metadata": about | {"x_request_id": "b", "was_cancelled": True}, "metrics": {}},
    ]
    assert show(read(tmp_path, "\n".join(map(json.dumps, lines)))) == (
        "profile_export client utc left_out=0\n"
        "a ok | 0 - 20 45 | - 20 45 | 9 3 - | 20 30 45\n"
        "b aborted | 0 - - 45 | - - 45 | - - -"
    )


def test_lines_of_sglang_that_say_a_request_finished(tmp_path):
    lines = [
        "[2027-01-15 08:00:00 TP0] Decode batch, #running-req: 4",
        "Receive: obj=GenerateReqInput(rid='a', text=\"'meta_info': {'e2e_latency': 9}\")",
        (
            "Finish: obj=GenerateReqInput(rid='a', text='say \\'meta_info\\': {}'), out={'text': 'x', 'meta_info': {'id': 'a',"
            " 'finish_reason': {'type': 'stop', 'matched': 1}, 'prompt_tokens': 5, 'completion_tokens': 8, 'cached_tokens': 1,"
            " 'e2e_latency': 0.25, 'queue_time': 0.05, 'request_received_ts': 1800000000.5, 'forward_entry_time': 1800000000.55}}"
        ),
        "Finish: obj=GenerateReqInput(rid='b'), out={'text': 'cut",
    ]
    assert show(read(tmp_path, "\n".join(lines))) == (
        "sglang_log server utc left_out=1\na ok | 500 550 - 750 | 50 - 250 | 5 8 1"
    )


def test_json_lines_of_sglang(tmp_path):
    meta = {
        "id": "a",
        "prompt_tokens": 5,
        "completion_tokens": 8,
        "e2e_latency": 0.25,
        "request_received_ts": 1800000000.5,
    }
    lines = [
        {"timestamp": "2027-01-15T08:00:00", "event": "request.received", "rid": "a", "obj": {}},
        {"timestamp": "2027-01-15T08:00:01", "event": "request.finished", "rid": "a", "out": {"meta_info": meta}},
    ]
    assert show(read(tmp_path, "\n".join(map(json.dumps, lines)))) == (
        "records client utc left_out=0\na ok | 500 - - 750 | - - 250 | 5 8 -"
    )


def test_a_table_whose_names_say_the_units(tmp_path):
    text = (
        "request_id,arrival_time,queue_ms,ttft_ms,latency_s,prompt_tokens,output_tokens,status,error\n"
        "a,1800000000.250,2.5,10,0.04,100,3,200,None\n"
        "b,1800000000.300,1,20\n"
        "c,1800000000.500,1,5,0.01,7,1,503,\n"
    )
    assert show(read(tmp_path, text)) == (
        "records server utc left_out=1\n"
        "a ok | 250 252.5 260 290 | 2.5 10 40 | 100 3 -\n"
        "c failed | 500 501 505 510 | 1 5 10 | 7 1 -"
    )


def test_a_duration_without_a_unit_is_no_duration(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"request_id": "a", "ttft": 812, "latency": 1200, "prompt_tokens": 4}\n')
    assert not is_request_log(path)


def test_times_of_another_clock_than_the_arrival_are_left_out(tmp_path):
    record = {"rid": "a", "arrival_time": 1800000000, "first_token_ts": 5321.5, "e2e_ms": 50, "prompt_tokens": 4}
    assert show(read(tmp_path, json.dumps([record]))) == (
        "records client utc left_out=0\na ok | 0 - - 50 | - - 50 | 4 - -"
    )


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"finish_reason": "length"}, "ok"),
        ({"status": 200}, "ok"),
        ({"status": "success", "error": ""}, "ok"),
        ({"status": "timeout"}, "failed"),
        ({"status": "timed_out"}, "failed"),
        ({"status": "Rejected"}, "failed"),
        ({"status": "HTTP 503"}, "failed"),
        ({"status": 429}, "failed"),
        ({"finish_reason": "abort"}, "aborted"),
        ({"status": "client disconnected"}, "aborted"),
        ({"error": "out of memory"}, "failed"),
    ],
)
def test_how_a_request_ended(tmp_path, said, status):
    record = {"rid": "a", "ttft_ms": 5, "output_tokens": 3} | said
    assert read(tmp_path, json.dumps(record)).requests[0].status == status


def test_a_span_with_the_type_of_an_error_failed(tmp_path):
    log = read(tmp_path, document(span("llm_request", 0, 9, error__type="timeout")))
    assert [one.status for one in log.requests] == ["failed"]


@pytest.mark.parametrize("second", [1, 10**3, 10**6, 10**9])
def test_numbers_of_a_clock_of_unknown_unit_are_no_times(tmp_path, second):
    """12 days after a start: as us since 1970 such ns would make a request of 2 s last 2,000 s."""
    begin = 12 * 86_400 * second
    record = {"rid": "a", "start_time": begin, "first_token_time": begin + second, "ttft_ms": 5, "output_tokens": 3}
    assert show(read(tmp_path, json.dumps(record))) == (
        "records client none left_out=0\na ok | - - - - | - 5 - | - 3 -"
    )
    named = {"rid": "a", "start_time_ns": 10**15, "end_time_ns": 10**15 + 2000 * SECOND, "output_tokens": 3}
    assert show(read(tmp_path, json.dumps(named))) == (
        "records client own left_out=0\na ok | 1e+09 - - 1.002e+09 | - - 2e+06 | - 3 -"
    )


@pytest.mark.parametrize("second", [1, 10**3, 10**6, 10**9])
def test_times_since_1970_are_of_the_unit_that_fits(tmp_path, second):
    begin = 1_800_000_000 * second
    record = {"rid": "a", "start_time": begin, "end_time": begin + 2 * second, "output_tokens": 3}
    assert show(read(tmp_path, json.dumps(record))) == (
        "records client utc left_out=0\na ok | 0 - - 2000 | - - 2000 | - 3 -"
    )


def test_gaps_between_tokens_in_a_list(tmp_path):
    record = {"rid": "a", "ttft_ms": 5, "itl_ms": [1, 2.5], "output_tokens": 3}
    assert show(read(tmp_path, json.dumps(record))) == (
        "records client none left_out=0\na ok | - - - - | - 5 8.5 | - 3 - | 5 6 8.5"
    )


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (document(span("GET /health", 0, 1)), "1 spans, none of them of a request"),
        ('{"experiments": [{"experiment": {', "damaged export of GenAI-Perf"),
        ('[{"rid": "a", "ttft_ms": 5, "output_tokens": 3}', "damaged list of JSON objects"),
        ("Finish: obj=GenerateReqInput(rid='b'), out={'te", "tells of none that can be read"),
    ],
)
def test_a_log_without_requests_says_what_to_do(tmp_path, content, error):
    with pytest.raises(UnusableTrace, match=error):
        read(tmp_path, content)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "step,loss\n1,2\n",
        '{"traceEvents": []}',
        '{"step": 1, "loss": 2.0, "step_time_ms": 5}\n',
        '{"request_id": "a", "duration_ms": 5, "path": "/"}\n',
        "\x00\x01",
        "[" * 50_000,
    ],
)
def test_what_is_no_log_of_requests(tmp_path, content):
    path = tmp_path / "x"
    path.write_text(content)
    assert not is_request_log(path)
    with pytest.raises(UnknownFormat):
        read_request_log(path)


HOSTILE = [
    document(span("llm_request", 0, 101, **VLLM)),
    json.dumps(BENCH | {"start_times": [1.0, 2.0]}),
    json.dumps({"rid": "a", "arrival_time": 1800000000, "ttft_ms": 5, "itl_ms": [1, 2.5], "output_tokens": 3}),
    json.dumps({"metadata": {"request_start_ns": START}, "metrics": {"ttft": {"value": 20.0, "unit": "ms"}}}),
    "rid,arrival_time,ttft_ms,output_tokens\na,1800000000,5,3\n",
]
ODD = [
    b"1e999",
    b"-1",
    b"null",
    b"[]",
    b"{}",
    b'"x"',
    b"99999999999999999999999",
    b"\xff\xfe",
    b"NaN",
    b"",
    b"[" * 3000,
]


@given(st.sampled_from(HOSTILE), st.data())
def test_damage_is_an_error_or_leaves_requests_that_can_be(tmp_path_factory, content, data):
    """Any piece replaced by anything: what is read is in order, or the file is refused with traceq's own error."""
    raw = content.encode()
    begin = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(begin, min(len(raw), begin + 40)))
    odd = data.draw(st.sampled_from(ODD) | st.binary(max_size=8))
    path = tmp_path_factory.mktemp("odd") / "log"
    path.write_bytes(raw[:begin] + odd + raw[end:])
    try:
        log = read_request_log(path)
    except (UnknownFormat, UnusableTrace):
        return
    for one in log.requests:
        times = [at for at in (one.arrival_ns, one.scheduled_ns, one.end_ns) if at is not None]
        assert times == sorted(times)
        assert all(each is None or each >= 0 for each in (one.queue_ns, one.ttft_ns, one.e2e_ns, *times))
        assert list(one.token_ns) == sorted(one.token_ns)
