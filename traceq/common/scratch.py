"""Temporary folders that go with their process: in the end, when a signal ends it, and by the next traceq when it was killed."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traceq.common import signals
from traceq.common.owner import PATTERN, is_gone, owner_word
from traceq.errors import StoreError

# Not of every folder that begins so: what `traceq demo` makes is the user's.
_OURS = re.compile(rf"traceq-({PATTERN})-[0-9a-f]{{8}}")


_STALE_SECONDS = 3600


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new temporary folder, which is removed after the block. Raises StoreError where none can be made."""
    try:
        place = Path(tempfile.gettempdir())
    except OSError as error:
        raise _no_folder(error) from error
    remove_abandoned()
    folder = place / f"traceq-{owner_word()}-{secrets.token_hex(4)}"
    with signals.remove_on_signal(folder):
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise _no_folder(error) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _no_folder(error: OSError) -> StoreError:
    """Return the error for a temporary folder that cannot be made."""
    return StoreError(
        f"no temporary directory can be made: {error.strerror}; set TMPDIR to a place that can be written"
    )


def remove_abandoned() -> None:
    """Remove traceq's temporary folders whose process has ended."""
    remove_gone(Path(tempfile.gettempdir()), _OURS)


def remove_gone(place: Path, pattern: re.Pattern[str]) -> None:
    """Remove the folder's files and folders whose names match `pattern` and whose owner has ended.

    The first group of `pattern` is the owner's word. Those of other machines go when they were not written for an hour.
    """
    for path in place.glob("*"):
        match = pattern.fullmatch(path.name)
        if match is None:
            continue
        gone = is_gone(match[1])
        # A process of another machine may be at work: who has not written for an hour is not.
        if gone or (gone is None and _age_of(path) > _STALE_SECONDS):
            remove(path)


def _age_of(path: Path) -> float:
    """Return the seconds since the file, or any file in the folder, was last written; 0 if it vanishes meanwhile."""
    try:
        return time.time() - max(file.stat().st_mtime for file in (path, *path.rglob("*")))
    except FileNotFoundError:
        return 0.0


def remove(path: Path) -> None:
    """Remove a file or folder; errors and missing files are ignored."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
