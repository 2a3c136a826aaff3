"""The report on hot kernels as plain data."""

from __future__ import annotations

import msgspec

from traceq.reports.topics.kernels import ReportedKernel


class HotKernel(msgspec.Struct, frozen=True):
    """A kernel of the counted steps with one launch geometry; None where the trace does not tell.

    `reachable_share` is the time that libraries reach for its operators, as a share of the time that they took.
    """

    name: str
    grid_x: int | None
    grid_y: int | None
    grid_z: int | None
    block_x: int | None
    block_y: int | None
    block_z: int | None
    family: str
    kernels: int
    kernels_per_step: float
    dur_ns: int
    kernel_share: float | None
    mean_ns: float
    operator: str | None
    reachable_share: float | None


class ProfilerCommand(msgspec.Struct, frozen=True):
    """A command line to type, and what it is for."""

    purpose: str
    command: str


class HotKernels(msgspec.Struct, frozen=True):
    """The kernels with most time, those that a profiler reported on, and commands that run a profiler on them.

    `other_share` of the kernels' time is of others; None where nothing is known of it. `left_out` are kernels that no command
    names, as their names hold no word that a profiler filters by. `about` says what a report is that was read without a trace:
    the times of `reported` are then its own.
    """

    source: str
    steps: int
    hot: tuple[HotKernel, ...]
    other_share: float | None
    reported: tuple[ReportedKernel, ...]
    commands: tuple[ProfilerCommand, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    about: str | None = None
