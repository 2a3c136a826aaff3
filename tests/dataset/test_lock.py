"""Two writers of one dataset: one wins, the other is told."""

from __future__ import annotations

import json
import os
import socket
import threading

import pytest

from traceq.dataset import lock
from traceq.dataset.place import Place
from traceq.errors import StoreError


@pytest.fixture(params=["folder", "memory"])
def place(request, tmp_path):
    return Place(str(tmp_path / "data") if request.param == "folder" else f"memory://{tmp_path.name}")


def leave(place, **changed):
    """Put a lock there as another writer would have left it."""
    writer = {"token": "other", "host": socket.gethostname(), "pid": os.getpid(), "since": "09:00", "beat": 0.0}
    place.write(json.dumps(writer | changed).encode(), lock.NAME)


def test_a_second_writer_is_told_of_the_first(place):
    with lock.writing(place) as check:
        check()
        with pytest.raises(StoreError, match=rf"is being written by process {os.getpid()} on "), lock.writing(place):
            pass
        check()
    assert place.names() == []


def test_a_dead_process_of_this_machine_is_taken_over_from(place):
    leave(place, pid=2**22 + 1)
    with lock.writing(place) as check:
        check()


def test_a_writer_elsewhere_is_dead_when_it_has_been_silent(place):
    leave(place, host="elsewhere", beat=0.0)
    with lock.writing(place) as check:
        check()


def test_a_writer_that_was_taken_over_from_is_told_before_it_writes(place):
    with lock.writing(place) as check:
        leave(place)
        with pytest.raises(StoreError, match="somebody else has taken over"):
            check()
    assert place.names() == [lock.NAME]


def test_one_who_waits_has_its_turn_when_the_other_is_done(place, monkeypatch):
    monkeypatch.setattr(lock, "_LOOK", 0.01)
    leave(place)
    threading.Timer(0.2, place.remove, [lock.NAME]).start()
    with lock.writing(place, wait=30) as check:
        check()


def test_one_who_has_waited_long_enough_is_told_of_the_other(place, monkeypatch):
    monkeypatch.setattr(lock, "_LOOK", 0.01)
    leave(place)
    with pytest.raises(StoreError, match="let this one wait for it with --wait 10min"), lock.writing(place, wait=0.1):
        pass
