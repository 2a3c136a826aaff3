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
_WAY = "query less, or a part of it"


class AgentAnswer(NamedTuple):
    """An answer to an agent: a text, and the same as plain data; `data` is None where there is room for the text only."""

    text: str
    data: Mapping[str, Any] | None = None

    @property
    def size(self) -> int:
        """The number of characters of text and data as JSON, with the protocol's own around them."""
        data = 0 if self.data is None else len(json.dumps(self.data, ensure_ascii=False))
        return len(json.dumps(self.text, ensure_ascii=False)) + data + _AROUND


def clamp_budget(max_chars: int) -> int:
    """Return the number of characters that an answer may have: `max_chars`, raised to 1,000 or lowered to 8,000 at most."""
    return min(max(max_chars, LEAST), MOST)


def fit_answer(answers: Iterable[AgentAnswer], limit: int, way: str = _WAY) -> AgentAnswer:
    """Return the first of `answers` (longest first) within `limit` characters, or the last with its text cut.

    `way` tells the agent how to get the text that was cut.
    """
    answer = pick_fitting(answers, lambda answer: answer.size <= limit)
    return answer if answer.size <= limit else _cut_answer(answer, limit, way)


def _cut_answer(answer: AgentAnswer, limit: int, way: str) -> AgentAnswer:
    """Return the answer cut after the last line that fits `limit` characters of AgentAnswer.size, with a note that says `way`.

    A first line that is too long is cut within; at worst only the note is left. Data of half the limit or more are left
    out.
    """
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
