"""From what the user typed (files, directories, globs) to the trace files meant, and to the database's default place."""

from __future__ import annotations

import glob
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from traceq import importers
from traceq.common.near import way_out
from traceq.errors import NoTraces, StoreError, UnusableTrace
from traceq.formats.capabilities import FORMATS
from traceq.importers import Importer, flight_recorder
from traceq.importers.graph_annotations import is_annotations
from traceq.importers.monitors.recorded import SUFFIX
from traceq.loading.annotated_nodes import AnnotationFile
from traceq.loading.options import Paths

_SUFFIXES = {".gz", *(suffix for record in FORMATS for suffix in record.suffixes)}

# So many files of a folder without a trace are looked at as to whether they are dumps of a hang.
_MOST_DUMPS = 8

# What was written longer ago than this differs in its time from what is written next, on every file system.
_SETTLED_NS = 3_000_000_000


class Content(msgspec.Struct, frozen=True):
    """Content of files at one time: their hash, and the state of each (size, times of change), by which later writes show.

    `is_settled` is false where a file had just been written: a further write may then leave the same time of change.
    """

    sha256: str
    states: tuple[tuple[int, ...], ...]
    is_settled: bool

    @classmethod
    def read(cls, files: Sequence[Path]) -> Content:
        """Return the content of the files now. Raises StoreError when they cannot be read."""
        try:
            states = _read_states(files)
        except OSError as error:
            raise StoreError(f"{error.filename}: cannot be read: {error.strerror}") from error
        last = max(time for state in states for time in state[-2:])
        return cls(content_hash(files), states, time.time_ns() - last > _SETTLED_NS)

    def is_in(self, files: Sequence[Path]) -> bool:
        """Return whether the files still hold this content. Raises OSError or StoreError when they cannot be read."""
        return _read_states(files) == self.states and (self.is_settled or content_hash(files) == self.sha256)


