"""Standard streams that were closed before the program began (`traceq report DB >&-`)."""

from __future__ import annotations

import errno
import io
import os
import sys


def replace_closed() -> None:
    """Open the standard streams that are closed: no input, output that cannot be written, and nobody who reads errors.

    Until then the next file that is opened, a database for one, takes the number of the stream, and gets what is written to it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 - stderr
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = sys.stdout or io.TextIOWrapper(io.BufferedWriter(_ClosedStream()), encoding="utf-8")
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as above


class _ClosedStream(io.RawIOBase):
    """Standard output that is closed: the first write fails; what Python tries again when it exits is dropped."""

    has_failed = False

    def fileno(self) -> int:
        """Return the number of the stream."""
        return 1

    def writable(self) -> bool:
        """Return True: callers may write."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Raise OSError, once."""
        if self.has_failed:
            return len(data)
        self.has_failed = True
        raise OSError(errno.EBADF, "standard output is closed")
