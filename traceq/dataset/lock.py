"""One writer at a time: writer.json in the dataset says who writes, and since when."""

from __future__ import annotations

import os
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


class _Writer(msgspec.Struct):
    token: str
    host: str
    pid: int
    since: str
    beat: float


@contextmanager
def writing(place: Place) -> Iterator[Callable[[], None]]:
    """Be the one who writes the dataset; gives what raises StoreError when somebody else has taken over.

    Raises StoreError when another one writes. One that is dead is taken over from: of this machine at once, of another one
    that has been silent for a quarter of an hour.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    mine = _Writer(secrets.token_hex(8), socket.gethostname(), os.getpid(), now, time.time())
    _take(place, mine)
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


def _take(place: Place, mine: _Writer) -> None:
    if _is_taken(place, mine):
        return
    found = _found(place)
    if found is not None and not _is_dead(found):
        who = f"process {found.pid} on {found.host}, since {found.since}"
        raise StoreError(
            f"{place.name}: is being written by {who}; wait for it, or remove {NAME} in it if that process is gone"
        )
    place.remove(NAME)
    if not _is_taken(place, mine):
        raise StoreError(f"{place.name}: somebody else began to write it just now; try again")


def _is_taken(place: Place, mine: _Writer) -> bool:
    """Whether the lock is ours now: it was nobody's."""
    try:
        place.write(msgspec.json.encode(mine), NAME, is_new=True)
    except FileExistsError:
        return False
    return True


def _found(place: Place) -> _Writer | None:
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