def _read_states(files: Sequence[Path]) -> tuple[tuple[int, ...], ...]:
    """Return for each file its device, inode, size (bytes), and times of its last change of content and of status (ns)."""
    found = [file.stat() for file in files]
    return tuple((state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in found)


class Source(msgspec.Struct, frozen=True):
    """One trace and the importer that reads it. It is mostly one file; of several, the first stands for the trace.

    With `content`, the files must still hold that content while they are read.
    """

    files: tuple[Path, ...]
    importer: Importer
    content: Content | None = None

    def __reduce__(self) -> tuple[Callable[..., Source], tuple[tuple[Path, ...], str, Content | None]]:
        # An importer may be a module, which cannot be pickled: it goes to other processes by its name.
        return _source_of, (self.files, self.importer.NAME, self.content)

    def with_content(self) -> tuple[Source, str]:
        """Return the source with the content that its files hold now, and the hash of that content.

        Raises StoreError when the files cannot be read.
        """
        content = Content.read(self.files)
        return replace(self, content=content), content.sha256

    @contextmanager
    def check_unchanged(self) -> Iterator[None]:
        """Raise UnusableTrace after the block if the files changed meanwhile, even where the block failed itself."""
        try:
            yield
        except Exception as error:
            if self._is_changed():
                raise self._error_of_change() from error
            raise
        if self._is_changed():
            raise self._error_of_change()

    def _is_changed(self) -> bool:
        """Return whether the files no longer hold `content`; False if the source has no content."""
        return self.content is not None and not self.content.is_in(self.files)

    def _error_of_change(self) -> UnusableTrace:
        """Return the error that says that the trace was changed while it was read."""
        return UnusableTrace(f"{self.shown}: was changed while it was read; try again when it is completely written")

    @property
    def path(self) -> Path:
        """The file that stands for the trace."""
        return self.files[0]

    @property
    def shown(self) -> Path:
        """The path by which the user knows the trace: its file, or the folder of its files."""
        return self.path if len(self.files) == 1 else self.path.parent

    @property
    def size(self) -> int:
        """The size of all files together, bytes."""
        return sum(file.stat().st_size for file in self.files)


def _source_of(files: tuple[Path, ...], name: str, content: Content | None) -> Source:
    """Return the trace of these files, to be read by the importer with this name; for unpickling."""
    return Source(files, importers.importer_named(name), content)


def find_sources(given: Sequence[str | Path]) -> list[Source]:
    """Return the traces that `given` names: each file itself, the traces in each directory, the matches of each glob.

    Each trace comes once. Raises UnknownFormat or UnusableTrace for a named file that is no trace. In directories and globs
    other files are skipped; NoTraces is raised when nothing is left.
    """
    sources: dict[Path, Source] = {}
    for name in given:
        for source in _expand(name):
            sources.setdefault(source.path.resolve(), source)
    if not sources:
        raise NoTraces("no source was named; name trace files, directories or globs")
    return list(sources.values())


def paths_of(given: Paths) -> list[str | Path]:
    """Return the paths as a list; a single path becomes a list of one."""
    return [given] if isinstance(given, str | Path) else list(given)


def capture_sources(given: Paths) -> tuple[Source | AnnotationFile, ...]:
    """Return what --capture names: traces, and files of annotations, which tell of the work within CUDA graphs."""
    named = paths_of(given)
    annotations = [path for path in named if is_annotations(Path(path))]
    traces = [path for path in named if path not in annotations]
    return (*(find_sources(traces) if traces else ()), *(AnnotationFile((Path(path),)) for path in annotations))


def _expand(given: str | Path) -> list[Source]:
    """Return the traces that one file, directory or glob names; raise UnusableTrace where it cannot be read."""
    try:
        return _look_up(given)
    except OSError as error:
        raise UnusableTrace(f"{given}: cannot be read: {error.strerror}") from error


def _look_up(given: str | Path) -> list[Source]:
    """Return the traces that one file, directory or glob names; raise NoTraces, UnknownFormat or UnusableTrace without any."""
    path = Path(given)
    if path.is_dir():
        candidates = sorted(
            p
            for p in path.rglob("*")
            if not any(part.startswith(".") for part in p.relative_to(path).parts) and _is_file(p)
        )
    elif not path.exists() and glob.has_magic(str(given)):
        matches = sorted(glob.glob(str(given), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
        candidates = [Path(match) for match in matches if _is_file(Path(match))]
        if not candidates:
            raise NoTraces(f"{path}: no such file, and no file matches it as a pattern")
    else:
        if not path.exists():
            raise UnusableTrace(f"{path}: no such file{way_out(path)}")
        if not path.is_file():
            raise UnusableTrace(f"{path}: a pipe or a device; traces are read more than once: write it to a file first")
        return [_build_source(path, importers.find(path))]
    found = [_build_source(p, importer) for p in candidates if (importer := importers.sniff(p)) is not None]
    if not found:
        if any(flight_recorder.is_dump(candidate) for candidate in candidates[:_MOST_DUMPS]):
            raise NoTraces(
                f"{given}: dumps of PyTorch's flight recorder, no trace; see where the job hangs: traceq hang {given}"
            )
        raise NoTraces(
            f"{given}: none of {len(candidates)} files here is a trace (nsys export, Chrome trace, rocprofv3, XSpace);"
            " name a trace file, or a directory that holds some"
        )
    return found


def _build_source(path: Path, importer: Importer) -> Source:
    """Return the trace of a file with all files that belong to it, to be read by this importer."""
    return Source(importers.files_of(importer, path), importer)


def logs_beside(trace: Path, given: Sequence[Path]) -> list[Path]:
    """Return the logs given, and those that `traceq record` wrote beside the trace.

    These have the name of the trace up to one of its dots, and a suffix.
    """
    names = [trace.name[:place] for place, letter in enumerate(trace.name) if letter == "."]
    own = [trace.with_name(name + SUFFIX) for name in names]
    return [*given, *(log for log in own if log.is_file() and log not in given)]


def split_duplicates(files: Sequence[Path]) -> tuple[list[Path], list[tuple[Path, Path]]]:
    """Return the files of distinct content, and the pairs of a duplicate with the first file of the same content."""
    first: dict[str, Path] = {}
    again: list[tuple[Path, Path]] = []
    for file in files:
        key = content_hash([file])
        if key in first:
            again.append((file, first[key]))
        else:
            first[key] = file
    return list(first.values()), again


def content_hash(files: Sequence[Path]) -> str:
    """Return the SHA-256 (hex) of a file's content; for several files the hash of their hashes.

    Raises StoreError where a file cannot be read.
    """
    try:
        hashes = [_sha256_of_file(file) for file in files]
    except OSError as error:
        raise StoreError(f"{error.filename}: cannot be read: {error.strerror}") from error
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _sha256_of_file(path: Path) -> str:
    """Return the SHA-256 (hex) of a file's content; raise OSError where it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def has_suffix_of_trace(path: Path) -> bool:
    """Return whether the file's name ends like a trace's, whatever the file holds."""
    return Path(path.name.removesuffix(".gz")).suffix in _SUFFIXES - {".gz"}


def _is_file(path: Path) -> bool:
    """Return whether the path is a file; False where that cannot be found out."""
    try:
        return path.is_file()
    except OSError:  # in a directory that may be listed, not entered
        return False


def default_database(sources: Sequence[Source], given: Sequence[str | Path]) -> Path:
    """Return the path of the database in the current directory that is used when the user names none.

    A file gives NAME.duckdb (suffixes like .pt.trace.json.gz dropped), a directory and several files of one directory
    DIRECTORY.duckdb, files of several directories traces.duckdb.
    """
    directory = Path(given[0]).resolve()
    if len(given) == 1 and directory.is_dir():
        return Path(f"{directory.name}.duckdb")
    if len(sources) == 1:
        return Path(f"{stem_of(sources[0].shown)}.duckdb")
    parents = {source.path.resolve().parent for source in sources}
    return Path(f"{parents.pop().name}.duckdb" if len(parents) == 1 else "traces.duckdb")


def stem_of(path: Path) -> str:
    """Return the name of a trace's file without the suffixes that traces have (.pt.trace.json.gz)."""
    name = path.name
    while (suffix := Path(name).suffix) in _SUFFIXES:
        name = name[: -len(suffix)]
    return name
