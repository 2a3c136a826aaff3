"""Grade what was frozen by the labels of the folder; nothing is judged again."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from traceq.app.blind.folder import LABELS, PAIRS, TraceFile, labels_in, place_of, traces_in
from traceq.app.blind.freeze import NAME
from traceq.app.blind.pairs import pairs_in
from traceq.common.files import atomic_write
from traceq.diagnosis.grading.frozen import Frozen, FrozenTrace, parse_frozen
from traceq.diagnosis.grading.graded import Graded, GradedPair, grade_trace, record_by_rule
from traceq.diagnosis.grading.labels import parse_label
from traceq.errors import NoTraces, StoreError, UnusableLabel
from traceq.loading.sources import content_hash
from traceq.reports.blind import write_page

RECORD = "graded.json"


class BlindMeasurement(msgspec.Struct, frozen=True):
    """The grades of a frozen set: a page in Markdown, and the path of a file with the findings by rule.

    `unseen` are names of traces that were added to the folder after it was frozen.
    """

    page: str
    record: Path
    unseen: tuple[str, ...]


def measure(folder: Path, after: str | None = None) -> BlindMeasurement:
    """Grade a frozen set (blind, or the later one called `after`) by the labels, and write the findings by rule beside it.

    Raises UnusableLabel for unusable labels, and for labelled traces that changed since.
    """
    now = _traces_now(folder)
    graded = _grade_set(folder, after, now)
    blind = None if after is None else _blind_beside(folder, now)
    record = {
        "set": "blind" if after is None else f"after {after}",
        "traceq": graded.frozen.traceq,
        "commit": graded.frozen.commit,
        "rules": record_by_rule(graded.traces),
    }
    path = place_of(folder, after) / RECORD
    with atomic_write(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    frozen = {trace.path for trace in graded.frozen.traces}
    unseen = tuple(each.name for place, each in now.items() if place not in frozen)
    return BlindMeasurement("\n".join(write_page(folder.resolve().name, graded, blind)), path, unseen)


def _blind_beside(folder: Path, now: dict[str, TraceFile]) -> Graded | None:
    """Return the grades of the blind set, to show beside a later one; None if no labelled trace in it is unchanged."""
    path = place_of(folder, None) / NAME
    unchanged = {
        trace.name
        for trace in parse_frozen(_read_file(path), str(path)).traces
        if trace.path not in now or content_hash(now[trace.path].files) == trace.sha256
    }
    if not unchanged & labels_in(folder).keys():
        return None
    return _grade_set(folder, None, now, only=unchanged)


def _traces_now(folder: Path) -> dict[str, TraceFile]:
    """Return the folder's current traces by their path in it; empty if there are none."""
    try:
        return {trace.path.as_posix(): trace for trace in traces_in(folder)}
    except NoTraces:
        return {}


def _grade_set(
    folder: Path, after: str | None, now: dict[str, TraceFile], only: Collection[str] | None = None
) -> Graded:
    """Grade a frozen set by its labels; with `only`, grade just these traces and no pairs."""
    path = place_of(folder, after) / NAME
    frozen = parse_frozen(_read_file(path), str(path))
    traces = {trace.name: trace for trace in frozen.traces}
    labels = {name: label for name, label in labels_in(folder).items() if only is None or name in only}
    for name, label in labels.items():
        if name not in traces:
            raise UnusableLabel(f"{label}: no trace {name!r} was frozen{_way_out(name, traces)}")
    pairs = tuple(_grade_pairs(folder, frozen)) if only is None else ()
    for name in sorted({name for pair in pairs for name in (pair.pair.base, pair.pair.new)}):
        _check_unchanged(traces[name], now)
    labelled = [traces[name] for name in traces if name in labels]
    if not labelled and not pairs:
        raise UnusableLabel(
            f"{folder / LABELS}: no label yet; write {next(iter(traces))}.json there, and so on:"
            " traceq rules test --causes shows one"
        )
    for trace in labelled:
        _check_unchanged(trace, now)
    paired = {f"{pair.pair.base} -> {pair.pair.new}" for pair in pairs}
    return Graded(
        frozen=frozen,
        traces=tuple(
            grade_trace(frozen, trace, parse_label(_read_file(labels[trace.name]), str(labels[trace.name])))
            for trace in labelled
        ),
        pairs=pairs,
        unlabelled=(
            *(name for name in traces if name not in labels),
            *(
                name
                for frozen_pair in frozen.pairs
                if (name := f"{frozen_pair.base} -> {frozen_pair.new}") not in paired
            ),
        ),
        gone=tuple(trace.name for trace in labelled if trace.path not in now),
    )


def _way_out(name: str, traces: dict[str, FrozenTrace]) -> str:
    """Return a hint for a label whose trace was not frozen: similar names, or all."""
    close = difflib.get_close_matches(name, traces, n=2)
    meant = f"; did you mean {' or '.join(close)}?" if close else f"; there are {', '.join(traces)}."
    return f"{meant} --again NAME freezes traces that came later, but not blind"


def _check_unchanged(trace: FrozenTrace, now: dict[str, TraceFile]) -> None:
    """Raise UnusableLabel if the trace's files changed since it was frozen."""
    if trace.path in now and content_hash(now[trace.path].files) != trace.sha256:
        raise UnusableLabel(
            f"{trace.path}: was changed after it was frozen: restore the file with the sha256 {trace.sha256}, or freeze"
            " this one with --again NAME, not blind"
        )


def _grade_pairs(folder: Path, frozen: Frozen) -> Iterator[GradedPair]:
    """Yield a grade for each frozen pair of traces (base, new) whose right verdict is labelled by now."""
    said = {(frozen_pair.base, frozen_pair.new): frozen_pair for frozen_pair in frozen.pairs}
    for label in pairs_in(folder):
        if (label.base, label.new) not in said:
            raise UnusableLabel(
                f"{folder / LABELS / PAIRS}.json: the pair {label.base} -> {label.new} was not frozen; --again NAME freezes it,"
                " not blind"
            )
        if label.accepted:
            pair = said[label.base, label.new]
            yield GradedPair(pair, label.accepted, is_blind=frozen.after is None and not pair.is_known)


def _read_file(path: Path) -> bytes:
    """Return the content of the file. Raises StoreError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
