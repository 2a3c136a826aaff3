"""Ranks of a job: chosen, and in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar

from traceq.errors import TraceqError, WrongUse

T = TypeVar("T")

_MOST_LISTED = 8
_MOST_RANKS = 1 << 20
# rank3_memory_snapshot.pickle, oom_r3.pickle; else the folder rank3/
_IN_NAME = (re.compile(r"(?i)rank[\[\-_ ]?(\d+)"), re.compile(r"(?:^|[_.-])r(\d+)(?:[_.-]|$)"))
_IN_FOLDER = re.compile(r"(?i)rank[\[\-_ ]?(\d+)\]?")


def rank_in_path(path: Path) -> int | None:
    """Return the rank in the file's name (rank3_..., oom_r3.pickle), else in its folder's (rank3).

    None without one, or above a million.
    """
    found = [match for pattern in _IN_NAME if (match := pattern.search(path.name))]
    match = found[0] if found else _IN_FOLDER.fullmatch(path.parent.name)
    rank = int(match[1]) if match else None
    return rank if rank is None or rank < _MOST_RANKS else None


def select_ranks(
    known: Mapping[T, int | None],
    wanted: Collection[int],
    refuse: Callable[[int, list[int]], TraceqError] | None = None,
) -> list[T]:
    """Return the keys of `known` (which maps keys to ranks, None if unknown) whose rank is wanted.

    All if `wanted` is empty. `refuse` makes the error that is raised for a wanted rank that is missing, from this rank
    and the ranks there are; None to ignore it.
    """
    there = sorted({rank for rank in known.values() if rank is not None})
    for rank in wanted:
        if rank not in there and refuse is not None:
            raise refuse(rank, there)
    return [key for key, rank in known.items() if not wanted or rank in wanted]


def select_rank(known: Mapping[T, int | None], rank: int | None, source: str) -> list[T]:
    """Return the keys of `known` with the given rank; if that is None, with the lowest rank or an unknown one.

    Raises WrongUse, naming `source`, when no key has the rank.
    """
    if rank is None:
        lowest = min((found for found in known.values() if found is not None), default=None)
        return [key for key, found in known.items() if found in (None, lowest)]

    def refuse(_: int, there: list[int]) -> WrongUse:
        holds = f"holds ranks {', '.join(map(str, there))}" if there else "does not say which rank it is"
        return WrongUse(f"rank {rank}: {source} {holds}")

    return select_ranks(known, [rank], refuse)


def list_ranks(ranks: Collection[int]) -> str:
    """Return ranks as text: "ranks 0-3, 6 and 20 more"; empty for none."""
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
