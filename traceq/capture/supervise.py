"""Running the user's program in the user's terminal: its output, its signals and its exit code are its own."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from traceq.common import signals

# What a terminal, a batch system or a user sends to end a job or to make it write a checkpoint.
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_ENDING = {signal.SIGINT, signal.SIGTERM}
_WATCHED = {*_PASSED_ON, signal.SIGCHLD}

# Linux' si_code of a signal that the kernel sent (Ctrl-C): to the whole foreground group, so the program has it already.
_BY_KERNEL = 128

# Seconds a program has after it was told twice to end.
_PATIENCE = 5.0

# Seconds to wait for anything to happen, when nothing is due.
_LONG = 60.0


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command to its end and return its exit code, 128 + n when signal n ended it.

    Signals are passed on to the program. Told a second time to end by SIGINT or SIGTERM, it is killed if it still
    runs 5 s later. Raises OSError when the command cannot be started.
    """
    with signals.leave_signals(), _hold_signals() as early:
        # Handlers are not inherited by what is executed; blocked signals would be.
        child = subprocess.Popen(command, env=dict(environment))
        if hasattr(signal, "sigtimedwait"):
            signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
            _pass_on(child, early)
            _wait(child)
        else:  # macOS
            _wait_polling(child, early)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


@contextmanager
def _hold_signals() -> Iterator[list[int]]:
    """Collect the signals that arrive before there is a program, and forget those that arrive after its end."""
    early: list[int] = []
    # What is ignored (by nohup, or in the background) stays so, also for the program.
    caught = [number for number in _PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, lambda number, _frame: early.append(number)) for number in caught}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        yield early
    finally:
        # Handlers run when the mask falls; until then they are the collecting ones.
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_on(child: subprocess.Popen[bytes], numbers: list[int]) -> None:
    while numbers:
        child.send_signal(numbers.pop(0))


def _wait(child: subprocess.Popen[bytes]) -> None:
    told, deadline = 0, None
    while child.poll() is None:
        info = signal.sigtimedwait(_WATCHED, _LONG if deadline is None else max(0.0, deadline - time.monotonic()))
        if info is None:
            if deadline is not None:
                child.kill()
        elif info.si_signo != signal.SIGCHLD:
            if info.si_signo != signal.SIGINT or info.si_code != _BY_KERNEL:
                child.send_signal(info.si_signo)
            told += info.si_signo in _ENDING
            if told > 1 and deadline is None:
                deadline = time.monotonic() + _PATIENCE


def _wait_polling(child: subprocess.Popen[bytes], arrived: list[int]) -> None:
    """Wait where signals do not say who sent them: SIGINT is taken for Ctrl-C, which the program has already."""
    while child.poll() is None:
        while signal.SIGINT in arrived:
            arrived.remove(signal.SIGINT)
        _pass_on(child, arrived)
        time.sleep(0.05)
