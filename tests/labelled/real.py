"""Real traces with what limits them, judged by people from the raw files (tests/truth/traces), beside what findings say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import duckdb

from traceq.database.connect import connect
from traceq.diagnosis.account.first import largest_unknown, saves_little
from traceq.diagnosis.finding import Finding
from traceq.diagnosis.judge import Judged, judge
from traceq.diagnosis.record import shipped_record
from traceq.diagnosis.rules.registry import Rule, built_in
from traceq.errors import TraceqError
from traceq.loading.ingest import ingest

TRUTH = Path(__file__).resolve().parents[1] / "truth"
SHARED = Path(__file__).resolve().parents[2].parent / "shared"

# A size is right within this share of the label's, or between the bounds that the label gives.
_NEAR = 0.3
# Bounds of labels have two digits.
_DIGITS = 0.01

Verdict = Literal["right", "partly", "wrong"]
# Those at hand while the rules were written, and those that no rule had met when they were labelled.
Sample = Literal["known", "judged3"]


@dataclass(frozen=True)
class Bottleneck:
    """An avoidable cause of tests/truth/causes.json, and what a fix wins, as shares (0..1) of the label's step of `step_ns`."""

    cause: str
    size: float
    low: float
    high: float
    step_ns: int

    def has_size(self, share: float, step_ns: float) -> bool:
        """Whether a saving of this share of a step of `step_ns` is the size of it, as a share or in time."""
        return any(
            abs(each - self.size) <= _NEAR * self.size or (1 - _DIGITS) * self.low <= each <= (1 + _DIGITS) * self.high
            # Some labels count from the first to the last work on the GPU, of which the step or window is more.
            for each in (share, share * step_ns / self.step_ns)
        )


@dataclass(frozen=True)
class Truth:
    """Hold what is true of a trace. `nothing`: no avoidable cause, or the capture cannot tell.

    `line`: the categories of the ledger that hold the largest cause; empty where the label does not say.
    """

    name: str
    path: Path
    bottlenecks: tuple[Bottleneck, ...]
    first: frozenset[str]
    also_true: frozenset[str]
    nothing: bool
    line: frozenset[str]


@dataclass(frozen=True)
class Said:
    """A finding: its rule, its likely saving as a share of the step of `step_ns`, its confidence, and whether that is true."""

    rule: str
    share: float
    confidence: str
    verdict: Verdict
    step_ns: float = 0.0


@dataclass(frozen=True)
class Result:
    """Hold what the rules say of a trace, and how right the first statement is; `remarks` are the rules of observations.

    `extra` are findings of the pack extra, where it was asked. `untold`: the share of the step of which the account cannot tell;
    None without an account of a GPU.
    """

    truth: Truth
    said: tuple[Said, ...]
    remarks: tuple[str, ...]
    failed: tuple[str, ...]
    first: Verdict
    found: int
    untold: float | None = None
    extra: tuple[Said, ...] = ()


@cache
def causes() -> dict[str, frozenset[str]]:
    """The rules that name each cause."""
    told = json.loads((TRUTH / "causes.json").read_text("utf-8"))
    return {cause: frozenset(each["rules"]) for cause, each in told.items()}


@cache
def _programs() -> tuple[tuple[str, str], ...]:
    return tuple(json.loads((TRUTH / "programs.json").read_text("utf-8")).items())


def program_of(name: str) -> str:
    """The program of a trace: all its versions and ranks are one; that of a trace that stands alone is its name."""
    return next((program for pattern, program in _programs() if re.search(pattern, name)), name)


def truth_of(name: str) -> Truth:
    """The truth of a trace by its name, whether or not it lies beside the checkout."""
    told = json.loads((TRUTH / "traces" / f"{name}.json").read_text("utf-8"))
    return _truth(name, SHARED / told["trace"], told["judged"])


def labelled() -> list[tuple[str, Path]]:
    """The names and files of all traces of which a label says what slows them down."""
    found = []
    for label in sorted((TRUTH / "traces").glob("*.json")):
        told = json.loads(label.read_text("utf-8"))
        if "judged" in told:
            found.append((label.stem, SHARED / told["trace"]))
    return found


def truths(sample: Sample = "known") -> Iterator[Truth]:
    """Yield the truth of every labelled trace of the sample that lies beside the checkout."""
    for label in sorted((TRUTH / "traces").glob("*.json")):
        told = json.loads(label.read_text("utf-8"))
        path = SHARED / told["trace"]
        is_of_sample = told["trace"].startswith("judged3/") == (sample == "judged3")
        if "judged" in told and is_of_sample and path.is_file():
            yield _truth(label.stem, path, told["judged"])


def _truth(name: str, path: Path, judged: dict[str, Any]) -> Truth:
    step = judged["step_ns"] or 1
    return Truth(
        name=name,
        path=path,
        bottlenecks=tuple(
            Bottleneck(each["cause"], each["size_ns"] / step, each["low_ns"] / step, each["high_ns"] / step, step)
            for each in judged["bottlenecks"]
        ),
        first=frozenset(judged["first"]),
        also_true=frozenset(judged["also_true"]),
        nothing=judged["nothing"],
        line=frozenset(judged.get("line", {}).get("categories", ())),
    )


def compared(wanted: Sequence[Truth], jobs: int = 1, *, extra: bool = False) -> list[Result]:
    """Compare what the rules say of each trace with the truth; `extra` asks the pack extra, too."""
    judge_one = partial(one, extra=extra)
    if jobs == 1:
        return [judge_one(each) for each in wanted]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(judge_one, wanted))


