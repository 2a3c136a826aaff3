"""Two writers of one dataset: one wins, the other is told."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from datetime import timedelta

import pytest
from piece_stand_ins import until

from traceq.dataset import lock
from traceq.dataset.place import Place
from traceq.errors import StoreError

read = Place.read


@pytest.fixture(params=["folder", "memory"])
def place(request, tmp_path):
    return Place(str(tmp_path / "data") if request.param == "folder" else f"memory://{tmp_path.name}")


def leave(place, **changed):
    """Put a lock there as another writer would have left it."""
    writer = {"token": "other", "host": socket.gethostname(), "pid": os.getpid(), "since": "09:00"}
    place.write(json.dumps(writer | changed).encode(), lock.NAME)


def grow_old(place, seconds):
    """Let the lock be so old."""
    path = place.path(lock.NAME)
    if place.is_local:
        os.utime(path, (time.time() - seconds,) * 2)
    else:
        place.fs.store[path].modified -= timedelta(seconds=seconds)


def test_a_second_writer_is_told_of_the_first(place):
    with lock.lock_for_writing(place) as check:
        check()
        with (
            pytest.raises(StoreError, match=rf"is being written by process {os.getpid()} on "),
            lock.lock_for_writing(place),
        ):
            pass
        check()
    assert place.list_names() == []


def test_a_dead_process_of_this_machine_is_taken_over_from(place):
    leave(place, pid=2**22 + 1)
    with lock.lock_for_writing(place) as check:
        check()


@pytest.mark.parametrize("beat", [0.0, 1e99])
def test_a_writer_elsewhere_is_dead_when_it_has_been_silent_whatever_its_clock_says(place, beat):
    leave(place, host="elsewhere", beat=beat)
    with pytest.raises(StoreError, match=r"is being written by .* on elsewhere"), lock.lock_for_writing(place):
        pass
    assert place.list_names() == [lock.NAME]
    grow_old(place, 1000)
    with lock.lock_for_writing(place) as check:
        check()
    assert place.list_names() == []


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b'"\xff"', b'{"x":' + b"[" * 50_000])
def test_a_lock_that_is_damaged_is_told_and_passed_over_when_it_is_old(place, monkeypatch, content):
    monkeypatch.setattr(lock, "_LOOK", 0.01)
    place.write(content, lock.NAME)
    with (
        pytest.raises(StoreError, match=r"is empty or damaged.*remove writer\.json in it if nobody"),
        lock.lock_for_writing(place),
    ):
        pass
    grow_old(place, 1000)
    with lock.lock_for_writing(place) as check:
        check()


def test_a_writer_says_that_it_is_there_also_after_the_store_failed(place, monkeypatch):
    monkeypatch.setattr(lock, "_BEAT", 0.01)
    written, failed = [], []

    def write(_self, _content, *parts, **_options):
        (written if failed else failed).append(parts)
        if len(failed) > len(written):
            raise StoreError("does not answer")

    with lock.lock_for_writing(place):
        monkeypatch.setattr(Place, "write", write)
        until(lambda: written)
    assert written[0] == (lock.NAME,)


def test_what_cannot_be_a_lock_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_LOOK", 0.01)
    (tmp_path / "a" / lock.NAME).mkdir(parents=True)
    (tmp_path / "b").write_text("a file")
    (tmp_path / "c").mkdir()
    monkeypatch.setattr(Place, "read", lambda self, *parts: None if self.name.endswith("c") else read(self, *parts))
    (tmp_path / "c" / lock.NAME).write_text("")
    for name, message in (
        ("a", "writer.json: cannot be read: Is a dir"),
        ("b", "is a file"),
        ("c", "neither made nor"),
    ):
        with pytest.raises(StoreError, match=message), lock.lock_for_writing(Place(str(tmp_path / name))):
            pass


def test_a_writer_that_was_taken_over_from_is_told_before_it_writes(place):
    with lock.lock_for_writing(place) as check:
        leave(place)
        with pytest.raises(StoreError, match="another process has taken over"):
            check()
    assert place.list_names() == [lock.NAME]


def test_one_who_waits_has_its_turn_when_the_other_is_done(place, monkeypatch):
    monkeypatch.setattr(lock, "_LOOK", 0.01)
    leave(place)
    threading.Timer(0.2, place.remove, [lock.NAME]).start()
    with lock.lock_for_writing(place, wait=30) as check:
        check()


def test_one_who_has_waited_long_enough_is_told_of_the_other(place, monkeypatch):
    monkeypatch.setattr(lock, "_LOOK", 0.01)
    leave(place)
    with (
        pytest.raises(StoreError, match="let this one wait for it with --wait 10min"),
        lock.lock_for_writing(place, wait=0.1),
    ):
        pass
