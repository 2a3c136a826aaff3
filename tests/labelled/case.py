"""A simulated trace of which it is known what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """A labelled trace: what a report has to find first, what it must not find, and what the fixes really win.

    `expected` has a set of rules for each bottleneck: any of them names it. `first` of them have to stand first. `won` is
    the step time (ns) that disappears when the causes of a category of the ledger are taken out of the program, or None when
    that is not known. `kind` is single, pair or clean.
    """

    name: str
    kind: str
    make: Callable[[Path], Path]
    expected: tuple[frozenset[str], ...] = ()
    first: int = 1
    forbidden: frozenset[str] = frozenset()
    won: Callable[[str], float] | None = None