def one(truth: Truth, *, extra: bool = False) -> Result:
    """Compare what the rules say of a trace with the truth. Of a file that is refused nothing is said."""
    with TemporaryDirectory(prefix="traceq.") as folder:
        database = Path(folder) / "real.duckdb"
        try:
            ingest([str(truth.path)], database)
        except TraceqError:
            return Result(truth, (), (), (), "right" if truth.nothing else "wrong", 0)
        with closing(connect(database)) as connection:
            return result(truth, connection, built_in() if extra else None)


def result(truth: Truth, connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule] | None = None) -> Result:
    """Compare what `rules`, else those asked by default, say of the only trace of a database with the truth."""
    # a trace is no proof of what is said of its own program
    (judged,) = judge(connection, rules=rules, record=shipped_record().without_program(program_of(truth.name)))
    said, extra = (tuple(_said(truth, each) for each in found) for found in (judged.findings, judged.extra_findings))
    remarks = tuple(each.rule for each in judged.observations)
    failed = tuple(f"{each.rule}: {each.error}" for each in judged.failed)
    named = {finding.rule for finding in judged.findings} | set(remarks)
    named |= {part.rule for finding in judged.findings for part in finding.parts}
    found = sum(bool(causes()[each.cause] & named) for each in truth.bottlenecks)
    first = _grade_first(truth, said, judged)
    return Result(truth, said, remarks, failed, first, found, _untold_share(judged), extra)


def _said(truth: Truth, finding: Finding) -> Said:
    step_ns = finding.expected_step_ns + finding.saving_ns
    share = finding.saving_ns / step_ns
    return Said(finding.rule, share, finding.confidence, verdict(truth, finding.rule, share, step_ns), step_ns)


def _untold_share(judged: Judged) -> float | None:
    lines = [each for each in judged.account if each.device is not None and each.is_critical]
    return sum(each.step_share for each in lines if each.verdict == "cannot tell") if lines else None


def _grade_first(truth: Truth, said: Sequence[Said], judged: Judged) -> Verdict:
    """Grade how the report begins: with a finding, with remarks, or with what cannot be told."""
    remarks = tuple(each.rule for each in judged.observations)
    is_told = "sampled-capture" not in remarks and any(each.device is not None for each in judged.account)
    unknown = largest_unknown(judged.account) if is_told else None
    if unknown is None or (judged.findings and not saves_little(judged.findings[0])):
        return first_verdict(truth, said, remarks)
    return unknown_verdict(truth, said, unknown.category)


# What a label calls time of which the trace does not say whether it can be won.
_UNTOLD = {
    "compute": "gpu-saturated",
    "idle_earlier_work": "before-capture",
    "idle_unattributed": "unattributed",
    "idle_launch_latency": "unattributed",
}


def unknown_verdict(truth: Truth, said: Sequence[Said], category: str) -> Verdict:
    """Grade a report that begins with what it cannot tell, time of `category`, and then says what is known so far.

    Right where the label says so, too; partly where it names the label's line, or is known so far what may stand first.
    """
    if truth.nothing:
        return "wrong" if any(each.verdict == "wrong" for each in said) else "right"
    if _UNTOLD.get(category) in truth.first:
        return "right"
    is_told = bool(said) and said[0].verdict != "wrong" and bool(_named(said[0].rule) & truth.first)
    return "partly" if category in truth.line or is_told else "wrong"


def _named(rule: str) -> frozenset[str]:
    """The causes that a rule may mean."""
    return frozenset(cause for cause, rules in causes().items() if rule in rules)


def verdict(truth: Truth, rule: str, share: float, step_ns: float) -> Verdict:
    """Of a finding: right with a true cause and its size, partly with a true cause and another size, else wrong.

    A cause that may be said as well has no size of its own: it must not be larger than the largest bottleneck can be.
    """
    named = _named(rule)
    meant = [each for each in truth.bottlenecks if each.cause in named]
    if any(each.has_size(share, step_ns) for each in meant):
        return "right"
    if named & (truth.also_true | truth.first):
        largest = max((each.high for each in truth.bottlenecks), default=1.0)
        return "right" if not meant and share <= (1 + _NEAR) * largest else "partly"
    return "partly" if meant else "wrong"


def first_verdict(truth: Truth, said: Sequence[Said], remarks: Sequence[str]) -> Verdict:
    """How right the report begins: with an accepted cause of the right size.

    Where nothing can be won, or the capture cannot tell, no finding may be wrong. Without findings a report begins with remarks.
    """
    if truth.nothing:
        return "wrong" if any(each.verdict == "wrong" for each in said) else "right"
    if not said:
        return "right" if any(_named(rule) & truth.first for rule in remarks) else "wrong"
    if _named(said[0].rule) & truth.first:
        # A cause without a size of its own stands for the largest bottleneck, and has to be about as large.
        largest = max(truth.bottlenecks, key=lambda each: each.size, default=None)
        is_small = largest is not None and said[0].share < min((1 - _NEAR) * largest.size, (1 - _DIGITS) * largest.low)
        has_own = any(each.cause in _named(said[0].rule) for each in truth.bottlenecks)
        return "partly" if is_small and not has_own and said[0].verdict == "right" else said[0].verdict
    return "wrong" if said[0].verdict == "wrong" else "partly"
