"""The words that labels have for what slows programs down, and the rules that name each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import msgspec

from traceq.database.sql import package


@dataclass(frozen=True)
class LabelWord:
    """Hold what a word means, and the rules that name it; of a cause that no rule is about there are none."""

    what: str
    rules: tuple[str, ...]


@cache
def all_causes() -> dict[str, LabelWord]:
    """Return the causes by the words for them."""
    content = package().joinpath("diagnosis/grading/causes.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, LabelWord])


@cache
def causes_of(rule: str) -> frozenset[str]:
    """Return the words for what a finding of the rule may mean."""
    return frozenset(word for word, cause in all_causes().items() if rule in cause.rules)
