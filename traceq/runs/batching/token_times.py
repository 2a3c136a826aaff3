"""Percentiles of the time to first token and between tokens, of schedules and of recorded steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traceq.runs.batching.limit_study import QUANTITIES, LimitQuantity, ReplayedQuantity
from traceq.runs.batching.recording import RequestJob, ServerRecording, StepRecord
from traceq.runs.batching.schedule import Schedule, TokenGap

_NS_PER_S = 1e9


def measure_schedule(schedule: Schedule) -> dict[LimitQuantity, float]:
    """Return the quantities of a schedule: percentiles over requests and over tokens, and tokens by time from first to last."""
    return {
        **_rank_ttfts([ttft for ttft in schedule.ttfts if ttft is not None]),
        **_rank_gaps(schedule.gaps),
        "tokens_per_s": schedule.tokens * _NS_PER_S / max(schedule.end - schedule.begin, 1.0),
    }


def compare_replay(
    recording: ServerRecording, jobs: Sequence[RequestJob], schedules: Sequence[Schedule]
) -> tuple[ReplayedQuantity, ...]:
    """Return the quantities as recorded and as scheduled at the recorded limit, in the time of the captured steps.

    First tokens are compared over all scheduled requests whose log says when theirs came. Of the schedules the median is
    taken.
    """
    begin, end = recording.steps[0].begin, recording.steps[-1].end_ts
    per_s = _NS_PER_S / max(end - begin, 1)
    recorded: dict[LimitQuantity, float] = {
        **_rank_ttfts([job.ttft for job in jobs if job.ttft is not None]),
        **_rank_gaps(list_recorded_gaps(recording.steps)),
        "tokens_per_s": sum(step.decode_requests for step in recording.steps) * per_s,
    }
    scheduled: dict[LimitQuantity, list[float]] = {}
    for schedule in schedules:
        ttfts = zip(schedule.ttfts, jobs, strict=True)
        within = [gap for gap in schedule.gaps if begin <= gap.end <= end]
        values: dict[LimitQuantity, float] = {
            **_rank_ttfts([ttft for ttft, job in ttfts if ttft is not None and job.ttft is not None]),
            **_rank_gaps(within),
            "tokens_per_s": sum(gap.requests for gap in within) * per_s,
        }
        for quantity, value in values.items():
            scheduled.setdefault(quantity, []).append(value)
    return tuple(
        ReplayedQuantity(quantity, recorded[quantity], float(np.median(scheduled[quantity])))
        for quantity in QUANTITIES
        if quantity in recorded and quantity in scheduled
    )


def list_recorded_gaps(steps: Sequence[StepRecord]) -> list[TokenGap]:
    """Return the times between tokens as the recorded steps show them.

    The first one of a request is since the end of the step that computed the last part of its prompt.
    """
    gaps = []
    last: int | None = None
    # requests that may have had their first token since, and when
    fresh: list[tuple[int, int]] = []
    for step in steps:
        if step.decode_requests:
            left = step.decode_requests
            for requests, first in reversed(fresh):
                gaps.append(TokenGap(step.end_ts, step.end_ts - first, min(requests, left)))
                left -= min(requests, left)
            if last is not None:
                gaps.append(TokenGap(step.end_ts, step.end_ts - last, left))
            last = step.end_ts
            fresh.clear()
        if step.prefill_requests:
            fresh.append((step.prefill_requests, step.end_ts))
    return [gap for gap in gaps if gap.requests]


def _rank_ttfts(ttfts: Sequence[float]) -> dict[LimitQuantity, float]:
    """Return percentiles of times to first token; none without any."""
    if not ttfts:
        return {}
    p50, p95 = np.quantile(ttfts, [0.5, 0.95])
    return {"ttft_p50": float(p50), "ttft_p95": float(p95)}


def _rank_gaps(gaps: Sequence[TokenGap]) -> dict[LimitQuantity, float]:
    """Return percentiles of the time between tokens, each token counting once; none without any."""
    if not gaps:
        return {}
    times = np.array([gap.gap for gap in gaps])
    order = np.argsort(times, kind="stable")
    up_to = np.cumsum(np.array([gap.requests for gap in gaps])[order])
    places = np.searchsorted(up_to, np.array([0.5, 0.95, 0.99]) * up_to[-1])
    p50, p95, p99 = times[order][np.minimum(places, len(times) - 1)]
    return {"gap_p50": float(p50), "gap_p95": float(p95), "gap_p99": float(p99)}
