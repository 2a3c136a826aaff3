"""The shape of a job: its steps over all ranks, and what each rank takes of one.

All is per counted step and bounded by ranks and steps, so that a baseline can hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class JobStep:
    """A step over all ranks, ns on their common clock; `excluded` says why it does not count.

    `dur` is from when the first rank begins it, or the last one has ended the step before, to when the last one ends it. `ledger`
    is what a step of the ranks holds in the mean; the rest of `dur` is told by none.
    """

    step: int
    name: str
    dur: int
    excluded: str | None
    ledger: Mapping[str, int]


@dataclass(frozen=True)
class RankOfRun:
    """The mean time of a rank in a step, ns: its own time, transfer and waiting, as in the table job_rank.

    `error_ns` is the standard error of `own_ns` by its steps, None of fewer than two. `win_ns` is what the step would save if
    this rank were as usual, None where the job could not be judged.
    """

    rank: int
    host: str | None
    stage: int | None
    own_ns: int
    error_ns: float | None
    transfer_ns: int
    wait_ns: int
    win_ns: int | None


@dataclass(frozen=True)
class JobStraggler:
    """Who holds the job up, as in the table straggler; times are ns per step."""

    kind: str
    name: str
    ranks: tuple[int, ...]
    adds_ns: int
    win_ns: int
    cause: str | None


@dataclass(frozen=True)
class JobOfRun:
    """One time window of a job.

    `steps_told` is how many steps `dur` and `ideal`, ns, are about. `slowdown` is None, and `cannot_tell` says why, where it
    could not be judged who is late. `is_aligned` says whether the clocks of all ranks could be brought together: steps are the
    longest of any rank else. `sha256` is of those of all its traces.
    """

    name: str | None
    sha256: str
    world_size: int | None
    steps: tuple[JobStep, ...]
    steps_told: int
    dur: int | None
    ideal: int | None
    slowdown: float | None
    pattern: str | None
    cannot_tell: str | None
    claim_limit: int | None
    is_aligned: bool
    ranks: tuple[RankOfRun, ...]
    stragglers: tuple[JobStraggler, ...]
