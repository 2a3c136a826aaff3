"""Ranks of a job in words."""

from __future__ import annotations

from collections.abc import Collection

_MOST_LISTED = 8


def numbers(ranks: Collection[int]) -> str:
    """Some ranks in words: "ranks 0-3, 6 and 20 more"; empty for none."""
    if not ranks:
        return ""
    spans: list[list[int]] = []
    for rank in sorted(ranks):
        if spans and rank == spans[-1][-1] + 1:
            spans[-1].append(rank)
        else:
            spans.append([rank])
    words = [str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in spans]
    left = sum(map(len, spans[_MOST_LISTED:]))
    *most, last = [*words[:_MOST_LISTED], f"{left} more"] if left else words
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(most)}{' and ' if most else ''}{last}"
