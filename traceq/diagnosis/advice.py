"""Advice about a claim, and remarks: what rules return. The rule's manual page says the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from traceq.database.query import Setting
from traceq.diagnosis.claim import AskedQuery, Claim
from traceq.diagnosis.finding import Confidence


class Advice(msgspec.Struct, frozen=True):
    """Advice of a rule on how to save the time of `claim`; all texts but `title` are whole sentences.

    `fix` uses facts of the trace, and shows the line of code to change; `wrong_if` says what would show that the advice
    is wrong; `reason` says why the confidence is what it is. `title` and `key` are for rules that give several pieces
    of advice on a trace: `key`, a few words in kebab-case that stay the same from run to run, tells their ids apart.
    `is_rest`: the claim is on the rest of a category of the ledger. `same_fix`: findings with the same word have the
    same fix; "" for a fix of its own. `made_by` names rules whose findings, where they are much larger, may be the
    cause of this one. `asked` are the queries behind numbers of the texts that the claim's own do not give.
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
    asked: tuple[AskedQuery, ...] = ()


class Remark(msgspec.Struct, frozen=True):
    """An observation that saves no time by itself but is worth knowing; rows of the query `query`.sql of the rules prove it.

    `settings` are the query's parameters. `title` and `key` are as in Advice. `rows` are what the query returns with
    these settings, where that is known already. `asked` is as in Advice.
    """

    text: str
    query: str
    fix: str
    title: str | None = None
    key: str = ""
    settings: Mapping[str, Setting] = msgspec.field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] | None = None
    asked: tuple[AskedQuery, ...] = ()
