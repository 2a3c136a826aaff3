"""Standard streams that were closed before the program began (`traceq report DB >&-`)."""

from __future__ import annotations

import errno
import io
import os
import sys


def replace_closed() -> None:
    """Open the standard streams that are closed: empty input, output that fails on writing, and errors that nobody reads.

    Otherwise the next file opened, such as a database, would get the stream's number and everything written to it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 - stderr
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = sys.stdout or io.TextIOWrapper(io.BufferedWriter(_ClosedStream()), encoding="utf-8")
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as above


class _ClosedStream(io.RawIOBase):
    """A stand-in for a closed standard output: the first write raises; Python's retry at exit is dropped."""

    has_failed = False

    def fileno(self) -> int:
        """Return 1, the number of standard output."""
        return 1

    def writable(self) -> bool:
        """Return True, so that callers try to write."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Raise OSError on the first call; later drop the data and return its length."""
        if self.has_failed:
            return len(data)
        self.has_failed = True
        raise OSError(errno.EBADF, "standard output is closed")
