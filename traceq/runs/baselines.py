"""Named baselines: files of runs, small enough to be committed, below a directory that can be cached."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from traceq.common.files import atomic_write
from traceq.common.version import __version__
from traceq.errors import UnusableBaseline
from traceq.runs.run import Run

_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,127}")
_DIRECTORY = Path(".traceq") / "baselines"


def baseline_directory() -> Path:
    """Return the folder of baselines: TRACEQ_BASELINES, else .traceq/baselines below the current directory."""
    return Path(os.environ.get("TRACEQ_BASELINES") or _DIRECTORY)


def path_of(name: str, where: Path | None = None) -> Path:
    """Return the path of the baseline `name`, whether or not the file exists; `where` is the folder, None for the usual one.

    Raises UnusableBaseline when `name` is not a valid name.
    """
    if not _NAME.fullmatch(name):
        raise UnusableBaseline(
            f"{name!r}: is not a valid name for a baseline: use at most 128 letters, digits and . _ + -"
        )
    return (where or baseline_directory()) / f"{name}.json"


def find(name: str, where: Path | None = None) -> StoredBaseline | None:
    """Return the baseline `name`; None when no such file exists, or when `name` is not a valid name.

    Raises UnusableBaseline when the file cannot be read; `where` is the folder, None for the usual one.
    """
    if not _NAME.fullmatch(name):
        return None
    path = path_of(name, where)
    return read(path) if path.is_file() else None


def is_baseline(path: Path) -> bool:
    """Return whether the file begins as a baseline does (`kind` is its first key), whatever its name; False if it is missing."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return is_kept(file.read(BEGIN_LENGTH))


