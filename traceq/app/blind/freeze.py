"""Freeze what traceq says of the traces in a folder, once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from traceq.app.blind.folder import LABELS, PAIRS, TraceFile, labels_in, place_of, traces_in
from traceq.app.blind.pairs import PairLabel, frozen_pair, pairs_in
from traceq.app.report import ReportView, report
from traceq.common.files import atomic_write
from traceq.common.version import __version__
from traceq.diagnosis.grading.frozen import AccountLine, Frozen, FrozenPair, FrozenTrace
from traceq.diagnosis.grading.output import summarize_report
from traceq.errors import StoreError, TraceqError, UnusableLabel, WrongUse
from traceq.loading.sources import content_hash
from traceq.reports.model import TraceReport
from traceq.reports.renderers.to_text import WIDTH
from traceq.reports.sections.header import header_line
from traceq.reports.sections.headline import find_critical_trace
from traceq.reports.sections.verdict import write_verdict

NAME = "frozen.json"
# All that there are.
_FINDINGS = 1_000


def is_frozen(folder: Path, after: str | None = None) -> bool:
    """Return whether the set (blind, or the later one called `after`) was frozen before."""
    return (place_of(folder, after) / NAME).exists()


def freeze(folder: Path, after: str | None, judging: Callable[[str], None]) -> Frozen:
    """Judge all traces and pairs of the folder once and store the results; `judging` is called with each name before.

    Raises WrongUse if the set is frozen already, or if `after` names a later set and no blind one is frozen yet.
    """
    place = place_of(folder, after)
    if is_frozen(folder, after):
        raise WrongUse(f"{place / NAME} already exists: frozen results are never overwritten.")
    if after is not None and not is_frozen(folder):
        raise WrongUse(f"--again {after}: nothing is frozen yet; leave --again out.")
    files = {trace.name: trace for trace in traces_in(folder)}
    pairs = pairs_in(folder)
    _check_pairs(folder, pairs, files)
    _check_labels(folder, files)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{place}: cannot be made: {error.strerror}; copy the traces to a folder of your own"
        ) from error
    known = tuple(labels_in(folder))
    with _lock(place):
        return _judge_and_write(folder, after, place, files, pairs, known, judging)


@contextmanager
def _lock(place: Path) -> Iterator[None]:
    """Lock the set inside the block. Raises StoreError if another run is freezing it."""
    lock = place / ".freezing"
    try:
        lock.touch(exist_ok=False)
    except FileExistsError as error:
        raise StoreError(
            f"{place}: another run is freezing this set; wait for it, or remove {lock} if none is"
        ) from error
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _judge_and_write(
    folder: Path,
    after: str | None,
    place: Path,
    files: dict[str, TraceFile],
    pairs: tuple[PairLabel, ...],
    known: tuple[str, ...],
    judging: Callable[[str], None],
) -> Frozen:
    """Judge the traces and pairs, write the results, and return them.

    Labels that appeared meanwhile are recorded as known, as their author may have read the results.
    """
    traces = []
    for each in files.values():
        judging(each.name)
        trace, text = _frozen_trace(folder, each)
        traces.append(trace)
        with atomic_write(place / f"{each.name}.txt") as file:
            file.write(text.encode())
    frozen = Frozen(
        traceq=__version__,
        commit=_read_commit(),
        frozen=datetime.now(UTC).isoformat(timespec="seconds"),
        after=after,
        labels=tuple(sorted({*known, *labels_in(folder)})),
        traces=tuple(traces),
        pairs=_frozen_pairs(folder, pairs, files, judging),
    )
    with atomic_write(place / NAME) as file:
        file.write(msgspec.json.format(msgspec.json.encode(frozen), indent=1) + b"\n")
    return frozen


def _check_pairs(folder: Path, pairs: tuple[PairLabel, ...], files: dict[str, TraceFile]) -> None:
    """Raise UnusableLabel for a pair that names a trace that is not in the folder."""
    for name in (name for pair in pairs for name in (pair.base, pair.new)):
        if name not in files:
            raise UnusableLabel(
                f"{folder / LABELS / PAIRS}.json: there is no trace {name!r}; there are {', '.join(files)}"
            )


def _check_labels(folder: Path, files: dict[str, TraceFile]) -> None:
    """Raise UnusableLabel for a label without a trace: renamed later, it would pass for one that did not exist."""
    for name, label in labels_in(folder).items():
        if name not in files:
            raise UnusableLabel(f"{label}: there is no trace {name!r}; there are {', '.join(files)}")


def _frozen_pairs(
    folder: Path, pairs: tuple[PairLabel, ...], files: dict[str, TraceFile], judging: Callable[[str], None]
) -> tuple[FrozenPair, ...]:
    """Return the verdicts of the labelled pairs to freeze; `judging` is called with each pair's name before."""
    found = []
    for pair in pairs:
        judging(f"{pair.base} -> {pair.new}")
        found.append(frozen_pair(pair, folder / files[pair.base].path, folder / files[pair.new].path))
    return tuple(found)


def _frozen_trace(folder: Path, file: TraceFile) -> tuple[FrozenTrace, str]:
    """Return the results for a trace to freeze, and its report as text; for an unreadable trace, both hold the error."""
    path, sha256 = file.path.as_posix(), content_hash(file.files)
    try:
        view = report(folder / file.path, _FINDINGS, scope="document")
    except TraceqError as error:
        return FrozenTrace(file.name, path, sha256, error=str(error)), f"traceq: error: {error}\n"
    return _summarize_trace(file.name, path, sha256, view), view.to_text(WIDTH)


def _summarize_trace(name: str, path: str, sha256: str, view: ReportView) -> FrozenTrace:
    """Return the results to freeze of the report's only trace, else of the trace to look at first."""
    every = view.content.traces
    trace = every[0] if len(every) == 1 else find_critical_trace(view.content)[0]
    counted = 0 if trace.steps.is_window else trace.steps.counted
    return FrozenTrace(
        name,
        path,
        sha256,
        capture=f"{trace.triage.kind}, {trace.triage.reason}" if trace.triage is not None else "",
        header="".join(header_line(trace)),
        unit=trace.unit,
        steps=counted,
        whole_steps=counted + sum(step.reason.startswith("warm-up") for step in trace.steps.excluded),
        first=_first_words(trace),
        output=summarize_report(trace),
        notes=tuple(observation.title for observation in trace.observations),
        account=tuple(
            AccountLine(line.category, line.part, line.step_share, line.verdict, line.reason)
            for line in trace.account
            if line.is_critical
        ),
    )


def _first_words(trace: TraceReport) -> str:
    """Return the verdict on the trace as one text."""
    first = write_verdict(trace)
    return ". ".join("".join(spans).removesuffix(".") for spans in (first.spans, *first.lines))


def _read_commit() -> str | None:
    """Return the short commit of traceq's checkout, with `+` if its code was changed; None without a checkout."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    try:
        commit, changed = (
            subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout.strip()
            for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "--", "traceq"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+" if changed else commit
