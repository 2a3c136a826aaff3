"""Advice about a claim, and remarks: what rules return. The rule's manual page says the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from traceq.database.query import Setting
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.finding import Confidence


@dataclass(frozen=True)
class Advice:
    """Advice that says how to save the time of `claim`. All texts are whole sentences but `title`.

    `fix` uses what the trace knows and has the line of code to change; `wrong_if` says what would show that it is
    wrong. `title` and `key` are for rules that say several things of a trace: `key` (a few words in kebab-case that
    stay the same from run to run) tells their ids apart. `is_rest`: claims what is left of a category of the ledger.
    `same_fix`: findings with the same word are won by one fix; "" for one of its own. `made_by`: the rules of causes
    that may have made this one, where they are much larger.
    """

    claim: Claim
    fix: str
    confidence: Confidence
    reason: str
    wrong_if: str
    title: str | None = None
    key: str = ""
    is_rest: bool = False
    same_fix: str = ""
    made_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Remark:
    """An observation: worth knowing, but saving no time by itself; the query `query`.sql of the rules proves it."""

    text: str
    query: str
    fix: str
    title: str | None = None
    key: str = ""
    settings: Mapping[str, Setting] = field(default_factory=dict)
