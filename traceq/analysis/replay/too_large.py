"""Errors for traces that are too large to be replayed."""

from __future__ import annotations

from traceq.common.units import size as bytes_text


class TooLarge(ValueError):
    """There is more than can be replayed: how many (`count`), and of what, with the way out (`note`); its text says both."""

    def __init__(self, count: int, what: str, note: str) -> None:
        self.count, self.note = count, note
        super().__init__(what)


def too_many_slices(slices: int, size: int) -> TooLarge:
    """Return the first counted step has more GPU slices than there is memory to replay (`size` bytes)."""
    taking = f"replaying them takes about {bytes_text(size)} of memory"
    return TooLarge(
        slices,
        f"its first step has {slices:,} GPU slices, and {taking}: try a larger --memory-limit",
        f"GPU slices in the first step that counts: {taking}; savings are what findings hold and there is no critical path."
        " Ingest again with a larger --memory-limit, or judge less with --window",
    )


def too_many_threads(threads: int, most: int) -> TooLarge:
    """More threads make calls than clocks are kept for."""
    return TooLarge(
        threads,
        f"{threads:,} threads make calls for a GPU, and at most {most:,} are replayed",
        f"threads that make calls for a GPU, and at most {most:,} are replayed: savings are what findings hold and there is no"
        " critical path. Judge less with --window",
    )
