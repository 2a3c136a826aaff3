"""End the program on a signal, at any moment and inside any library: one line is printed, nothing is left behind.

An exception would not do. Libraries answer it with one of their own, swallow it, or notice it minutes later. So the process
becomes another program at once, which is this file: that takes the threads with it, ends child processes and removes scratch.
What traceq makes is put in its place by one rename: it is there, or what was there before is.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

# Batch systems send the first two. Windows has no SIGHUP.
_NUMBERS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name))

_PROCESSES = "/proc"

# The cursor, which a progress bar hides, and an empty line in the place of the bar.
_TIDY = "\x1b[?25h\r\x1b[K"

# What is removed when a signal comes.
_scratch: dict[str, None] = {}
# A second signal may come in here: then the end begins again, in the same thread.
_ending = threading.RLock()

# The end of a pipe to the thread that hears of signals, once there is one; and what stands in it for the end of `elsewhere`.
_wakeup_pipes: list[int] = []
_BACK = 0


class Ended(SystemExit):
    """The exception that a signal other than Ctrl-C raises within raise_signals; `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


@contextmanager
def remove_on_signal(path: str | os.PathLike[str]) -> Iterator[None]:
    """Remove the file or folder, which need not exist yet, if a signal ends the process inside the block."""
    name = os.path.abspath(path)  # noqa: PTH100 - pathlib takes 5 ms to import
    _scratch[name] = None
    try:
        yield
    finally:
        _scratch.pop(name, None)


def remove_on_exit(path: str | os.PathLike[str]) -> None:
    """Remove the file or folder if a signal ends the process at any later time."""
    _scratch[os.path.abspath(path)] = None  # noqa: PTH100 - as above


def end_on_signals() -> None:
    """Install handlers that end this process of traceq's own on SIGTERM, SIGHUP and SIGINT; ignored signals stay ignored."""
    for number in _NUMBERS:
        # Ignored under nohup, also by a program that `record` runs.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end_process)
    # Registered first, it runs last. Python then gives signals back to the system, which would end what is done without a line.
    atexit.register(_ignore_signals)
    if not _wakeup_pipes and hasattr(signal, "pthread_sigmask"):
        _watch()


def _ignore_signals() -> None:
    """Ignore the signals that would end this process, as it ends already."""
    for number in _NUMBERS:
        if signal.getsignal(number) is _end_process:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def raise_signals() -> Iterator[None]:
    """Make signals inside the block raise exceptions: KeyboardInterrupt for Ctrl-C, Ended for others."""
    before = {
        number: signal.signal(number, _raise_signal) for number in _NUMBERS if signal.getsignal(number) is _end_process
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt for Ctrl-C, and Ended for another signal; a signal handler."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise Ended(number)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Delay the exceptions of raise_signals to the end of the block, so that what it starts is not lost."""
    came: list[int] = []
    numbers = [number for number in _NUMBERS if signal.getsignal(number) is _raise_signal]
    for number in numbers:
        signal.signal(number, lambda told, _frame: came.append(told))
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, _raise_signal)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Block Ctrl-C for processes that this thread starts inside the block."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def leave_signals() -> Iterator[None]:
    """Leave signals inside the block to the handlers that the block sets itself."""
    global _is_elsewhere  # noqa: PLW0603 - a process has one set of handlers
    _is_elsewhere = True
    try:
        yield
    finally:
        # Signals are told in order: those before this are none of ours, even if they are heard of later.
        for told in _wakeup_pipes:
            os.write(told, bytes([_BACK]))


_is_elsewhere = False


def _watch() -> None:
    """Start a thread that handles signals while the main thread is inside a library and cannot run Python handlers."""
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    _wakeup_pipes.append(told)

    def hear_signals() -> None:
        global _is_elsewhere  # noqa: PLW0603 - see above
        while True:
            (number,) = os.read(heard, 1)
            if number == _BACK:
                _is_elsewhere = False
            elif not _is_elsewhere and signal.getsignal(number) is _end_process:
                _end_process(number, None)

    # Threads inherit what is blocked: no signal is for this one.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        threading.Thread(target=hear_signals, daemon=True, name="traceq-signals").start()
    except RuntimeError:
        # No more threads are allowed: the handlers of the main thread have to do.
        return
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def give_up(line: str) -> None:
    """Print the line and end this process with exit code 1, for work that cannot be stopped otherwise.

    Do nothing in a process that is not traceq's own.
    """
    if _wakeup_pipes:
        os.write(2, f"{_TIDY if os.isatty(2) else ''}{line}\n".encode())
        _end_process(0, None)


def _end_process(number: int, _frame: FrameType | None) -> NoReturn:
    """End this process at once: stop its children, and start this file as a program that cleans up.

    A signal handler. `number` is the signal, 0 for none. Where no program can be started, clean up here.
    """
    if not _ending.acquire(blocking=False):
        while True:  # the other thread does it
            signal.pause() if hasattr(signal, "pause") else threading.Event().wait()
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)  # inherited: a second signal must not stop the cleaning
    _stop_children()
    arguments = [str(number), *_scratch, *_list_semaphores()]
    if sys.platform != "win32" and sys.executable:
        with suppress(OSError):  # the interpreter is gone, or there is no memory for it
            os.execv(sys.executable, [sys.executable, "-I", "-S", __file__, *arguments])  # noqa: S606 - takes the threads along
    os._exit(_clean_up(arguments))


def _list_descendants() -> list[int]:
    """Return the pids of all descendants of this process; empty where the system does not list processes."""
    children: dict[int, list[int]] = {}
    for name in os.listdir(_PROCESSES) if os.path.isdir(_PROCESSES) else ():  # noqa: PTH112, PTH208 - as above
        if name.isdecimal():
            with suppress(OSError), open(f"{_PROCESSES}/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, ())
    return found[1:]


def _stop_children() -> None:
    """Pause all descendants (SIGSTOP), so that none reports the end of this process before it is killed."""
    stopped: set[int] = set()
    while found := set(_list_descendants()) - stopped:
        for pid in found:
            with suppress(OSError):  # has just ended by itself
                os.kill(pid, signal.SIGSTOP)
        stopped |= found


def _list_semaphores() -> list[str]:
    """Return the paths of multiprocessing's semaphores, whose own helper would remove them with a warning."""
    if "multiprocessing.synchronize" not in sys.modules or not sys.platform.startswith("linux"):
        return []
    with open("/proc/self/maps", errors="surrogateescape") as maps:  # noqa: PTH123 - as above
        return [line[line.index("/") :].strip() for line in maps if "/dev/shm/sem.mp-" in line]  # noqa: S108 - a fact


def _clean_up(arguments: list[str]) -> int:
    """Kill all descendants, remove scratch files and folders, print a line on the signal, and return the exit code.

    `arguments` are the signal's number (0 for none) and the paths to remove. The exit code is 128 + number, or 1 for
    none.
    """
    import shutil
    import tempfile
    from pathlib import Path

    number = int(arguments[0])
    if number:
        with suppress(OSError):  # nobody reads it
            what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
            os.write(2, f"{_TIDY if os.isatty(2) else ''}traceq: {what}\n".encode())
    ended = _end_children()
    temporary = Path(tempfile.gettempdir())
    for path in [*map(Path, arguments[1:]), *(folder for pid in ended for folder in temporary.glob(f"traceq-{pid}-*"))]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):  # was never made
                path.unlink()
    return 128 + number if number else 1


def _end_children() -> list[int]:
    """Kill all descendants of this process until there are none, and return their pids."""
    ended: list[int] = []
    while found := _list_descendants():
        for pid in found:
            with suppress(OSError):  # has just ended by itself
                os.kill(pid, signal.SIGKILL)
        ended += found
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
    return ended


if __name__ == "__main__":
    sys.exit(_clean_up(sys.argv[1:]))
