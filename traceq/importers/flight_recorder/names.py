"""The rank in the name of a dump."""

from __future__ import annotations

import re
from pathlib import Path

from traceq.common.ranks import rank_in_path

_MOST_RANKS = 1 << 20
_SUFFIX = re.compile(r"(?:\.(?:json|pickle|pkl|bin|dump|gz))+$", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"(?<!\d)(\d{1,7})$")
_NAME_OF_DUMP = re.compile(r"(?:trace|dump|fr|flight|nccl|rank)", re.IGNORECASE)


def rank_in_name(path: Path) -> int | None:
    """Return the rank in a dump's name: of nccl_trace_rank_3, else the number at its end (fr_trace_3.json); None without."""
    rank = rank_in_path(path)
    named = _LAST_NUMBER.search(_SUFFIX.sub("", path.name))
    if rank is None and named is not None and int(named[1]) < _MOST_RANKS:
        rank = int(named[1])
    return rank


def has_name_of_dump(path: Path) -> bool:
    """Return whether the name is like those that PyTorch gives to dumps, with a rank in it."""
    return rank_in_name(path) is not None and _NAME_OF_DUMP.search(path.name) is not None
