"""Named baselines: files of runs below a directory that can be committed or cached."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from traceq.common.files import atomic_write
from traceq.common.version import __version__
from traceq.errors import UnusableBaseline
from traceq.runs.run import Run
from traceq.runs.stored import BEGIN_LENGTH, Kept, damage, is_kept, kept_of, text_of

_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,127}")
_DIRECTORY = Path(".traceq") / "baselines"


def directory() -> Path:
    """Where baselines lie: TRACEQ_BASELINES, else .traceq/baselines below the current directory."""
    return Path(os.environ.get("TRACEQ_BASELINES") or _DIRECTORY)


def path_of(name: str, where: Path | None = None) -> Path:
    """The file of the baseline `name`. Raises UnusableBaseline when that is no name."""
    if not _NAME.fullmatch(name):
        raise UnusableBaseline(
            f"{name!r}: is not a valid name for a baseline: use at most 128 letters, digits and . _ + -"
        )
    return (where or directory()) / f"{name}.json"


def find(name: str, where: Path | None = None) -> Kept | None:
    """The baseline `name`; None when there is none, or when that cannot be a name."""
    if not _NAME.fullmatch(name):
        return None
    path = path_of(name, where)
    return read(path) if path.is_file() else None


def is_baseline(path: Path) -> bool:
    """Whether the file is a baseline, whatever its name and however its JSON is laid out, as long as `kind` comes first."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return is_kept(file.read(BEGIN_LENGTH))


def read(path: Path) -> Kept:
    """The baseline in the file. Raises UnusableBaseline when it cannot be read, or holds what no trace can have."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnusableBaseline(f"{path}: cannot be read: {error.strerror}") from error
    kept = kept_of(content, str(path))
    wrong = damage(kept)
    if wrong:
        raise UnusableBaseline(f"{path}: is damaged: {wrong}; make it again with traceq baseline save")
    return kept


def save(name: str, runs: Sequence[Run], where: Path | None = None, *, force: bool = False) -> Path:
    """Keep the runs as `name` and say in which file. Raises UnusableBaseline when it is taken, unless `force`."""
    path = path_of(name, where)
    if path.exists() and not force:
        raise UnusableBaseline(f"{name}: is there already, in {path}; --force replaces it")
    path.parent.mkdir(parents=True, exist_ok=True)
    saved = datetime.now(UTC).isoformat(timespec="seconds")
    with atomic_write(path) as file:
        file.write(text_of(tuple(runs), traceq=__version__, saved=saved))
    return path


def names(where: Path | None = None) -> Iterator[str]:
    """The names of all baselines, sorted."""
    yield from sorted(path.stem for path in (where or directory()).glob("*.json") if _NAME.fullmatch(path.stem))


def drop(name: str, where: Path | None = None) -> Path:
    """Delete the baseline and say which file that was. Raises UnusableBaseline when there is none."""
    path = path_of(name, where)
    try:
        path.unlink()
    except FileNotFoundError:
        raise UnusableBaseline(missing(name, where)) from None
    return path


def missing(name: str, where: Path | None = None) -> str:
    """What to say of a baseline that there is not."""
    there = ", ".join(names(where)) or "none"
    return f"{name}: no such baseline in {where or directory()} (there: {there}); traceq baseline save makes one"
