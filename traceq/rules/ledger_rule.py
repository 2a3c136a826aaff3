"""What a rule about one category of the ledger says."""

from __future__ import annotations

from dataclasses import dataclass

from traceq.findings import Confidence


@dataclass(frozen=True)
class LedgerRule:
    """One category of the ledger as a rule; all texts are whole sentences but `title`."""

    rule: str
    category: str
    title: str
    confidence: Confidence
    confidence_reason: str
    never: str
    fix: str
