"""The place of a dataset: a folder of this machine, or an address that fsspec knows (s3://, gs://, az://, memory://)."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import msgspec

from traceq.common.extras import install_command
from traceq.common.secret import mask_secrets
from traceq.database.failures import way_out
from traceq.errors import StoreError

T = TypeVar("T")
R = TypeVar("R")

# With a drive letter of Windows a path is no address.
_ADDRESS = re.compile(r"([A-Za-z][\w+.-]+)://")

# What Hive writes for a value that is not there.
_NOTHING = "__HIVE_DEFAULT_PARTITION__"

# Where a folder is but the beginning of names: nothing has to make it, and to ask for one costs a request, or makes a bucket.
_WITHOUT_FOLDERS = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "memory"}

# Requests of several files each, that wait at the same time.
_AT_ONCE = 16

# Written last and removed first: with it a piece is whole.
_SEAL = "piece.json"

# At the end of the names that `part_of` makes.
PART = r"\.\d+\.[0-9a-f]{8}\.part"


def is_address(source: str | Path) -> bool:
    """Return whether the source is an address of fsspec (s3://...) rather than a path."""
    return bool(_ADDRESS.match(str(source)))


class Place(msgspec.Struct, frozen=True, dict=True):
    """The place of a dataset, under the name that the user gave. fsspec finds credentials itself; none are kept.

    Raises StoreError for an address that contains credentials: error messages, logs and process lists would show them.
    """

    name: str

    def __post_init__(self) -> None:
        shown = mask_secrets(self.name)
        if is_address(self.name) and shown != self.name:
            raise StoreError(
                f"{shown}: holds credentials or a query; leave them out of addresses: fsspec finds credentials in the"
                " environment and its configuration (docs/scale.md)"
            )

    def __reduce__(self) -> tuple[Callable[[str], Place], tuple[str]]:
        # The file system, which knows the credentials, stays here: each process opens its own.
        return Place, (self.name,)

    @cached_property
    def _file_system(self) -> tuple[Any, str]:
        """The fsspec file system and the path in it. Raises StoreError if the address names no place."""
        # Imported on use, as below: most commands name no dataset.
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem

        if not is_address(self.name):
            return LocalFileSystem(), os.path.abspath(self.name)  # noqa: PTH100 - Path.absolute keeps ..
        with self._translate_errors():
            self._check_installed()
            fs, path = url_to_fs(self.name)
        if not path.strip("/"):
            raise StoreError(f"{self.name}: names no place; write e.g. s3://bucket/job")
        return fs, str(path).rstrip("/")

    def _check_installed(self) -> None:
        """Raise StoreError where fsspec does not know the protocol, or lacks the package for it."""
        from fsspec.registry import get_filesystem_class, known_implementations

        protocol = self.name.partition("://")[0]
        try:
            get_filesystem_class(protocol)
        except ValueError as error:
            raise StoreError(f"{self.name}: no file system is known for {protocol}://") from error
        except ImportError as error:
            package = known_implementations[protocol]["class"].partition(".")[0]
            install = install_command("s3") if package == "s3fs" else f"pip install '{package}'"
            raise StoreError(
                f"{self.name}: needs {package}, which is not installed here or not usable ({error.name or error}):"
                f" {install}"
            ) from error

    @property
    def fs(self) -> Any:
        """The fsspec file system of the place."""
        return self._file_system[0]

    @property
    def is_local(self) -> bool:
        """Whether the place is a folder of this machine."""
        from fsspec.implementations.local import LocalFileSystem

        return isinstance(self.fs, LocalFileSystem)

    @property
    def is_of_process(self) -> bool:
        """Whether only this process sees the place (memory://)."""
        return self.protocol == "memory"

    @property
    def protocol(self) -> str:
        """The name of the place's protocol in fsspec."""
        found = self.fs.protocol
        return str(found if isinstance(found, str) else found[0])

    def path(self, *parts: str) -> str:
        """Return the path, for `fs`, of a file or folder in the place."""
        return "/".join((self._file_system[1], *parts))

    def duckdb_path(self, *parts: str) -> str:
        """Return the path of a file in the place for DuckDB: a local path, or a URL that traceq.database.remote reads."""
        from traceq.database.remote import address_of

        return self.path(*parts) if self.is_local else address_of(*parts)

    def refuse_links(self, *parts: str) -> None:
        """Raise StoreError if a file in a local place, or a folder above it, is a link, which may lead out of the place."""
        path = Path(self.path())
        for part in PurePosixPath(*parts).parts:
            path /= part
            if self.is_local and path.is_symlink():
                raise StoreError(
                    f"{self.name}: {path} is a link, which may lead out of the dataset; replace it by what it leads to"
                    " (cp -rL copies like that)"
                )

    def refuse_links_in(self, folder: str, names: Collection[str]) -> None:
        """Raise StoreError if one of these files in a local folder, or a folder above them, is a link.

        The folder is listed once, which costs less than a look at each file.
        """
        self.refuse_links(folder)
        if not self.is_local:
            return
        # what is missing is named when it is read
        with (
            self._translate_errors(),
            suppress(FileNotFoundError, NotADirectoryError),
            os.scandir(self.path(folder)) as found,
        ):
            for entry in found:
                if entry.name in names and entry.is_symlink():
                    self.refuse_links(folder, entry.name)

    def read(self, *parts: str) -> bytes | None:
        """Return the content of a file, None if it does not exist. Raises StoreError if it is a folder, or a link."""
        self.refuse_links(*parts)
        with self._translate_errors():
            try:
                # with a beginning object stores need not be asked for the size first
                return bytes(self.fs.cat_file(self.path(*parts), start=0))
            except FileNotFoundError:
                return None
            except (NotADirectoryError, IsADirectoryError) as error:
                what = "/".join((self.name.rstrip("/"), *parts))
                raise StoreError(f"{what}: cannot be read: {error.strerror or type(error).__name__}") from error

    def write(self, content: bytes, *parts: str, is_new: bool = False) -> None:
        """Write `content` to a file so that readers see either the old content or the new; missing folders are made.

        With `is_new`, raise FileExistsError if the file exists.
        """
        self.refuse_links(*parts)
        path = self.path(*parts)
        with self._translate_errors():
            self._make_folder(path.rpartition("/")[0])
            if self.is_local:
                _write_local(Path(path), content, is_new=is_new)
            elif is_new:
                self._create(path, content)
            else:
                self.fs.pipe_file(path, content)

    def _create(self, path: str, content: bytes) -> None:
        """Write a file in an object store. Raises FileExistsError if it exists."""
        try:
            self.fs.pipe_file(path, content, mode="create")
        except (OSError, NotImplementedError) as error:
            # some stores know no conditions: then whoever takes a place looks again before it matters (lock.py)
            if "NotImplemented" not in f"{type(error).__name__} {error} {error.__cause__!r}":
                raise
            if self.fs.exists(path):
                raise FileExistsError(path) from error
            self.fs.pipe_file(path, content)

    def put(self, folder: Path, *parts: str) -> None:
        """Copy the files of a local folder to a folder in the place."""
        self.refuse_links(*parts)
        files = sorted(folder.iterdir())
        target = self.path(*parts)
        with self._translate_errors():
            self._make_folder(target)
            self.fs.put([str(file) for file in files], [f"{target}/{file.name}" for file in files])

    def move(self, source: str, target: str) -> None:
        """Move a folder within the place: a rename in a local place, copies in an object store, which has no folders.

        An interrupted move leaves the source, or a target without piece.json.
        """
        self.refuse_links(source)
        self.refuse_links(target)
        if self.is_local:
            with self._translate_errors():
                self._make_folder(self.path(target).rpartition("/")[0])
                os.replace(self.path(source), self.path(target))  # noqa: PTH105 - paths are strings of fsspec
            return
        before = self.path(source)
        with self._translate_errors():
            found = self._find_files(before)
            rest = [file for file in found if not file.endswith(f"/{_SEAL}")]
            seal = [file for file in found if file not in rest]
            for files in filter(None, (rest, seal)):
                self.fs.copy(files, [self.path(target) + file.removeprefix(before) for file in files])
            self._delete(seal)
            self._delete(rest)

    def remove(self, *parts: str) -> None:
        """Remove a file, or a folder with all it contains; a missing one is no error."""
        self.refuse_links(*parts)
        path = self.path(*parts)
        with self._translate_errors():
            try:
                if self.is_local:
                    self.fs.rm(path, recursive=True)
                elif path.endswith(".json"):
                    self.fs.rm_file(path)
                else:
                    found = self._find_files(path)
                    self._delete([file for file in found if file == f"{path}/{_SEAL}"])
                    self._delete([file for file in found if file != f"{path}/{_SEAL}"])
            except FileNotFoundError:
                return

    def remove_files(self, paths: Iterable[str]) -> None:
        """Remove files by their paths in the place, and local folders that become empty."""
        paths = list(paths)
        if not paths:
            return
        for path in paths:
            self.refuse_links(path)
        with self._translate_errors():
            self._delete([self.path(path) for path in paths])
        if self.is_local:
            folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents if folder.name}
            for folder in sorted(folders, reverse=True):
                with suppress(OSError):
                    Path(self.path(folder)).rmdir()

    def list_names(self, *parts: str) -> list[str]:
        """Return the names of files and folders in a folder of the place, sorted; empty if it does not exist."""
        with self._translate_errors():
            try:
                self.fs.invalidate_cache(self.path(*parts))  # what was listed before may have changed since
                return sorted(
                    path.rstrip("/").rpartition("/")[2] for path in self.fs.ls(self.path(*parts), detail=False)
                )
            except (FileNotFoundError, NotADirectoryError):
                return []

    def list_sizes(self, *parts: str) -> dict[str, int]:
        """Return the size in bytes of every file in a folder and below, by its path in the dataset."""
        root = f"{self.path()}/"
        with self._translate_errors():
            self.fs.invalidate_cache()
            found = self.fs.find(self.path(*parts), detail=True)
            return {path.removeprefix(root): int(info["size"]) for path, info in sorted(found.items())}

    def seconds_since(self, written: str, clock: str) -> float | None:
        """Return how many seconds ago a file was written, by the file system's clock; None if it is gone or no times are kept.

        A new file `clock` is written to learn the file system's time.
        """
        self.write(b"{}", clock)
        with self._translate_errors():
            try:
                self.fs.invalidate_cache()
                now, then = (self.fs.modified(self.path(file)) for file in (clock, written))
            except (FileNotFoundError, NotImplementedError):
                return None
            finally:
                self.remove(clock)
        return float((now - then).total_seconds())

    def at_once(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return the result of `work` for each item, in order; in a remote place 16 calls run at the same time."""
        if self.is_local:
            return [work(item) for item in items]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(work, items))

    def _find_files(self, path: str) -> list[str]:
        """Return the paths, for `fs`, of all files in a folder and below, sorted."""
        self.fs.invalidate_cache(path)
        return sorted(self.fs.find(path))

    def _delete(self, files: list[str]) -> None:
        """Remove files in one request, except files whose names fsspec would take for patterns, which are removed one by one."""
        from fsspec.core import has_magic

        literal = [file for file in files if has_magic(file)]
        if len(literal) < len(files):
            self.fs.rm([file for file in files if file not in literal])
        for file in literal:
            self.fs.rm_file(file)

    def _make_folder(self, path: str) -> None:
        """Make the folder where the file system has real folders."""
        if self.protocol not in _WITHOUT_FOLDERS:
            try:
                self.fs.makedirs(path, exist_ok=True)
            except (FileExistsError, NotADirectoryError) as error:
                raise StoreError(f"{self.name}: cannot be written: {path} or a folder above it is a file") from error

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn failures of the file system, except FileExistsError, into StoreErrors that name the place without secrets."""
        try:
            yield
        except (FileExistsError, StoreError):
            raise
        except Exception as error:
            # each file system has errors of its own, of the network among them
            reason = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
            raise StoreError(f"{self.name}: {mask_secrets(' '.join(reason.split()))}{way_out(error)}") from error


def part_of(path: Path) -> Path:
    """Return a temporary path for a file that is being written; PART matches such names."""
    return path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}.part")


