"""One writer at a time: writer.json in the dataset says who writes, and since when."""

from __future__ import annotations

import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime

import msgspec

from traceq.common import ending
from traceq.common.process import is_running
from traceq.dataset.place import Place, read_json
from traceq.errors import StoreError

NAME = "writer.json"

# Seconds: how often a writer says that it is there, and after how long of silence one of another machine is taken for dead.
_BEAT, _SILENCE = 60.0, 900.0

# Seconds between looks of who waits for its turn.
_LOOK = 1.0


class _Writer(msgspec.Struct):
    token: str
    host: str
    pid: int
    since: str
    beat: float


@contextmanager
def writing(place: Place, wait: float = 0) -> Iterator[Callable[[], None]]:
    """Be the one who writes the dataset; gives what raises StoreError when somebody else has taken over.

    Raises StoreError when another one writes, and still does after `wait` seconds. One that is dead is taken over from: of
    this machine at once, of another one that has been silent for a quarter of an hour.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    mine = _Writer(secrets.token_hex(8), socket.gethostname(), os.getpid(), now, time.time())
    _take(place, mine, time.monotonic() + wait)
    over = threading.Event()
    beats = threading.Thread(target=_beat, args=(place, mine, over), daemon=True)
    beats.start()
    try:
        # Of a dataset elsewhere it stays after a signal, and counts for nothing after a while.
        with ending.scratch(place.path(NAME)) if place.is_local else nullcontext():
            yield lambda: _check(place, mine)
    finally:
        over.set()
        beats.join()
        if (found := _found(place)) is not None and found.token == mine.token:
            place.remove(NAME)


def token(place: Place) -> str | None:
    """What tells who writes the dataset from all others; None when nobody does."""
    found = _found(place)
    return None if found is None else found.token


def _take(place: Place, mine: _Writer, until: float) -> None:
    while not _is_taken(place, mine):
        found = _found(place)
        if found is None:
            continue
        if _is_dead(found):
            place.remove(NAME)
        elif time.monotonic() < until:
            time.sleep(random.uniform(0.5, 1.5) * _LOOK)  # noqa: S311 - so that those who wait do not look all at once
        else:
            who = f"process {found.pid} on {found.host}, since {found.since}"
            raise StoreError(
                f"{place.name}: is being written by {who}; let this one wait for it with --wait 10min, or remove {NAME} in it if"
                " that process is gone"
            )


def _is_taken(place: Place, mine: _Writer) -> bool:
    """Whether the lock is ours now: it was nobody's."""
    try:
        place.write(msgspec.json.encode(mine), NAME, is_new=True)
    except FileExistsError:
        return False
    return True


def _found(place: Place) -> _Writer | None:
    if place.read(NAME) == b"":
        time.sleep(_LOOK)  # it was made just now, and is not written yet
    content = read_json(place, NAME)
    try:
        return None if content is None else msgspec.convert(content, _Writer)
    except msgspec.ValidationError as error:
        raise StoreError(f"{place.name}: {NAME} is damaged: {error}; remove it if nobody writes") from error


def _is_dead(writer: _Writer) -> bool:
    if writer.host == socket.gethostname():
        return not is_running(writer.pid)
    return time.time() - writer.beat > _SILENCE


def _check(place: Place, mine: _Writer) -> None:
    found = _found(place)
    if found is None or found.token != mine.token:
        raise StoreError(f"{place.name}: somebody else has taken over as its writer; nothing was written, try again")


def _beat(place: Place, mine: _Writer, over: threading.Event) -> None:
    while not over.wait(_BEAT):
        try:
            _check(place, mine)
            mine.beat = time.time()
            place.write(msgspec.json.encode(mine), NAME)
        except (StoreError, OSError):
            return  # what commits looks again, and says it
