"""Where a dataset lies: a folder of this machine, or an address that fsspec knows (s3://, gs://, az://, memory://)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote

import fsspec
from fsspec.implementations.local import LocalFileSystem

from traceq.errors import StoreError

# With a drive letter of Windows a path is no address.
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]+://")

# What Hive writes for a value that is not there.
_NOTHING = "__HIVE_DEFAULT_PARTITION__"


def is_address(source: str | Path) -> bool:
    """Whether it names a place of fsspec rather than a path."""
    return bool(_ADDRESS.match(str(source)))


@dataclass(frozen=True)
class Place:
    """A folder by the name that the user gave it. Credentials are found by fsspec in its own ways, and kept nowhere."""

    name: str

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        if not is_address(self.name):
            return LocalFileSystem(), os.path.abspath(self.name)  # noqa: PTH100 - Path.absolute keeps ..
        try:
            fs, path = fsspec.core.url_to_fs(self.name.rstrip("/"))
        except (ImportError, ValueError) as error:
            raise StoreError(f"{self.name}: cannot be reached: {error}") from error
        return fs, str(path)

    @property
    def fs(self) -> Any:
        """The file system of fsspec."""
        return self._opened[0]

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""
        return isinstance(self.fs, LocalFileSystem)

    @property
    def protocol(self) -> str:
        """The name by which DuckDB is told of its file system."""
        found = self.fs.protocol
        return str(found if isinstance(found, str) else found[0])

    def path(self, *parts: str) -> str:
        """The path of something in it, for `fs`."""
        return "/".join((self._opened[1], *parts))

    def address(self, *parts: str) -> str:
        """The same for DuckDB, which tells file systems apart by what stands before ://."""
        return self.path(*parts) if self.is_local else f"{self.protocol}://{self.path(*parts)}"

    def read(self, *parts: str) -> bytes | None:
        """The content of a file, None where there is none."""
        with self._said():
            try:
                return bytes(self.fs.cat_file(self.path(*parts)))
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None

    def write(self, content: bytes, *parts: str, is_new: bool = False) -> None:
        """Write a file so that readers see the old one or the new one; with `is_new` raise FileExistsError if there is one."""
        path = self.path(*parts)
        with self._said():
            self.fs.makedirs(path.rpartition("/")[0], exist_ok=True)
            if is_new:
                self.fs.pipe_file(path, content, mode="create")
            elif self.is_local:
                part = Path(f"{path}.{os.getpid()}.part")
                part.write_bytes(content)
                part.replace(path)
            else:
                self.fs.pipe_file(path, content)

    def put(self, folder: Path, *parts: str) -> None:
        """Copy the files of a local folder to one in it."""
        with self._said():
            self.fs.makedirs(self.path(*parts), exist_ok=True)
            for each in sorted(folder.iterdir()):
                self.fs.put_file(str(each), self.path(*parts, each.name))

    def move(self, source: str, target: str) -> None:
        """Move a folder in it: a rename here, copies within an object store, which has no folders."""
        with self._said():
            self.fs.makedirs(self.path(target).rpartition("/")[0], exist_ok=True)
            if self.is_local:
                os.replace(self.path(source), self.path(target))  # noqa: PTH105 - paths are strings of fsspec
                return
            for each in self.fs.find(self.path(source)):
                self.fs.mv(each, self.path(target) + each.removeprefix(self.path(source)))

    def remove(self, *parts: str) -> None:
        """Remove a file or a folder with all that is in it; what is not there is gone already."""
        with self._said():
            try:
                self.fs.rm(self.path(*parts), recursive=True)
            except FileNotFoundError:
                return

    def remove_files(self, paths: Iterable[str]) -> None:
        """Remove files in it, and folders of this machine that are empty then."""
        paths = list(paths)
        if not paths:
            return
        with self._said():
            self.fs.rm([self.path(each) for each in paths])
        if self.is_local:
            folders = {str(folder) for each in paths for folder in PurePosixPath(each).parents if folder.name}
            for each in sorted(folders, reverse=True):
                with suppress(OSError):
                    Path(self.path(each)).rmdir()

    def names(self, *parts: str) -> list[str]:
        """Names of what is in a folder of it, sorted."""
        with self._said():
            try:
                # what was listed before may have changed since
                self.fs.invalidate_cache()
                return sorted(
                    each.rstrip("/").rpartition("/")[2] for each in self.fs.ls(self.path(*parts), detail=False)
                )
            except (FileNotFoundError, NotADirectoryError):
                return []

    def sizes(self, *parts: str) -> dict[str, int]:
        """Bytes of every file in a folder of it and below, by its path in the dataset."""
        root = f"{self.path()}/"
        with self._said():
            self.fs.invalidate_cache()
            found = self.fs.find(self.path(*parts), detail=True)
            return {path.removeprefix(root): int(info["size"]) for path, info in sorted(found.items())}

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Failures of the file system as errors that name the place."""
        try:
            yield
        except FileExistsError:
            raise
        except OSError as error:
            raise StoreError(f"{self.name}: {error.strerror or error}") from error


def read_json(place: Place, *parts: str) -> Any:
    """The content of a JSON file, None where there is none. Raises StoreError for one that is damaged."""
    content = place.read(*parts)
    if content is None:
        return None
    try:
        return json.loads(content)
    except ValueError as error:
        raise StoreError(f"{place.name}: {'/'.join(parts)} is damaged: {error}") from error


def folder_of(run: str | None, window: int, rank: int | None = None) -> str:
    """The folder of a window, or of a rank in it, relative to the dataset: run=NAME/window=N/rank=N, as Hive writes them."""
    parts = [f"run={_NOTHING if run is None else quote(run, safe=' ')}", f"window={window}"]
    return "/".join(parts if rank is None else [*parts, f"rank={rank}"])


def run_of(folder: str) -> str | None:
    """The run of such a folder."""
    value = folder.partition("/")[0].removeprefix("run=")
    return None if value == _NOTHING else unquote(value)
