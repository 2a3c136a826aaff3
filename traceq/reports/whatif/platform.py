"""The answer to a what-if about another GPU or more ranks, as plain data. Times are ns per counted step."""

from __future__ import annotations

import msgspec

from traceq.reports.whatif.answer import TimePart


class PlatformPart(msgspec.Struct, frozen=True):
    """GPU work that changes by the same rule (`part`): how many slices a step, and their ns per step now and then."""

    part: str
    slices: float
    dur_ns: float
    low_ns: float
    likely_ns: float
    high_ns: float


class PlatformGroup(msgspec.Struct, frozen=True):
    """A process group: its axis of parallelism, its ranks now and then, and its collectives in the trace."""

    group: str | None
    axis: str | None
    ranks: int | None
    ranks_then: int | None
    collectives: int


class PlatformCost(msgspec.Struct, frozen=True):
    """The work of a step in things of a kind (`what`: token, sample), their number, and the ns for one of them now and then."""

    what: str
    per_step: float
    now_ns: float
    low_ns: float
    likely_ns: float
    high_ns: float


class PlatformAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The prediction for the steps of one trace on another GPU, among another number of ranks, or both.

    `gpu` is None where the trace's GPU is not known, which only more ranks allow. `after_ns` is the likely step with its
    bounds, None where nothing can be told, as `reason` says; `replayed_ns` is the step as replayed with nothing changed.
    `parts` are the work of the GPU by what limits it, `limits_before` and `limits` the critical path now and then.
    """

    trace_id: int
    file: str
    rank: int | None
    steps: int
    gpu: str | None
    gpu_then: str | None
    gpu_might_be: tuple[str, ...] = ()
    ranks: int | None = None
    ranks_then: int | None = None
    host_factor_low: float = 1.0
    host_factor_high: float = 1.0
    recorded_ns: float | None = None
    replayed_ns: float | None = None
    after_low_ns: float | None = None
    after_ns: float | None = None
    after_high_ns: float | None = None
    error_share: float | None = None
    unexplained_share: float | None = None
    reason: str | None = None
    parts: tuple[PlatformPart, ...] = ()
    groups: tuple[PlatformGroup, ...] = ()
    costs: tuple[PlatformCost, ...] = ()
    limits_before: tuple[TimePart, ...] = ()
    limits: tuple[TimePart, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def host_share(self) -> float | None:
        """Share of the likely step in which the GPU would wait for the host."""
        return _share_of_host(self.limits)

    @property
    def host_share_before(self) -> float | None:
        """Share of the replayed step in which the GPU waits for the host."""
        return _share_of_host(self.limits_before)


# Idle time that no work of the host causes, or none that is known.
_NOT_HOST = ("idle_dependency", "idle_earlier_work", "idle_launch_latency", "idle_unattributed")


def _share_of_host(limits: tuple[TimePart, ...]) -> float | None:
    whole = sum(part.dur_ns for part in limits)
    waits = sum(part.dur_ns for part in limits if part.name.startswith("idle_") and part.name not in _NOT_HOST)
    return waits / whole if whole else None
