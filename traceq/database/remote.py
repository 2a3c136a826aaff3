"""The files of a dataset elsewhere, as DuckDB reads them through fsspec: those below its folder, and nothing is written.

DuckDB's own way to object stores is an extension that it would download; it is never asked for, as the files are named by a
protocol of ours, which tells neither store nor credentials.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection
from datetime import UTC, datetime
from io import SEEK_CUR, SEEK_END, SEEK_SET
from typing import TYPE_CHECKING, Any

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs

from traceq.common.secret import mask_secrets

if TYPE_CHECKING:
    import duckdb

PROTOCOL = "dataset"
_ROOT = f"{PROTOCOL}:///"

# Bytes that one request brings: most files of a piece are smaller, and of these nothing else is asked.
_FIRST = 1 << 20

# Bytes that are asked for at once of larger files, by DuckDB, which keeps them.
_PART = 4 << 20

# Bytes of beginnings that are kept: DuckDB opens a file several times for one query, and keeps what it has read itself.
_KEPT = 64 << 20

# Files of a dataset never change, so that DuckDB may keep what it has read of them.
_MODIFIED = datetime(2000, 1, 1, tzinfo=UTC)


def address_of(*parts: str) -> str:
    """Return the address by which DuckDB reads a file of the dataset; `parts` is its path below the dataset's folder."""
    return _ROOT + "/".join(parts)


def read_through(connection: duckdb.DuckDBPyConnection, name: str, soon: Collection[str] = ()) -> None:
    """Let the connection read files of the dataset at the address `name` under `address_of` them, without loading extensions.

    The beginnings of the files `soon` are fetched at once.
    """
    connection.execute("set autoinstall_known_extensions = false")
    connection.execute("set autoload_known_extensions = false")
    # to DuckDB a file system of Python is of this machine
    connection.execute("set cache_local_files = true")
    connection.execute(f"set external_file_cache_local_max_block_size = {_PART}")
    connection.execute("set parquet_metadata_cache = true")
    if not connection.filesystem_is_registered(PROTOCOL):
        sealed = Sealed(name)
        sealed.fetch(soon)
        connection.register_filesystem(sealed)


class Sealed(AbstractFileSystem):  # type: ignore[misc]
    """A read-only file system of the files below one folder of another file system."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._fs, folder = url_to_fs(name)
        self._folder = str(folder).rstrip("/")
        self._lock = threading.Lock()
        self._first: OrderedDict[str, bytes] = OrderedDict()
        self._sizes: dict[str, int] = {}

    def open(self, path: str, mode: str = "rb", **_options: Any) -> _RemoteFile:
        """Open the file for reading, without reading any of it yet. Raises PermissionError for other modes."""
        if mode != "rb":
            raise PermissionError(f"{self._name}: a query can read only its dataset")
        return _RemoteFile(self, self._inside(path))

    def glob(self, path: str, **_options: Any) -> list[str]:
        """Return the path as the only match: paths are never patterns, though names may hold characters of patterns."""
        return [path]

    def isdir(self, _path: str) -> bool:
        """Return False, as DuckDB asks for files only."""
        return False

    def exists(self, _path: str, **_options: Any) -> bool:
        """Return False, as DuckDB asks only before it overwrites a file, and nothing is ever written."""
        return False

    def unstrip_protocol(self, name: str) -> str:
        """Return the name unchanged; DuckDB asks fsspec file systems for it."""
        return name

    def size(self, path: str) -> int:
        """Return the size of the file at the address `path`, bytes."""
        return self.size_of(self._inside(path))

    def size_of(self, inside: str) -> int:
        """Return the size of a file, bytes, by its path in the other file system."""
        if inside not in self._sizes:
            self.first(inside)
        return self._sizes[inside]

    def modified(self, _path: str) -> datetime:
        """Return a fixed time: files of a dataset never change."""
        return _MODIFIED

    def _inside(self, path: str) -> str:
        """Return the path in the other file system. Raises PermissionError for addresses outside the folder."""
        parts = path.removeprefix(_ROOT).split("/")
        if not path.startswith(_ROOT) or {"", ".", ".."} & set(parts):
            raise PermissionError(f"{path}: a query can read only its dataset")
        return "/".join((self._folder, *parts))

    def first(self, inside: str) -> bytes:
        """Return the first bytes of a file (all of a small one), by its path in the other file system; cached."""
        with self._lock:
            found = self._first.get(inside)
            if found is not None:
                self._first.move_to_end(inside)
                return found
        found = self.part(inside, 0, _FIRST)
        self._keep(inside, found)
        return found

    def fetch(self, paths: Collection[str]) -> None:
        """Fetch the first bytes of several files of the dataset in one request, and keep them."""
        inside = [self._inside(path) for path in paths]
        begins, ends = [0] * len(inside), [_FIRST] * len(inside)
        for path, found in zip(inside, self._asked("cat_ranges", inside, begins, ends, on_error="raise"), strict=True):
            self._keep(path, bytes(found))

    def _keep(self, inside: str, found: bytes) -> None:
        """Keep the first bytes of a file, and its size; the oldest are dropped beyond 64 MiB."""
        if inside not in self._sizes:
            self._sizes[inside] = len(found) if len(found) < _FIRST else int(self._asked("size", inside))
        with self._lock:
            self._first[inside] = found
            while sum(map(len, self._first.values())) > _KEPT:
                self._first.popitem(last=False)

    def part(self, inside: str, begin: int, end: int) -> bytes:
        """Return bytes [begin, end) of a file, by its path in the other file system."""
        return bytes(self._asked("cat_file", inside, start=begin, end=end))

    def _asked(self, what: str, *given: Any, **options: Any) -> Any:
        """Call the method `what` of the other file system. Raises OSError, naming the dataset, for any of its errors."""
        try:
            return getattr(self._fs, what)(*given, **options)
        except Exception as error:
            # each file system has errors of its own, of the network among them
            reason = str(error) or type(error).__name__
            raise OSError(f"{self._name}: {mask_secrets(' '.join(reason.split()))}") from error


class _RemoteFile:
    """A file of the dataset, opened for reading at any position."""

    def __init__(self, fs: Sealed, inside: str) -> None:
        self._fs, self._inside, self._at = fs, inside, 0

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Move to `offset` from the start, the position or the end (`whence`), and return the new position."""
        if whence == SEEK_END:
            offset += self._fs.size_of(self._inside)
        elif whence == SEEK_CUR:
            offset += self._at
        self._at = offset
        return offset

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes from the position; the rest of the file if `size` is negative."""
        whole = self._fs.size_of(self._inside)
        end = whole if size < 0 else min(self._at + size, whole)
        first = self._fs.first(self._inside)
        found = first[self._at : end] if end <= len(first) else self._fs.part(self._inside, self._at, end)
        self._at += len(found)
        return found

    def close(self) -> None:
        """Do nothing: no handle is open."""
