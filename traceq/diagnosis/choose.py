"""Choose the finding that a user means by its id, its rule, or its place in the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple, Protocol, TypeVar

from traceq.diagnosis.finding import Finding
from traceq.diagnosis.job.judge import RULES
from traceq.errors import StoreError


class _OfPack(Protocol):
    @property
    def is_extra(self) -> bool: ...


F = TypeVar("F", bound=_OfPack)


class Chosen(NamedTuple):
    """A finding and its place in the report of its trace: F1, F2, ..., or E1, E2, ... in the pack extra."""

    place: str
    finding: Finding

    @property
    def names(self) -> dict[str, str]:
        """The words that a user may give for the finding, by kind: id, rule and place."""
        return {"id": self.finding.finding_id, "rule": self.finding.rule, "place": self.place}


def number_findings(findings: Sequence[F]) -> list[tuple[str, F]]:
    """Return the ranked findings of a trace, each with its place before it: F1, F2, ..., or E1, E2, ... in the pack extra."""
    numbers = {False: count(1), True: count(1)}
    return [(f"{'E' if finding.is_extra else 'F'}{next(numbers[finding.is_extra])}", finding) for finding in findings]


def choose(text: str, findings: Mapping[int, Sequence[Finding]]) -> Chosen:
    """Return the finding that `text` names, in any case: by its id, its rule, or its place in the report (F1, E1).

    `findings` are the ranked findings of each trace. Raises StoreError, which lists them, if none or several are meant.
    """
    every = [Chosen(*numbered) for ranked in findings.values() for numbered in number_findings(ranked)]
    wanted = text.casefold()
    for kind in ("id", "rule", "place"):
        found = [chosen for chosen in every if chosen.names[kind].casefold() == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            raise StoreError(f"--finding {text} matches several findings: use {_list_findings(found)}, or --trace")
    known = f"there are {_list_findings(every)}" if every else "the trace has none"
    if wanted in RULES:
        known += f". {wanted} is a rule of jobs: `traceq report DB` lists what these find"
    raise StoreError(f"no finding is called {text!r}; {known}")


def _list_findings(every: Sequence[Chosen]) -> str:
    return ", ".join(f"{chosen.finding.finding_id} ({chosen.place})" for chosen in every)
