"""The folder of a measurement: its traces with the names that their labels have, and where labels and what is frozen lie."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from traceq.errors import WrongUse
from traceq.formats import printed, worker_samples
from traceq.formats.made_with import path_beside
from traceq.loading.sources import find_sources, has_suffix_of_trace, logs_beside, stem_of

FROZEN, LABELS, PAIRS = "blind", "labels", "pairs"
_OWN = (FROZEN, LABELS)
_AFTER = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)


class TraceFile(msgspec.Struct, frozen=True):
    """A trace in the measured folder. `path` is its main file, relative to the folder; `files` are all its files."""

    name: str
    path: Path
    files: tuple[Path, ...]


def traces_in(folder: Path) -> list[TraceFile]:
    """Return the traces in the folder, at any depth, and other files that are named as traces are.

    Raises NoTraces where none can be read.
    """
    sources = [source for source in find_sources([folder]) if not _is_own(source.path, folder)]
    taken = {
        file
        for source in sources
        for file in (
            *source.files,
            path_beside(source.path),
            path_beside(source.path, printed.SUFFIX),
            path_beside(source.path, worker_samples.SUFFIX),
            *logs_beside(source.path, ()),
        )
    }
    others = [
        path
        for path in sorted(folder.rglob("*"))
        if has_suffix_of_trace(path) and path not in taken and path.is_file() and not _is_own(path, folder)
    ]
    found = sorted([*(source.files for source in sources), *((path,) for path in others)])
    paths = [files[0].relative_to(folder) for files in found]
    return [TraceFile(*fields) for fields in zip(_name_traces(paths), paths, found, strict=True)]


def _is_own(path: Path, folder: Path) -> bool:
    """Return whether the path is below a folder of frozen results, of labels, or below a hidden one."""
    parts = path.relative_to(folder).parts
    return parts[0] in _OWN or any(part.startswith(".") for part in parts)


def _name_traces(paths: Sequence[Path]) -> list[str]:
    """Return a unique name for each path: the file name without suffixes, or the whole path where several have the same."""
    stems = Counter(stem_of(path) for path in paths)
    names = [
        stem_of(path) if stems[stem_of(path)] == 1 and stem_of(path) != PAIRS else "__".join(path.parts)
        for path in paths
    ]
    if again := [name for name, times in Counter(names).items() if times > 1]:
        raise WrongUse(f"Several traces would be named {again[0]}: rename one.")
    return names


def place_of(folder: Path, after: str | None) -> Path:
    """Return the folder of a frozen set: the blind one if `after` is None, else the later one of that name.

    Raises WrongUse for a name with other characters.
    """
    if after is None:
        return folder / FROZEN
    if not _AFTER.fullmatch(after):
        raise WrongUse(f"--again {after}: a name is letters, digits, dots and hyphens, at most 64.")
    return folder / FROZEN / f"after-{after}"


def labels_in(folder: Path) -> dict[str, Path]:
    """Return the paths of the label files (JSON) in the folder, by the name of their trace."""
    return {path.stem: path for path in sorted((folder / LABELS).glob("*.json")) if path.stem != PAIRS}
