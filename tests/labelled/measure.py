"""How well the rules judge: labelled traces in, numbers and docs/accuracy.md out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import duckdb

from labelled import simulated
from labelled.case import Case
from labelled.packs import as_if_confirmed
from traceq.database.connect import connect
from traceq.diagnosis.finding import Finding
from traceq.diagnosis.judge import Judged, judge
from traceq.loading.ingest import ingest

# What a healthy loop may be told to have lost, and what a true finding has to win, as shares of the step.
MOST_OF_HEALTHY = 0.02
LEAST_OF_TRUE = 0.005

_WORK = ("compute", "communication", "copy_h2d", "copy_d2h", "copy_other", "memset")


@dataclass(frozen=True)
class Told:
    """A finding: its rule, those listed under it, its saving with range (ns per step), and what its cause really costs."""

    rule: str
    parts: tuple[str, ...]
    saving: float
    low: float
    high: float
    share: float
    won: float | None


@dataclass(frozen=True)
class Measured:
    """A case and what was found in it, ranked, where the rules of all packs are asked as equals.

    `default` has the same of the rules that are asked by default.
    """

    name: str
    kind: str
    expected: tuple[frozenset[str], ...]
    first: int
    forbidden: frozenset[str]
    told: tuple[Told, ...]
    remarks: tuple[str, ...]
    failed: tuple[str, ...]
    default: Measured | None = None

    @property
    def rules(self) -> list[str]:
        """What was found, ranked, and then what was remarked."""
        return [*(each.rule for each in self.told), *self.remarks]

    @property
    def is_right(self) -> bool:
        """Whether what stands first, or for what nothing can be won a remark, was expected, and nothing forbidden found.

        Of two bottlenecks with the same fix one is listed under the other.
        """
        parts = [part for each in self.told for part in each.parts] if len(self.expected) > 1 else []
        head = {*self.rules[: self.first], *self.remarks, *parts}
        return all(head & each for each in self.expected) and not self.forbidden & set(self.rules)

    @property
    def found(self) -> int:
        """How many of the expected bottlenecks were found at all."""
        return sum(map(self.has_found, self.expected))

    def has_found(self, rules: frozenset[str]) -> bool:
        """Whether one of the rules found something, or what it found is listed under another."""
        return bool(rules & {*self.rules, *(part for each in self.told for part in each.parts)})

    @property
    def missed(self) -> list[frozenset[str]]:
        """The bottlenecks, each as the rules that name it, that the rules of all packs find and those asked by default do not."""
        if self.default is None:
            return []
        return [each for each in self.expected if self.has_found(each) and not self.default.has_found(each)]

    @property
    def named(self) -> Told | None:
        """The finding that names the only bottleneck."""
        return next((each for each in self.told if each.rule in self.expected[0]), None) if self.expected else None


def cases() -> Iterator[Case]:
    """Every simulated trace; the real ones are in labelled/real.py."""
    yield from simulated.cases()


def measure(wanted: Iterable[Case], jobs: int = 1) -> list[Measured]:
    """What the rules say of each case."""
    if jobs == 1:
        return [one(case) for case in wanted]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(one, wanted, chunksize=4))


def one(case: Case) -> Measured:
    """What the rules say of a case."""
    with TemporaryDirectory(prefix="traceq.") as name:
        folder = Path(name)
        database = folder / "labelled.duckdb"
        ingest([str(case.make(folder))], database)
        with closing(connect(database)) as connection:
            return said(case, connection)


def said(case: Case, connection: duckdb.DuckDBPyConnection) -> Measured:
    """What the rules say of a case, whose trace is all that the database holds."""
    (as_equals,) = judge(connection, rules=as_if_confirmed())
    (judged,) = judge(connection)
    return replace(_measured(case, as_equals), default=_measured(case, judged))


def _measured(case: Case, judged: Judged) -> Measured:
    told = tuple(_told(case, each) for each in judged.findings)
    remarks = tuple(each.rule for each in judged.observations)
    return Measured(case.name, case.kind, case.expected, case.first, case.forbidden, told, remarks, _failed(judged))


def _failed(judged: Judged) -> tuple[str, ...]:
    return tuple(f"{each.rule}: {each.error}" for each in judged.failed)


def _told(case: Case, finding: Finding) -> Told:
    won = None
    if case.won is not None:
        won = case.won(_category(finding))
    step = finding.expected_step_ns + finding.saving_ns
    return Told(
        finding.rule,
        tuple(part.rule for part in finding.parts),
        finding.saving_ns,
        finding.saving_low_ns,
        finding.saving_high_ns,
        finding.saving_ns / step,
        won,
    )


def _category(finding: Finding) -> str:
    """What to take out of the program to see what the finding's cause costs: the category of most of its pieces."""
    columns = finding.instances.columns
    causes = [str(row[columns.index("cause")]) for row in finding.instances.rows]
    scenario = re.search(r"'(idle_sync|host_preempted)' as scenario", finding.summary.query)
    return scenario[1] if scenario else max(set(causes), key=causes.count)


@dataclass(frozen=True)
class Accuracy:
    """Numbers over many measured cases; shares are 0..1, None where there is nothing to count."""

    cases: int
    right: int
    right_by_default: int
    recall: float | None
    precision: float | None
    inside: float | None
    median_error: float | None
    worst_healthy: float | None


def accuracy(measured: Sequence[Measured]) -> Accuracy:
    """The numbers of some cases."""
    expected = sum(len(each.expected) for each in measured)
    judged = [told for each in measured for told in each.told if told.won is not None]
    true = [told for told in judged if told.won is not None and told.won >= LEAST_OF_TRUE * told.saving / told.share]
    named = [each.named for each in measured if each.kind != "pair"]
    known = [each for each in named if each is not None and each.won is not None]
    errors = [abs(each.saving - each.won) / each.won for each in known if each.won]
    healthy = [told.share for each in measured if each.kind == "clean" for told in each.told]
    return Accuracy(
        cases=len(measured),
        right=sum(each.is_right for each in measured),
        right_by_default=sum(each.default is not None and each.default.is_right for each in measured),
        recall=sum(each.found for each in measured) / expected if expected else None,
        precision=len(true) / len(judged) if judged else None,
        inside=sum(each.low <= (each.won or 0) <= each.high for each in known) / len(known) if known else None,
        median_error=median(errors) if errors else None,
        worst_healthy=max(healthy, default=0.0) if any(each.kind == "clean" for each in measured) else None,
    )
