"""Options on how the use cases read their sources, and which of the runs in them they take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from msgspec.structs import replace

from traceq.loading.options import Paths, TraceOptions

if TYPE_CHECKING:
    from traceq.loading.monitors import MonitorLogs
    from traceq.runs.statistics import Statistic

# Known noise between runs: a share of the step (0.008, "0.8%"), or the name or file of a baseline.
KnownNoiseOf = float | str | Path


class ReadOptions(TraceOptions, frozen=True):
    """Options for reading sources: traces, databases and baselines.

    Options of TraceOptions only apply to traces. Without `cache` a trace is ingested into a temporary database.
    `writes` are the files that will be written, which must not be among those that are read. `logs` are logs and memory
    snapshots beside the traces, `offset` the seconds to add to their times, `log_formats` files that declare formats of
    training logs.
    """

    cache: bool = True
    writes: tuple[Path, ...] = ()
    logs: Paths = ()
    offset: float | None = None
    log_formats: Paths = ()

    @property
    def logs_beside(self) -> MonitorLogs:
        """Logs and memory snapshots that lie beside the traces."""
        from traceq.loading.monitors import MonitorLogs
        from traceq.loading.sources import paths_of

        return MonitorLogs(
            tuple(map(Path, paths_of(self.logs))), self.offset, tuple(map(Path, paths_of(self.log_formats)))
        )

    def with_writes(self, *paths: Path | None) -> Self:
        """Return the options with further files that will be written; None is ignored."""
        return replace(self, writes=(*self.writes, *(path for path in paths if path is not None)))


AS_FOUND = ReadOptions()


class Which(NamedTuple):
    """The choice of a rank, or of a trace by trace_id, where runs are compared; without either the lowest rank."""

    rank: int | None = None
    trace: int | None = None

    @property
    def is_named(self) -> bool:
        """Whether the user chose a rank or a trace."""
        return self != LOWEST


LOWEST = Which()


class CompareOptions(NamedTuple):
    """The statistics of a comparison; traceq.app.api.compare describes each."""

    level: float = 0.02
    floor_share: float = 0.01
    sensitivity_share: float = 0.05
    statistic: Statistic = "typical"
    noise: KnownNoiseOf | None = None
    anyway: bool = False


USUAL = CompareOptions()
