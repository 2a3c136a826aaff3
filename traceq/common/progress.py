"""The progress of an ingest, and callbacks for it."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class State(NamedTuple):
    """The progress of one trace: bytes read and rows made; then the current analysis, and the share of analyses done (0..1)."""

    read_bytes: int = 0
    rows: int = 0
    stage: str = ""
    share: float = 0.0


class Progress(Protocol):
    """A receiver of progress reports of an ingest; called from the calling thread only."""

    def start(self, total_bytes: int) -> None:
        """Begin an ingest of sources that have `total_bytes` on disk together."""

    def advance(self, read_bytes: int, rows: int) -> None:
        """Report the bytes read and the rows made so far."""

    def analyse(self, stage: str, share: float) -> None:
        """Report the analysis that runs now, after reading, and the share of analyses done (0..1)."""

    def judge(self) -> None:
        """Report that analyses are done and rules run now."""

    def pieces(self, made: int, total: int, read_bytes: int) -> None:
        """Report how many of the dataset's `total` pieces are made or failed, and the bytes of their traces."""

    def finish(self) -> None:
        """Take note that the ingest has ended: there will be no more reports."""


class Silent:
    """A Progress that reports nothing."""

    def start(self, total_bytes: int) -> None:
        """Report nothing."""

    def advance(self, read_bytes: int, rows: int) -> None:
        """Report nothing."""

    def analyse(self, stage: str, share: float) -> None:
        """Report nothing."""

    def judge(self) -> None:
        """Report nothing."""

    def pieces(self, made: int, total: int, read_bytes: int) -> None:
        """Report nothing."""

    def finish(self) -> None:
        """Report nothing."""
