"""The usual time of a step, as steps go by."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque

# Of so many steps before a step the median is its usual time; with fewer than the second number it is not known.
_MOST, _LEAST = 101, 10

# After so many slow steps in a row, that is the usual time: a longer sequence, a larger batch.
MOST_IN_A_ROW = 5

# A step must be longer than usual by this, too: below it the machine's scheduler is the cause, and the ring says nothing.
LEAST_EXCESS_NS = 10_000_000


class UsualTime:
    """The median of the last 101 steps, known from the tenth on, and the judgement of the next step by it.

    A step is slow if it lasts `factor` times as long, and 10 ms longer. Slow steps count like others; after five
    in a row the usual time is learnt anew.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._recent: deque[int] = deque()
        self._sorted: list[int] = []
        self._in_a_row = 0
        self.is_new = False  # whether the step judged last made the usual time be learnt anew
        self.limit: int | None = None  # above which a step is slow (ns)
        self.late: int | None = None  # half way there from the usual time: the step is likely to be slow (ns)

    def find_usual(self) -> int | None:
        """Return the usual time (ns), None while it is not known."""
        return self._sorted[len(self._sorted) // 2] if len(self._sorted) >= _LEAST else None

    def judge_step(self, length: int) -> int | None:
        """Add a step of `length` (ns); return the usual time before it if it is slow, else None."""
        is_slow = self.limit is not None and length > self.limit
        usual = self.find_usual() if is_slow else None
        self._in_a_row = self._in_a_row + 1 if is_slow else 0
        self.is_new = self._in_a_row == MOST_IN_A_ROW
        if self.is_new:
            self._recent.clear()
            self._sorted.clear()
            self._in_a_row = 0
        self._recent.append(length)
        insort(self._sorted, length)
        if len(self._recent) > _MOST:
            del self._sorted[bisect_left(self._sorted, self._recent.popleft())]
        now = self.find_usual()
        if now is None:
            self.limit = self.late = None
        else:
            self.limit = max(round(now * self._factor), now + LEAST_EXCESS_NS)
            self.late = (now + self.limit) // 2
        return usual
