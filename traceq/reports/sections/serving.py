"""The words about a server's steps: their time by kind and batch, and what makes requests wait for their next token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.units import count, duration, maybe, rate, share, size, some
from traceq.reports.document import Block, Heading, Items, Paragraph, Query, Spans, Table, make_table
from traceq.reports.model import TraceReport
from traceq.reports.topics.serving import ServingBatch, ServingRoofline, ServingStall, ServingSummary

_DIALECTS = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tensorrt_llm": "TensorRT-LLM",
    "atom": "ATOM",
    "diffusion": "diffusion",
}
_STALLS = {
    "prefill": "prompt-only steps ran before the next step that decodes",
    "mixed": "steps also computed prompts, and took longer than decode steps of their size",
}


def describe_serving(report: TraceReport) -> Iterator[Block]:
    """Yield the section on serving; nothing if no step is a server's."""
    facts = report.topics.serving
    if not facts.summary.steps:
        return
    yield Heading(3, ("Serving",))
    yield Paragraph(_write_headline(facts.summary))
    yield Query(report.queries["serving"])
    yield _batch_table(facts.batches)
    yield Query(report.queries["serving_batches"])
    remarks = tuple(_list_remarks(report))
    if remarks:
        yield Items(remarks)
    for name, rows in (("serving_stalls", facts.stalls), ("serving_roofline", facts.roofline)):
        if rows:
            yield Query(report.queries[name])


def _write_headline(summary: ServingSummary) -> Spans:
    names = ", ".join(_DIALECTS.get(each, each) for each in (summary.dialects or "").split(", "))
    kinds = {"prefill": summary.prefill_steps, "decode": summary.decode_steps, "mixed": summary.mixed_steps}
    parts = [f"{count(number)} {kind}" for kind, number in kinds.items() if number]
    told = f": {', '.join(parts)}" if parts else ""
    text = (
        f"{some(summary.steps, 'step')} of a server in {duration(summary.dur_ns)}, found by annotations like "
        f"those of {names}{told}."
    )
    if summary.output_tokens_per_second is not None and summary.new_tokens_per_second is not None:
        text += (
            f" In all, {rate(summary.output_tokens_per_second)} output tokens per second, and "
            f"{rate(summary.new_tokens_per_second)} computed tokens, including prompts."
        )
    if summary.token_p50_ns is not None:
        text += f" A step gives each decoding request its next token after {duration(summary.token_p50_ns)}"
        text += (
            f" (p50), {duration(summary.token_p95_ns)} (p95), {duration(summary.token_p99_ns)} (p99)."
            if summary.steps > 1
            else "."
        )
    return (text,)


def _batch_table(rows: Sequence[ServingBatch]) -> Table:
    return make_table(
        rows,
        {
            "kind": lambda each: each.kind or "unknown",
            "requests": _format_requests,
            "steps": lambda each: count(each.steps),
            "p50": lambda each: duration(each.p50_ns),
            "p95": lambda each: duration(each.p95_ns),
            "p99": lambda each: duration(each.p99_ns),
            "tokens/s": lambda each: maybe(rate, each.new_tokens_per_second),
            "output tokens/s": lambda each: maybe(rate, each.output_tokens_per_second),
            "GPU busy": lambda each: share(each.gpu_busy_share),
            "GPU gap before": lambda each: maybe(duration, each.gpu_gap_p50_ns),
        },
    )


def _format_requests(batch: ServingBatch) -> str:
    least, most = batch.least_requests, batch.most_requests
    if least is None:
        return "-"
    return count(least) if least == most else f"{count(least)} to {count(most)}"


def _list_remarks(report: TraceReport) -> Iterator[Spans]:
    facts = report.topics.serving
    total = facts.summary.dur_ns
    if facts.summary.earlier_work_ns:
        earlier = facts.summary.earlier_work_ns
        text = (
            f"{duration(earlier)} ({share(earlier / total)} of the steps) are spent waiting for work launched "
            "before the capture"
        )
        yield (f"{text}: this is part of the durations above, but says nothing about the server.",)
    for stall in facts.stalls:
        yield (_describe_stall(stall, total),)
    if facts.summary.gpu_gap_ns:
        gap = facts.summary.gpu_gap_ns
        host = facts.summary.host_gap_ns
        between = "" if host is None else f"; the host spends {duration(host)} between steps"
        text = f"Between the GPU work of one step and the next, the GPU has nothing to do for {duration(gap)}"
        yield (f"{text} ({share(gap / total)} of the steps){between}.",)
    for roofline in facts.roofline:
        yield (_describe_roofline(roofline),)


def _describe_stall(stall: ServingStall, total: int) -> str:
    return (
        f"Decoding requests waited {duration(stall.dur_ns)} ({share(stall.dur_ns / total)} of the steps) for prompts of"
        f" others, {some(stall.stalls, 'time')}: {_STALLS[stall.cause]}."
        f" The longest wait took {duration(stall.longest_ns)}, in step {stall.longest_step}."
    )


def _describe_roofline(roofline: ServingRoofline) -> str:
    if roofline.least_p50_ns is None or roofline.weight_bytes is None:
        return f"The least time of {some(roofline.steps, 'decode step')} is not known: {roofline.reason}."
    cache = "weights and KV cache" if roofline.steps_with_kv else "weights (the KV cache is not known)"
    return (
        f"In a decode step, reading {cache} takes at least {duration(roofline.least_p50_ns)}, "
        f"{share(roofline.roofline_share)} of its {duration(roofline.p50_ns)} (medians); weights with recorded "
        f"shapes have {size(roofline.weight_bytes)}."
    )
