"""Requests to a server, as logs beside the trace tell of them."""

from __future__ import annotations

import msgspec


class RequestLogFacts(msgspec.Struct, frozen=True):
    """A log of requests. `side` is server or client; `captured` requests overlap the captured steps.

    `queue_share` is the share of the queue in the time to first token of the requests from its 95th percentile on; None where
    the log does not say how long they queued. `decode_ns` is the captured time of requests after their first token, `delay_ns`
    what prompts of others added to it.
    """

    log_id: int
    file: str
    format: str
    side: str
    requests: int
    failed: int
    aborted: int
    left_out: int
    is_placed: bool
    reason: str
    captured: int
    ttft_p95_ns: float | None
    queue_share: float | None
    decode_ns: int | None
    delay_ns: int | None


class RequestQuantity(msgspec.Struct, frozen=True):
    """Percentiles of a quantity (queue, ttft, tpot, inter_token, e2e) over the requests of a log, ns."""

    log_id: int
    quantity: str
    requests: int
    mean_ns: float
    p50_ns: float
    p90_ns: float
    p95_ns: float
    p99_ns: float
    longest_ns: float


class SlowestRequest(msgspec.Struct, frozen=True):
    """The captured request with the most of a quantity (ttft, tpot, e2e), where its time in captured steps went.

    `is_whole` says whether captured steps cover it from arrival to end. Times of GPUs (their mean) are of the time to first
    token, of that after it, or of all of it.
    """

    quantity: str
    request_number: int
    request_id: str | None
    dur_ns: float
    is_whole: bool
    steps: int
    queue_ns: int | None
    prefill_ns: int | None
    decode_ns: int
    beside_prefill_ns: int
    delay_ns: int
    compute_ns: int
    communication_ns: int
    copy_ns: int
    idle_ns: int


class SlowStep(msgspec.Struct, frozen=True):
    """A step of the request with the slowest tokens, with what the GPUs did in it (their mean)."""

    step: int
    kind: str | None
    dur_ns: int
    prefill_tokens: int | None
    decode_requests: int | None
    compute_ns: int
    communication_ns: int
    idle_ns: int


class Requests(msgspec.Struct, frozen=True):
    """Percentiles over the requests of each log, the slowest captured requests, and the longest steps of one of them."""

    quantities: tuple[RequestQuantity, ...]
    slowest: tuple[SlowestRequest, ...]
    slow_steps: tuple[SlowStep, ...]
