"""The shape of a job: its steps over all ranks, and what each rank takes of one.

All is per counted step and bounded by ranks and steps, so that a baseline can hold it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class JobStep(msgspec.Struct, frozen=True):
    """A step of all ranks together, ns on their common clock; `excluded` says why it does not count, None if it does.

    `dur` begins when the first rank begins the step, or when the last one ended the step before, and ends when the last
    rank ends it. `ledger` is the mean of the ranks' ledgers; it may add up to less than `dur`.
    """

    step: int
    name: str
    dur: int
    excluded: str | None
    ledger: Mapping[str, int]


class RankOfRun(msgspec.Struct, frozen=True):
    """A rank's mean time per step, ns: its own work, transfers, and waiting, as in the table job_rank.

    `error_ns` is the standard error of `own_ns`; None with fewer than two steps. `win_ns` is what the step would save
    if this rank were as usual; None where the job could not be judged.
    """

    rank: int
    host: str | None
    stage: int | None
    own_ns: int
    error_ns: float | None
    transfer_ns: int
    wait_ns: int
    win_ns: int | None


class JobStraggler(msgspec.Struct, frozen=True):
    """A rank, host or stage that holds the job up, as in the table straggler; times are ns per step."""

    kind: str
    name: str
    ranks: tuple[int, ...]
    adds_ns: int
    win_ns: int
    cause: str | None


class JobOfRun(msgspec.Struct, frozen=True):
    """One time window of a job of several ranks.

    `steps_told` is the number of steps that `dur` and `ideal` (ns) cover. `slowdown` is None where late ranks could not
    be judged; `cannot_tell` says why. `is_aligned`: the clocks of all ranks could be aligned; otherwise a step is the
    longest of any rank. `sha256` is a digest over those of all its traces.
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
