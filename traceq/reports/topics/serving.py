"""Steps of a model server."""

from __future__ import annotations

import msgspec


class ServingSummary(msgspec.Struct, frozen=True):
    """All steps of a server; `dialects` names the servers that write such annotations, None without steps.

    Rates are per second of `dur_ns`. `earlier_work_ns` is how long the GPU first works on launches from before the
    capture, None if nothing shows such work.
    """

    dialects: str | None = None
    steps: int = 0
    dur_ns: int = 0
    prefill_steps: int = 0
    decode_steps: int = 0
    mixed_steps: int = 0
    token_p50_ns: float | None = None
    token_p95_ns: float | None = None
    token_p99_ns: float | None = None
    new_tokens_per_second: float | None = None
    output_tokens_per_second: float | None = None
    host_gap_ns: int | None = None
    gpu_gap_ns: int | None = None
    earlier_work_ns: int | None = None


class ServingBatch(msgspec.Struct, frozen=True):
    """Steps of a server of one kind, with least_requests to most_requests requests; percentiles of durations, ns."""

    dialect: str
    kind: str | None
    least_requests: int | None
    most_requests: int | None
    steps: int
    dur_ns: int
    p50_ns: float
    p95_ns: float
    p99_ns: float
    token_p50_ns: float | None
    token_p95_ns: float | None
    token_p99_ns: float | None
    new_tokens_per_second: float | None
    output_tokens_per_second: float | None
    gpu_busy_share: float | None
    host_gap_p50_ns: float | None
    gpu_gap_p50_ns: float | None


class ServingStall(msgspec.Struct, frozen=True):
    """Waits of decoding requests for prompts of others: in steps of prompts only (cause prefill) or in mixed steps (mixed)."""

    cause: str
    stalls: int
    dur_ns: int
    longest_ns: int
    longest_step: int
    most_waiting_requests: int


class ServingRoofline(msgspec.Struct, frozen=True):
    """The least time of decode steps, in which weights and KV cache are read; medians.

    `reason` says why it is unknown.
    """

    reason: str | None
    steps: int
    p50_ns: float
    least_p50_ns: float | None
    roofline_share: float | None
    weight_bytes: int | None
    steps_with_kv: int


class Serving(msgspec.Struct, frozen=True):
    """The steps of a model server: summary, batches, stalls and roofline."""

    summary: ServingSummary
    batches: tuple[ServingBatch, ...]
    stalls: tuple[ServingStall, ...]
    roofline: tuple[ServingRoofline, ...]
