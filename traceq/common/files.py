"""A file that is there in full or not at all."""

from __future__ import annotations

import gzip
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, cast

from traceq.common import signals
from traceq.common.owner import PATTERN, owner_word
from traceq.common.scratch import remove_gone
from traceq.errors import StoreError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ANY_MODE, _PRIVATE = 0o666, 0o600


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` to write, and rename it to `path` when the block ends without an error.

    A file that is replaced keeps its mode. The temporary name is random, and no link that lies there is followed. Devices
    and pipes (/dev/stdout) are written directly. Raises StoreError when the file cannot be written.
    """
    is_direct = path.exists() and not path.is_file()
    try:
        # A link stays; but /dev/stdout leads to names like pipe:[4711], which nothing can open.
        with path.open("wb") if is_direct else replace_file(path.resolve()) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}; choose another file") from error


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` to write, as atomic_write does, but replace a link at `path`, too.

    Raises OSError.
    """
    part = name_part(path)
    found = path.lstat() if os.path.lexists(path) else None
    mode = stat.S_IMODE(found.st_mode) if found is not None and stat.S_ISREG(found.st_mode) else None
    try:
        with signals.remove_on_signal(part):
            # Private from the start, until it has the mode that it is to have.
            descriptor = os.open(part, _NEW, _ANY_MODE if mode is None else _PRIVATE)
            with os.fdopen(descriptor, "wb") as file:
                if mode is not None:
                    os.fchmod(descriptor, mode)
                yield file
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def name_part(path: Path) -> Path:
    """Return a name beside `path` that nobody can guess, for what becomes `path` when it is complete.

    What processes that have ended left under such names is removed.
    """
    remove_gone(path.parent, re.compile(rf"\.{re.escape(path.name)}\.({PATTERN})\.[0-9a-f]{{16}}\.part"))
    return path.with_name(f".{path.name}.{owner_word()}.{token_hex(8)}.part")


@contextmanager
def write_packed(path: Path, *, is_small: bool = False) -> Iterator[BinaryIO]:
    """Open a file as atomic_write does, gzip-compressed if its name ends in .gz: quickly, or with `is_small` smaller.

    Equal content gives equal bytes.
    """
    with atomic_write(path) as file:
        if path.suffix.lower() != ".gz":
            yield file
            return
        # A command that writes none should not wait for it.
        from isal import igzip

        pack = gzip.GzipFile if is_small else igzip.IGzipFile
        level = 6 if is_small else 2
        # No name and time in it.
        with pack(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=level) as compressed:
            yield cast("BinaryIO", compressed)
