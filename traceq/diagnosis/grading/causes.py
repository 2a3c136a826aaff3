"""The words that labels have for what slows programs down, and the rules that name each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import msgspec

from traceq.database.sql import package


@dataclass(frozen=True)
class LabelWord:
    """The meaning of a label's word for a cause, and the rules that name the cause; there may be none."""

    what: str
    rules: tuple[str, ...]


@cache
def all_causes() -> dict[str, LabelWord]:
    """Return all causes of diagnosis/grading/causes.json by their words."""
    content = package().joinpath("diagnosis/grading/causes.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, LabelWord])


@cache
def causes_of(rule: str) -> frozenset[str]:
    """Return the words for all causes that a finding of the rule may mean."""
    return frozenset(word for word, cause in all_causes().items() if rule in cause.rules)