def _write_local(path: Path, content: bytes, *, is_new: bool) -> None:
    """Write the file atomically; with `is_new`, raise FileExistsError if it exists."""
    part = part_of(path)
    part.write_bytes(content)
    try:
        if is_new:
            _link(part, path, content)
        else:
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _link(part: Path, path: Path, content: bytes) -> None:
    """Give the complete file `part` its name `path`. Raises FileExistsError if that exists."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        with path.open("xb") as file:
            file.write(content)


def read_json(place: Place, *parts: str) -> Any:
    """Return the content of a JSON file, None if it does not exist. Raises StoreError if it is damaged."""
    content = place.read(*parts)
    if content is None:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{place.name}: {'/'.join(parts)} is damaged: {error}") from error


def folder_of(run: str | None, window: int, rank: int | None = None) -> str:
    """Return the path of the folder of a window, or of a rank in it, as Hive names folders: run=NAME/window=N/rank=N."""
    parts = [f"run={_NOTHING if run is None else quote(run, safe=' ')}", f"window={window}"]
    return "/".join(parts if rank is None else [*parts, f"rank={rank}"])


def run_of(folder: str) -> str | None:
    """Return the run in a path from folder_of; None for the folder without a run."""
    value = folder.partition("/")[0].removeprefix("run=")
    return None if value == _NOTHING else unquote(value)
