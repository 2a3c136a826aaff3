"""Fit an experiment into a budget of time: of which settings there is time for enough rounds, and how many rounds there are."""

from __future__ import annotations

import msgspec

# With fewer the scatter of the other settings tells little: then more settings would mean that nothing is certain.
LEAST_ROUNDS = 3


class RunCost(msgspec.Struct, frozen=True):
    """The seconds of a run, and of reading the recording that each setting makes once."""

    run: float
    recording: float


def count_settings(left: float, cost: RunCost, settings: int, repeats: int, *, combines: bool) -> int:
    """Return for how many of the settings `left` seconds are enough, at least 1: three rounds of each, or `repeats` if less.

    The baseline has run once. `combines`: what wins is run together at the end, beside the baseline.
    """
    rounds = min(repeats, LEAST_ROUNDS)

    def estimate_seconds(number: int) -> float:
        runs = rounds * (number + 1) + (2 * rounds if combines and number > 1 else 0)
        # The baseline has run once, and runs once more to show how far equal runs differ.
        return runs * cost.run + (number + (combines and number > 1)) * cost.recording

    return max((number for number in range(1, settings + 1) if estimate_seconds(number) <= left), default=1)


def count_rounds(
    left: float, done: int, repeats: int, round_seconds: float, together_seconds: float, recording: float
) -> int:
    """Return how many rounds fit into `left` seconds, with the `done` ones: no fewer than these, and at most `repeats`.

    A round takes `round_seconds`; as many rounds of the winners together follow, which take `together_seconds` each, and one
    `recording` (0 each where nothing is combined).
    """
    both = round_seconds + together_seconds
    most = int((left - recording + done * round_seconds) / both) if both else repeats
    return max(done, min(repeats, most))
