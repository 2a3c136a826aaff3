"""The truth about a trace, as its label says."""

from __future__ import annotations

from pathlib import Path

import msgspec

# A size is right within this share of the label's, or between the bounds that the label gives.
NEAR = 0.3
# Bounds of labels have two digits.
DIGITS = 0.01


class Bottleneck(msgspec.Struct, frozen=True):
    """An avoidable cause (a word of causes.json) and its likely saving with bounds: shares (0..1) of a step of `step_ns`."""

    cause: str
    size: float
    low: float
    high: float
    step_ns: float

    def has_size(self, share: float, step_ns: float) -> bool:
        """Return whether the saving, `share` (0..1) of a step of `step_ns`, is about the bottleneck's, as a share or in time.

        About: within 30 % of the likely size, or between the bounds.
        """
        return any(
            abs(reached - self.size) <= NEAR * self.size
            or (1 - DIGITS) * self.low <= reached <= (1 + DIGITS) * self.high
            # Some labels count from the first to the last work on the GPU, of which the step or window is more.
            for reached in (share, share * step_ns / self.step_ns)
        )


class Truth(msgspec.Struct, frozen=True):
    """The truth about a trace by its label. `nothing`: there is no avoidable cause, or the capture cannot tell.

    `first` are causes that a report may name first, `also_true` further true ones; `line` are the categories of the
    ledger that hold the largest cause, empty where the label does not say.
    """

    name: str
    path: Path
    bottlenecks: tuple[Bottleneck, ...]
    first: frozenset[str]
    also_true: frozenset[str]
    nothing: bool
    line: frozenset[str]

    @property
    def largest(self) -> Bottleneck | None:
        """The bottleneck with the largest saving; None where nothing can be won, or no bottleneck is known."""
        return None if self.nothing else max(self.bottlenecks, key=lambda each: each.size, default=None)
