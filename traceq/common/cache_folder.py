"""The directory where traceq keeps what it can make again: whose it is, how large, and whether it is wanted."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traceq.common import signals
from traceq.common.owner import PATTERN, owner_word
from traceq.common.scratch import remove, remove_gone
from traceq.common.units import parse_size
from traceq.errors import WrongUse

# All that is in it, bytes.
_LIMIT = 10 << 30

# Names of what is kept: judged and empty databases, marks of what was looked at, and the key of pseudonyms.
_KEPT = re.compile(r"[^/]*-[0-9a-f]{32}\.(?:duckdb|db)|looked-at|program\.key")

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

_PART = re.compile(rf"\.({PATTERN})\.[^/]*")


def cache_path() -> Path:
    """Return the path of traceq's cache: $TRACEQ_CACHE, else traceq in $XDG_CACHE_HOME or ~/.cache."""
    said = os.environ.get("TRACEQ_CACHE")
    if said:
        return Path(said)
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification ignores a relative path.
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "traceq"


def cache_limit() -> int:
    """Return the largest total size of the cache, bytes: $TRACEQ_CACHE_LIMIT, else 10 GiB. Raises WrongUse for no size."""
    said = os.environ.get("TRACEQ_CACHE_LIMIT")
    if not said:
        return _LIMIT
    try:
        return parse_size(said)
    except ValueError as error:
        raise WrongUse(f"TRACEQ_CACHE_LIMIT: {error}") from error


def is_cache_wanted() -> bool:
    """Return whether the cache is on: TRACEQ_NO_CACHE is not set, and the size limit is not 0."""
    return not os.environ.get("TRACEQ_NO_CACHE") and cache_limit() > 0


def prepare_cache(place: Path) -> None:
    """Make the cache folder `place`, readable by its owner only, and remove partial files of killed processes in it.

    What others could have put there, or renamed, is removed. Raises OSError where the folder belongs to another user, or
    is one that all share.
    """
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = place.stat()
    if hasattr(os, "getuid") and facts.st_uid != os.getuid():
        raise OSError(f"it belongs to user {facts.st_uid}")
    if facts.st_mode & stat.S_ISVTX:
        raise OSError("several users share this folder: set TRACEQ_CACHE to one of your own")
    if stat.S_IMODE(facts.st_mode) & 0o077:
        place.chmod(0o700)
    if facts.st_mode & _WRITABLE_BY_OTHERS:
        for path in place.iterdir():
            if _KEPT.fullmatch(path.name):
                remove(path)
    remove_gone(place, _PART)


def is_own(kept: Path) -> bool:
    """Return whether a file or folder in the cache is this user's and no link, and no other user can have put it there."""
    try:
        facts, folder = kept.lstat(), kept.parent.stat()
    except OSError:
        return False
    user = os.getuid() if hasattr(os, "getuid") else facts.st_uid
    is_open = folder.st_mode & _WRITABLE_BY_OTHERS
    return facts.st_uid == folder.st_uid == user and not stat.S_ISLNK(facts.st_mode) and not is_open


@contextmanager
def partial_path(wanted: Path) -> Iterator[Path]:
    """Yield a path beside `wanted` that only this process uses, to write and then rename to `wanted`.

    It is removed after the block if it still exists.
    """
    part = wanted.with_name(f".{owner_word()}.{wanted.name}")
    remove(part)
    with signals.remove_on_signal(part):
        try:
            yield part
        finally:
            remove(part)
