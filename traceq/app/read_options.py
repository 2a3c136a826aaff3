"""Options on how the use cases read their sources, and which of the runs in them they take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from traceq.loading.options import TraceOptions

if TYPE_CHECKING:
    from traceq.runs.statistics import Statistic

# Known noise between runs: a share of the step (0.008, "0.8%"), or the name or file of a baseline.
KnownNoiseOf = float | str | Path


@dataclass(frozen=True)
class ReadOptions(TraceOptions):
    """Options for reading sources: traces, databases and baselines.

    What is said about traces is for traces only: a database is fixed. Without `cache` a trace is ingested into a temporary
    database. `writes` are the files that are going to be written, none of which may be one that is read.
    """

    cache: bool = True
    writes: tuple[Path, ...] = ()

    def with_writes(self, *paths: Path | None) -> Self:
        """Add files that the use case is going to write; None stands for none."""
        return replace(self, writes=(*self.writes, *(path for path in paths if path is not None)))


AS_FOUND = ReadOptions()


class Which(NamedTuple):
    """The rank, or the trace by its trace_id, to take where runs are compared; the lowest rank where neither is named."""

    rank: int | None = None
    trace: int | None = None

    @property
    def is_named(self) -> bool:
        """Return whether the user chose a rank or a trace."""
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
