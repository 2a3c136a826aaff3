"""What idle time consists of, in the sentences of rules about the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from traceq.diagnosis.rules.shared.wording import cut, percent

# Fewer say nothing, more are no sentence.
_LEAST = 0.01
_MOST = 3


def shares(rows: Iterable[Mapping[str, Any]]) -> str:
    """The first of `rows`, which have name and idle_share, as a list; what is below 1 % is left out."""
    named = [row for row in rows if row["name"] is not None and row["idle_share"] >= _LEAST]
    return (
        ", ".join(f"{cut(row['name'])} {percent(row['idle_share'])}" for row in named[:_MOST]) or "nothing with a name"
    )
