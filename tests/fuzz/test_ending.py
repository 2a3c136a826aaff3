"""The end of a process by signals, at places that luck seldom finds."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


def run_ending(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def test_a_second_signal_while_the_first_is_answered():
    code = """
import os, signal
from traceq.common import signals
signals.end_on_signals()
stop = signals._stop_children
signals._stop_children = lambda: (signal.pthread_sigmask(signal.SIG_UNBLOCK, signals._NUMBERS), ending_again(), stop())
def ending_again():
    signals._stop_children = stop
    signal.raise_signal(signal.SIGTERM)
signals._end_process(signal.SIGTERM, None)
"""
    assert run_ending(code) == (128 + signal.SIGTERM, "traceq: ended by SIGTERM\n")


def test_scratch_and_children_go_although_the_main_thread_is_inside_a_library(tmp_path):
    code = f"""
import ctypes, pathlib, subprocess, sys, threading, os, signal, time
from traceq.common import signals
signals.end_on_signals()
scratch = pathlib.Path({str(tmp_path / "scratch")!r})
with signals.remove_on_signal(scratch):
    scratch.mkdir()
    (scratch / "file").touch()
    child = subprocess.Popen(["sleep", "1000"])
    pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(child.pid))
    threading.Timer(0.2, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)).start()
    mutex = ctypes.create_string_buffer(64)
    libc = ctypes.CDLL(None)
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)  # waits for ever, and no signal wakes it
"""
    assert run_ending(code) == (128 + signal.SIGINT, "traceq: interrupted\n")
    assert not (tmp_path / "scratch").exists()
    pid = (tmp_path / "pid").read_text()
    assert subprocess.run(["ps", "-o", "pid=", "-p", pid], capture_output=True, check=False).stdout == b""


def test_blocks_that_end_themselves_get_exceptions():
    code = """
import signal
from traceq.common import signals
signals.end_on_signals()
with signals.raise_signals():
    for number, kind in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, signals.Ended)):
        try:
            signal.raise_signal(number)
        except kind:
            print("raised")
signal.raise_signal(signal.SIGTERM)
"""
    assert run_ending(code)[1] == "traceq: ended by SIGTERM\n"
