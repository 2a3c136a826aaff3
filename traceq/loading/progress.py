"""How an ingest reports its progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A callback for the progress of an ingest; called from the calling thread only."""

    def start(self, total_bytes: int) -> None:
        """All sources together have `total_bytes` on disk."""

    def advance(self, read_bytes: int, rows: int) -> None:
        """So far `read_bytes` of them were read, and `rows` rows made."""

    def judge(self) -> None:
        """All is read; now the rules run."""

    def finish(self) -> None:
        """Nothing more will be done."""


class Silent:
    """A Progress that says nothing."""

    def start(self, total_bytes: int) -> None:
        """Say nothing."""

    def advance(self, read_bytes: int, rows: int) -> None:
        """Say nothing."""

    def judge(self) -> None:
        """Say nothing."""

    def finish(self) -> None:
        """Say nothing."""
