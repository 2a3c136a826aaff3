"""An answer to an agent, and how it is kept within its budget."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from traceq.reports.fit import pick_fitting

LEAST, MOST = 1_000, 8_000

# What the protocol writes around an answer.
_AROUND = 200
_CUT = "\n[cut: {left:,} more characters; {way}]\n"
_WAY = "query less, or a part"


class AgentAnswer(NamedTuple):
    """A text to be read, and the same as plain data; `data` is None where the text alone is as long as may be."""

    text: str
    data: Mapping[str, Any] | None = None

    @property
    def size(self) -> int:
        """Count the characters of both as JSON, with what the protocol writes around them."""
        data = 0 if self.data is None else len(json.dumps(self.data, ensure_ascii=False))
        return len(json.dumps(self.text, ensure_ascii=False)) + data + _AROUND


def clamp_budget(max_chars: int) -> int:
    """Return how many characters an answer may have: as requested, from 1,000 to 8,000."""
    return min(max(max_chars, LEAST), MOST)


def fit_answer(answers: Iterable[AgentAnswer], limit: int, way: str = _WAY) -> AgentAnswer:
    """Return the first of `answers` (longest first) within `limit`; the text of the last is cut if none is.

    `way` says how to get what was cut.
    """
    answer = pick_fitting(answers, lambda answer: answer.size <= limit)
    return answer if answer.size <= limit else _cut_answer(answer, limit, way)


def _cut_answer(answer: AgentAnswer, limit: int, way: str) -> AgentAnswer:
    """Cut the text after its last line that fits, and say so; drop the data if it alone is too much."""
    data = answer.data if AgentAnswer("", answer.data).size < limit // 2 else None
    room = len(answer.text)
    while room > 0:
        begins = answer.text[:room]
        # Whole lines, unless there is none.
        kept = begins[: begins.rfind("\n")] or begins
        shown = AgentAnswer(kept + _CUT.format(left=len(answer.text) - len(kept), way=way), data)
        if shown.size <= limit:
            return shown
        room = min(room, len(kept)) - max(shown.size - limit, 1)
    return AgentAnswer(_CUT.format(left=len(answer.text), way=way))
