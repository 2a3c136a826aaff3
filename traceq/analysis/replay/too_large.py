"""The errors for traces that are too large to be replayed."""

from __future__ import annotations

from traceq.common.units import size as bytes_text


class TooLarge(ValueError):
    """Error for a trace that is too large to be replayed.

    `count` is the number of its GPU slices or threads, `note` words on these for the table of notes, with the way out.
    """

    def __init__(self, count: int, what: str, note: str) -> None:
        self.count, self.note = count, note
        super().__init__(what)


def too_many_slices(slices: int, size: int) -> TooLarge:
    """Return the error for a first counted step whose GPU slices would take `size` bytes to replay, more than there are."""
    taking = f"replaying them takes about {bytes_text(size)} of memory"
    return TooLarge(
        slices,
        f"its first step has {slices:,} GPU slices, and {taking}: try a larger --memory-limit",
        f"GPU slices in the first step that counts: {taking}; savings are the time of the findings, and there "
        "is no critical path."
        " Ingest again with a larger --memory-limit, or analyse less with --window",
    )


def too_many_threads(threads: int, most: int) -> TooLarge:
    """Return the error for a process of `threads` that make calls, more than `most` pairs of them at the same time."""
    at_once = f"more than {most:,} pairs of them at the same time, which is the most that is replayed"
    return TooLarge(
        threads,
        f"{threads:,} threads make calls for a GPU, {at_once}",
        f"threads that make calls for a GPU, {at_once}: savings are the time of the findings, and there is no "
        "critical path."
        " Analyse less with --window",
    )
