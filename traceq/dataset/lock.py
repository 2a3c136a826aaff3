"""One writer at a time: writer.json in the dataset says who writes, and since when."""

from __future__ import annotations

import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime

import msgspec

from traceq.common import signals
from traceq.common.process import is_running
from traceq.dataset.place import Place
from traceq.errors import StoreError

NAME = "writer.json"

# Files that who wants to write asks for the time, and leaves if it is killed.
CLOCKS = r"writer-[0-9a-f]{16}\.json"

# Seconds: how often a writer says that it is there, and after how long of silence one of another machine is taken for dead.
_BEAT, _SILENCE = 60.0, 900.0

# Seconds between looks of who waits for its turn.
_LOOK = 1.0

# So many times one may come and go between two looks before it is told as what cannot be.
_MOST_GONE = 60


class _Writer(msgspec.Struct):
    """The process that holds the lock: a random token, its host and pid, and the time at which it took the lock (ISO 8601)."""

    token: str
    host: str
    pid: int
    since: str


# Of a file that is empty or damaged.
_NOBODY = _Writer("", "", 0, "")


@contextmanager
def lock_for_writing(place: Place, wait: float = 0) -> Iterator[Callable[[], None]]:
    """Hold the dataset's lock during the block.

    Yield a function that raises StoreError if another writer has taken over. Raises StoreError when another writer
    still holds the lock after `wait` seconds. A dead writer's lock is taken over: on this machine at once, of another
    machine after a quarter of an hour of silence. So is an empty or damaged lock.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    mine = _Writer(secrets.token_hex(8), socket.gethostname(), os.getpid(), now)
    _take(place, mine, time.monotonic() + wait)
    over = threading.Event()
    beats = threading.Thread(target=_keep_alive, args=(place, mine, over), daemon=True)
    beats.start()
    try:
        # Of a dataset elsewhere it stays after a signal, and counts for nothing after a while.
        with signals.remove_on_signal(place.path(NAME)) if place.is_local else nullcontext():
            yield lambda: _check(place, mine)
    finally:
        over.set()
        beats.join()
        if (found := _find_writer(place)) is not None and found.token == mine.token:
            place.remove(NAME)


def read_token(place: Place) -> str | None:
    """Return the token of the process that writes the dataset; None when nobody does."""
    found = _find_writer(place)
    return None if found is None else found.token


def _take(place: Place, mine: _Writer, until: float) -> None:
    """Take the lock, waiting for another writer until that time of the monotonic clock. Raises StoreError then."""
    gone = 0
    while not _is_taken(place, mine):
        found = _find_writer(place)
        if found is None and gone < _MOST_GONE:
            gone += 1
            time.sleep(_LOOK / 20)
        elif found is not None and _is_dead(place, found, mine):
            place.remove(NAME)
        elif time.monotonic() < until:
            time.sleep(random.uniform(0.5, 1.5) * _LOOK)  # noqa: S311 - so that those who wait do not look all at once
        else:
            raise StoreError(f"{place.name}: {_describe_writer(found)}; or remove {NAME} in it if nobody writes")


def _describe_writer(found: _Writer | None) -> str:
    """Return words on who holds the lock, for an error; None means that the lock can be neither made nor read."""
    if found is None:
        return f"{NAME} in it can be neither made nor read; try again"
    if found == _NOBODY:
        return (
            f"{NAME} in it is empty or damaged, and is passed over when it is a quarter of an hour old: try again then"
        )
    writer = f"process {found.pid} on {found.host}, since {found.since}"
    return f"is being written by {writer}; let this one wait for it with --wait 10min"


def _is_taken(place: Place, mine: _Writer) -> bool:
    """Try to take the lock; return whether this process holds it now."""
    try:
        place.write(msgspec.json.encode(mine), NAME, is_new=True)
    except FileExistsError:
        return False
    return True


def _find_writer(place: Place) -> _Writer | None:
    """Return the writer in the lock file, which is read again if it seems empty; None without a file."""
    found = _read(place)
    if found == _NOBODY:
        time.sleep(_LOOK)  # it may have been made just now, and is not written yet
        found = _read(place)
    return found


def _read(place: Place) -> _Writer | None:
    """Return the writer in the lock file; _NOBODY if it is empty or damaged, None if it does not exist."""
    content = place.read(NAME)
    try:
        return None if content is None else msgspec.json.decode(content, type=_Writer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _NOBODY


def _is_dead(place: Place, writer: _Writer, mine: _Writer) -> bool:
    """Return whether the writer is gone: on this machine its process, on another one after 15 minutes of silence."""
    if writer.host == socket.gethostname():
        return not is_running(writer.pid)
    silent = place.seconds_since(NAME, f"writer-{mine.token}.json")
    return silent is not None and silent > _SILENCE


def _check(place: Place, mine: _Writer) -> None:
    """Raise StoreError if this process no longer holds the lock."""
    found = _find_writer(place)
    if found is None or found.token != mine.token:
        raise StoreError(f"{place.name}: another process has taken over writing; nothing was written, try again")


def _keep_alive(place: Place, mine: _Writer, over: threading.Event) -> None:
    """Rewrite the lock file until `over`, so that its time of change shows that the writer lives."""
    while not over.wait(_BEAT):
        # what does not answer now may answer next time
        with suppress(StoreError, OSError):
            found = _find_writer(place)
            if found is None or found.token != mine.token:
                return  # what commits looks again, and says it
            place.write(msgspec.json.encode(mine), NAME)
