"""Plain records of a report of a kernel profiler."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

Size = tuple[int, int, int]


class ReportedStall(msgspec.Struct, frozen=True):
    """Why warps did not issue: `share` of the time that they were there (0..1), `cycles` per issued instruction or wave."""

    reason: str
    share: float | None
    cycles: float | None


class ReportedLaunch(msgspec.Struct, frozen=True):
    """A profiled launch, or `launches` of them of which `values` are means; None for what the report does not tell.

    `values` are by column of the table kernel_report: shares (0..1), ns, bytes, Hz, numbers.
    """

    kernel: str
    page: str
    launch_id: int | None = None
    launches: int = 1
    grid: Size | None = None
    block: Size | None = None
    device: int | None = None
    compute_capability: str | None = None
    limiter: str | None = None
    values: Mapping[str, float] = {}
    stalls: tuple[ReportedStall, ...] = ()


class ReportFile(msgspec.Struct, frozen=True):
    """The launches in a file; `rows_left_out` and `values_left_out` could not be read, `not_measured` values are n/a."""

    tool: str
    version: str | None
    launches: tuple[ReportedLaunch, ...]
    rows_left_out: int = 0
    values_left_out: int = 0
    not_measured: int = 0
