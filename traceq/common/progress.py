"""How an ingest reports its progress."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class State(NamedTuple):
    """How far one trace is: bytes read, rows made; then what is analysed now, and which share of the analyses is done."""

    read_bytes: int = 0
    rows: int = 0
    stage: str = ""
    share: float = 0.0


class Progress(Protocol):
    """A callback for the progress of an ingest; called from the calling thread only."""

    def start(self, total_bytes: int) -> None:
        """All sources together have `total_bytes` on disk."""

    def advance(self, read_bytes: int, rows: int) -> None:
        """So far `read_bytes` of them were read, and `rows` rows made."""

    def analyse(self, stage: str, share: float) -> None:
        """All is read; `stage` is what is analysed now, and `share` (0 to 1) of all analyses is done."""

    def judge(self) -> None:
        """All is analysed; now the rules run."""

    def pieces(self, made: int, total: int, read_bytes: int) -> None:
        """Of the pieces of a dataset, which are made one by one, so many are made, of so many bytes, or could not be."""

    def finish(self) -> None:
        """Nothing more will be done."""


class Silent:
    """A Progress that says nothing."""

    def start(self, total_bytes: int) -> None:
        """Say nothing."""

    def advance(self, read_bytes: int, rows: int) -> None:
        """Say nothing."""

    def analyse(self, stage: str, share: float) -> None:
        """Say nothing."""

    def judge(self) -> None:
        """Say nothing."""

    def pieces(self, made: int, total: int, read_bytes: int) -> None:
        """Say nothing."""

    def finish(self) -> None:
        """Say nothing."""