def read(path: Path) -> StoredBaseline:
    """Read the baseline in the file. Raises UnusableBaseline when the file is unreadable or its numbers are impossible."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnusableBaseline(f"{path}: cannot be read: {error.strerror}") from error
    kept = decode_runs(content, str(path))
    wrong = find_damage(kept)
    if wrong:
        raise UnusableBaseline(f"{path}: is damaged: {wrong}; make it again with traceq baseline save")
    return kept


def save(name: str, runs: Sequence[Run], where: Path | None = None, *, force: bool = False) -> Path:
    """Write the runs to the file of the baseline `name` and return its path.

    `where` is the folder, None for the usual one. Raises UnusableBaseline when the name is not valid, or is taken and
    not `force`.
    """
    path = path_of(name, where)
    if path.exists() and not force:
        raise UnusableBaseline(f"{name}: already exists, in {path}; --force replaces it")
    path.parent.mkdir(parents=True, exist_ok=True)
    saved = datetime.now(UTC).isoformat(timespec="seconds")
    with atomic_write(path) as file:
        file.write(encode_runs(tuple(runs), traceq=__version__, saved=saved))
    return path


def list_names(where: Path | None = None) -> Iterator[str]:
    """Yield the names of all baselines in the folder `where` (None: the usual one), sorted."""
    yield from sorted(
        path.stem for path in (where or baseline_directory()).glob("*.json") if _NAME.fullmatch(path.stem)
    )


def drop(name: str, where: Path | None = None) -> Path:
    """Delete the baseline `name` and return the path of its file. Raises UnusableBaseline when it does not exist."""
    path = path_of(name, where)
    try:
        path.unlink()
    except FileNotFoundError:
        raise UnusableBaseline(explain_missing(name, where)) from None
    return path


def explain_missing(name: str, where: Path | None = None) -> str:
    """Return the message for a baseline that does not exist: its name, the folder, and the names that exist."""
    there = ", ".join(list_names(where)) or "none"
    return (
        f"{name}: no such baseline in {where or baseline_directory()} (there: {there}); traceq baseline save makes one"
    )


_VERSION = 1

# `kind` comes first, so that the first bytes of a file tell it from a trace, however the JSON is laid out.
_BEGINS = re.compile(rb'\s*\{\s*"kind"\s*:\s*"traceq-baseline"')
BEGIN_LENGTH = 200

_LONGEST = 2**63 - 1  # what a column of ns holds
_NO_AMOUNT = "a number is below 0, or larger than any in a trace"


class StoredBaseline(msgspec.Struct, frozen=True):
    """A baseline: its runs, the version of traceq that made it and when (ISO 8601, UTC)."""

    kind: Literal["traceq-baseline"]
    version: int
    traceq: str
    saved: str
    runs: tuple[Run, ...]


def encode_runs(runs: tuple[Run, ...], *, traceq: str, saved: str) -> bytes:
    """Return a baseline of the runs as JSON, which `decode_runs` reads.

    `traceq` is the version that writes the file, `saved` the time of writing (ISO 8601).
    """
    return msgspec.json.encode(StoredBaseline("traceq-baseline", _VERSION, traceq, saved, runs)) + b"\n"


def is_kept(begin: bytes) -> bool:
    """Return whether a file that begins with these bytes (at most BEGIN_LENGTH) is a baseline: its first key is `kind`."""
    return _BEGINS.match(begin) is not None


def decode_runs(content: bytes, path: str) -> StoredBaseline:
    """Parse a baseline written by `encode_runs`. Raises UnusableBaseline, naming `path`, for anything else.

    Only the layout is checked; `find_damage` checks the numbers.
    """
    try:
        kept = msgspec.json.decode(content, type=StoredBaseline)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnusableBaseline(f"{path}: is not a baseline: {error}; make it with traceq baseline save") from error
    if kept.version != _VERSION:
        raise UnusableBaseline(
            f"{path}: was made by traceq {kept.traceq}, whose baselines differ; save it again with this version"
        )
    return kept


def find_damage(kept: StoredBaseline) -> str:
    """Return the first error in a baseline that makes its numbers impossible, with its JSON path; empty when there is none."""
    if not kept.runs:
        return "it holds no run - at `$.runs`"
    if len({(run.sha256, run.rank) for run in kept.runs}) < len(kept.runs):
        return "a run is there twice - at `$.runs`"
    found = (
        f"{what} - at `$.runs[{number}].{at}`"
        for number, run in enumerate(kept.runs)
        for what, at in _find_impossible(run)
    )
    return next(found, "")


def _find_impossible(run: Run) -> Iterator[tuple[str, str]]:
    """Yield an error message and its JSON path for each impossible number of the run.

    The values are not quoted: they may be as long as the file.
    """
    for number, step in enumerate(run.steps):
        if not _is_amount(step.dur, *step.ledger.values()):
            yield _NO_AMOUNT, f"steps[{number}]"
        elif step.ledger and sum(step.ledger.values()) != step.dur:
            yield "the parts of the ledger do not add up to the step's duration", f"steps[{number}].ledger"
    for number, item in enumerate(run.items):
        for each in (item.every, item.typical):
            if not _is_amount(each.count, each.dur, each.bytes):
                yield _NO_AMOUNT, f"items[{number}]"
    yield from ((_NO_AMOUNT, at) for at, is_right in _check_amounts(run) if not is_right)


def _check_amounts(run: Run) -> Iterator[tuple[str, bool]]:
    """Yield, for each group of amounts other than steps and items, its JSON path and whether all of them are possible."""
    yield "shapes", all(_is_amount(*durations.values()) for durations in run.shapes.values())
    if run.job is not None:
        job = run.job
        yield "job.steps", all(_is_amount(step.dur, *step.ledger.values()) for step in job.steps)
        yield (
            "job.ranks",
            all(_is_amount(rank.transfer_ns, rank.wait_ns) for rank in job.ranks),
        )
        yield "job.steps_told", job.steps_told > 0
    yield "payload", all(each >= 0 for each in run.payload.values())
    yield "findings", all(each.saving_ns >= 0 for each in run.found)


def _is_amount(*numbers: int) -> bool:
    """Return whether all numbers can be amounts of a trace: from 0 to the largest signed 64-bit integer."""
    return all(0 <= number <= _LONGEST for number in numbers)
