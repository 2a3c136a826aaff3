"""Pairs of traces: labels/pairs.json, which verdict of `traceq compare` is right, and what it said."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec

from traceq.app.blind.folder import LABELS, PAIRS
from traceq.app.compare import compare
from traceq.diagnosis.grading.frozen import FrozenPair
from traceq.errors import TraceqError, UnusableLabel
from traceq.reports.comparison.verdict import verdict_sentence as words_of
from traceq.runs.compare.comparison import Verdict

_NOT_COMPARABLE = "not comparable"
WORDS = (*get_args(Verdict), _NOT_COMPARABLE)


class PairLabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two traces by name, and the right verdict or verdicts of their comparison; None while it is not known."""

    base: str
    new: str
    verdict: str | tuple[str, ...] | None = None
    why: str = ""

    @property
    def accepted(self) -> tuple[str, ...]:
        """The verdicts that count as right; empty while none is known."""
        return (self.verdict,) if isinstance(self.verdict, str) else self.verdict or ()


def pairs_in(folder: Path) -> tuple[PairLabel, ...]:
    """Return the labelled pairs of traces; empty without the file labels/pairs.json. Raises UnusableLabel for a wrong file."""
    path = folder / LABELS / f"{PAIRS}.json"
    if not path.is_file():
        return ()
    try:
        pairs = msgspec.json.decode(path.read_bytes(), type=tuple[PairLabel, ...])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnusableLabel(f"{path}: is not a list of pairs: {error}; docs/measuring.md shows one") from error
    for pair in pairs:
        if unknown := [word for word in pair.accepted if word not in WORDS]:
            raise UnusableLabel(f"{path}: {unknown[0]!r} is not a verdict of a pair; these are: {', '.join(WORDS)}")
    return pairs


def frozen_pair(pair: PairLabel, base: Path, new: Path) -> FrozenPair:
    """Compare two traces and return the result to freeze: the verdict and its words, or the error if they cannot be read.

    `pair` holds their names; `base` and `new` are their paths.
    """
    is_known = bool(pair.accepted)
    try:
        found = compare(base, new).content
    except TraceqError as error:
        return FrozenPair(pair.base, pair.new, None, str(error), is_known)
    said = found.verdict if found.comparable else _NOT_COMPARABLE
    return FrozenPair(pair.base, pair.new, said, "".join(words_of(found)), is_known)
