"""The shape of what changed in a job; differences are the new job less the base, ns per step, so that more is worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from traceq.runs.job.job import JobStraggler

UnitKind = Literal["rank", "host", "stage"]


@dataclass(frozen=True)
class UnitChange:
    """What a rank, or the mean rank of a host or stage, takes of a step on both sides: its own time, and waiting for others.

    `interval_ns` holds the true change of its own time, None where steps are too few to tell. The costs are what the job would
    save if this one were as usual (of ranks that hide each other what it adds when those before it are fixed), None where a side
    was not judged. `moved` says that what it costs changed the way the step did, and its own time more than that of the others
    (`beyond_ns`, with the same interval moved by that of the usual rank).
    """

    kind: UnitKind
    name: str
    ranks: tuple[int, ...]
    base_own_ns: int
    new_own_ns: int
    own_delta_ns: int
    interval_ns: tuple[int, int] | None
    beyond_ns: int
    base_wait_ns: int
    new_wait_ns: int
    base_cost_ns: int | None
    new_cost_ns: int | None
    moved: bool

    @property
    def is_sure(self) -> bool:
        """Whether its own time surely changed."""
        return self.interval_ns is not None and not self.interval_ns[0] <= 0 <= self.interval_ns[1]

    @property
    def cost_delta_ns(self) -> int | None:
        """By how much more it costs the job; None where a side was not judged."""
        if self.base_cost_ns is None or self.new_cost_ns is None:
            return None
        return self.new_cost_ns - self.base_cost_ns


@dataclass(frozen=True)
class JobSide:
    """A side: how many jobs, which ranks, and what they would take with usual ranks; None, with the reason, if not judged.

    Of several jobs numbers are means over them; `ranks` are in all of them. `dur_ns` and `ideal_ns` are per step.
    """

    jobs: int
    ranks: tuple[int, ...]
    world_size: int | None
    hosts: int
    dur_ns: int | None
    ideal_ns: int | None
    slowdown: float | None
    patterns: tuple[str, ...]
    cannot_tell: tuple[str, ...]
    is_aligned: bool


@dataclass(frozen=True)
class JobChange:
    """What changed in a job: `units` are ranks, hosts and stages that are on both sides, those that moved the step first.

    `usual_delta_ns` is by how much the own time of the median rank changed. Ranks that only one side has are no changes. `shown`
    is the rank whose trace is compared in full.
    """

    base: JobSide
    new: JobSide
    usual_delta_ns: int
    units: tuple[UnitChange, ...]
    only_base: tuple[int, ...]
    only_new: tuple[int, ...]
    stragglers_gone: tuple[JobStraggler, ...]
    stragglers_new: tuple[JobStraggler, ...]
    shown: int | None = None

    @property
    def moved(self) -> tuple[UnitChange, ...]:
        """Whose change moved the step."""
        return tuple(each for each in self.units if each.moved)
