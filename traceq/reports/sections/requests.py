"""The words about requests to a server: how long they wait and for what, with what the GPU did in the slowest one's steps."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import count, duration, maybe, share, some
from traceq.reports.document import Block, Heading, Items, Name, Paragraph, Query, Spans, make_table
from traceq.reports.model import TraceReport
from traceq.reports.topics.requests import RequestLogFacts, SlowestRequest

_LABELS = {
    "queue": "queue",
    "ttft": "time to first token",
    "tpot": "time per output token",
    "inter_token": "between tokens",
    "e2e": "to the last token",
}
_SLOWEST = {"ttft": "Slowest to its first token", "tpot": "Slowest per token", "e2e": "Slowest in all"}
# Fewer requests have no 95th percentile to speak of: it is little more than the slowest one.
_FEWEST = 20


def describe_requests(report: TraceReport) -> Iterator[Block]:
    """Yield the section on requests: percentiles of each log, and the slowest captured ones; nothing without a log."""
    if not report.request_logs:
        return
    facts = report.topics.requests
    yield Heading(3, ("Requests",), anchor="requests")
    for log in report.request_logs:
        yield Paragraph(_write_log(log))
        rows = [row for row in facts.quantities if row.log_id == log.log_id]
        if rows:
            yield make_table(
                rows,
                {
                    "of a request": lambda row: _LABELS[row.quantity],
                    "number": lambda row: count(row.requests),
                    "mean": lambda row: duration(row.mean_ns),
                    "p50": lambda row: duration(row.p50_ns),
                    "p90": lambda row: duration(row.p90_ns),
                    "p95": lambda row: duration(row.p95_ns),
                    "p99": lambda row: duration(row.p99_ns),
                    "longest": lambda row: duration(row.longest_ns),
                },
            )
        if delay := _write_delay(log):
            yield Paragraph(delay)
    yield Query(report.queries["request_quantities"])
    if facts.slowest:
        yield Items(tuple(_write_slowest(request) for request in facts.slowest))
        yield Query(report.queries["slowest_requests"])
    if facts.slow_steps:
        yield Paragraph(("The longest steps of the one that is slowest per token:",))
        yield make_table(
            facts.slow_steps,
            {
                "step": lambda row: str(row.step),
                "kind": lambda row: row.kind or "unknown",
                "time": lambda row: duration(row.dur_ns),
                "prompt tokens": lambda row: maybe(count, row.prefill_tokens),
                "decoding": lambda row: maybe(count, row.decode_requests),
                "GPU computes": lambda row: duration(row.compute_ns),
                "communicates": lambda row: duration(row.communication_ns),
                "idle": lambda row: duration(row.idle_ns),
            },
        )
        yield Query(report.queries["slow_request_steps"])


def summarize_requests(report: TraceReport) -> Iterator[Block]:
    """Yield a line on the time to first token, and how much of it is the queue; nothing without a log that tells of it."""
    logs = [log for log in report.request_logs if log.ttft_p95_ns is not None]
    for log in sorted(logs, key=lambda row: (row.queue_share is None, not row.is_placed, row.log_id))[:1]:
        yield Paragraph((f"{_write_first_token(log)}.",))


def _write_first_token(log: RequestLogFacts) -> str:
    """Return a clause on the 95th percentile of the time to first token, and the share of the queue in it."""
    about = f"p95 time to first token {maybe(duration, log.ttft_p95_ns)} over {some(log.requests, 'request')}"
    if log.queue_share is None:
        return f"{about}; how much of it is the queue the log does not say"
    which = "the slowest of them spends" if log.requests < _FEWEST else "those at or beyond it spend"
    return f"{about}; {which} {share(log.queue_share)} of it in the queue"


def _write_log(log: RequestLogFacts) -> Spans:
    ended = [
        f"{count(number)} {word}"
        for number, word in ((log.failed, "failed"), (log.aborted, "aborted"), (log.left_out, "could not be read"))
        if number
    ]
    told = f" ({', '.join(ended)}, which do not count below)" if ended else ""
    if not log.is_placed:
        where = f"They are not placed on the clock of the trace: {log.reason}."
    elif log.captured:
        where = f"{some(log.captured, 'request')} overlap{'s' if log.captured == 1 else ''} the captured steps."
    else:
        where = "None of them overlaps a captured step of a server."
    network = ", so that times include the network" if log.side == "client" else ""
    return (
        Name(log.file),
        f": {some(log.requests, 'request')}{told}, as the {log.side} measured{network}. {where}",
    )


def _write_delay(log: RequestLogFacts) -> Spans:
    """Return a sentence on what prompts of others cost the captured requests; nothing where they cost nothing."""
    if not log.delay_ns or not log.decode_ns:
        return ()
    return (
        (
            f"After their first token, captured requests spend {share(log.delay_ns / log.decode_ns)} of their time in steps"
            " waiting for prompts of others (steps that only compute prompts, and what mixed steps take beyond decode steps of"
            " their size)."
        ),
    )


def _write_slowest(request: SlowestRequest) -> Spans:
    """Return a sentence on where the time of the slowest request went, and what the GPUs did meanwhile."""
    where = [
        f"{duration(part)} {words}"
        for part, words in (
            (request.queue_ns, "in the queue"),
            (request.prefill_ns, "computing its prompt"),
            (request.decode_ns, "decoding"),
            (request.beside_prefill_ns, "decoding beside prompts of others"),
        )
        if part
    ]
    delayed = f" (which cost it {duration(request.delay_ns)})" if request.delay_ns and request.beside_prefill_ns else ""
    total = request.compute_ns + request.communication_ns + request.copy_ns + request.idle_ns
    parts = [
        f"{words} {share(part / total)}"
        for part, words in (
            (request.compute_ns, "computes"),
            (request.communication_ns, "communicates"),
            (request.copy_ns, "copies"),
            (request.idle_ns, "is idle"),
        )
        if total and part
    ]
    span = {"ttft": "until its first token", "tpot": "after its first token"}.get(request.quantity, "meanwhile")
    gpu = f" The GPU, {span}: {', '.join(parts)}." if parts else ""
    whole = "" if request.is_whole else " The capture holds only a part of it."
    name = (Name(request.request_id),) if request.request_id else (f"request {request.request_number}",)
    return (
        f"{_SLOWEST[request.quantity]}: ",
        *name,
        (
            f", {duration(request.dur_ns)}. In {some(request.steps, 'step')}: {', '.join(where) or 'no time'}{delayed}."
            f"{gpu}{whole}"
        ),
    )
