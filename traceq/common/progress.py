"""The progress of an ingest, and callbacks for it."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class State(NamedTuple):
    """The progress of one trace: bytes read, rows made; then the current analysis, and the share of analyses done."""

    read_bytes: int = 0
    rows: int = 0
    stage: str = ""
    share: float = 0.0


class Progress(Protocol):
    """A callback for the progress of an ingest; called from the calling thread only."""

    def start(self, total_bytes: int) -> None:
        """Begin: all sources together have `total_bytes` on disk."""

    def advance(self, read_bytes: int, rows: int) -> None:
        """Report that `read_bytes` of them were read so far, and `rows` rows made."""

    def analyse(self, stage: str, share: float) -> None:
        """Report, when all is read, the analysis that runs now, `stage`, and the `share` (0 to 1) of analyses done."""

    def judge(self) -> None:
        """Report that all is analysed, and the rules run."""

    def pieces(self, made: int, total: int, read_bytes: int) -> None:
        """Report how many of the `total` pieces of a dataset are made, or failed, and the bytes of their traces."""

    def finish(self) -> None:
        """End: nothing more will be done."""


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
