"""The words that labels have for what slows programs down, and the rules that name each."""

from __future__ import annotations

from functools import cache

import msgspec

from traceq.database.sql import package


class LabelWord(msgspec.Struct, frozen=True):
    """The meaning of a word that labels use for a cause, and the names of rules that find the cause; there may be none."""

    what: str
    rules: tuple[str, ...]


@cache
def all_causes() -> dict[str, LabelWord]:
    """Return the meaning of all words for causes that labels may use, by word, from diagnosis/grading/causes.json."""
    content = package().joinpath("diagnosis/grading/causes.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, LabelWord])


@cache
def causes_of(rule: str) -> frozenset[str]:
    """Return the labels' words for all causes that a finding of the rule may mean."""
    return frozenset(word for word, cause in all_causes().items() if rule in cause.rules)
