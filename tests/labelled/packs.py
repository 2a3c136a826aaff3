"""The rules of all packs as equals: made-up and edited traces show what each rule can do, confirmed or not."""

from __future__ import annotations

from functools import cache

from traceq.diagnosis.rules.registry import Rule, all_rules


@cache
def as_if_confirmed() -> tuple[Rule, ...]:
    """All rules of traceq, none of them extra."""
    return tuple(rule._replace(is_extra=False) for rule in all_rules())
