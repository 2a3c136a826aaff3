"""Finds the traces of a folder as they are written to their end."""

from __future__ import annotations

from pathlib import Path

from traceq import importers

# Size in bytes, and time of the last change in ns.
_State = tuple[int, int]


class FolderWatch:
    """A folder, with the state of its files at the last look and those that were returned."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._before: dict[Path, _State] = {}
        self._done: dict[Path, _State] = {}

    def find_new(self) -> list[Path]:
        """Return the traces that are new or changed, as the first file of each, if no file of theirs changed since the last call.

        Others are left for a later call: somebody may still be writing them. Raises UnusablePlugin.
        """
        now = _read_states(self.folder)
        settled = {path for path, state in now.items() if self._before.get(path) == state}
        self._before = now
        found: list[Path] = []
        for path in sorted(settled):
            if self._done.get(path) == now[path]:
                continue
            importer = importers.sniff(path)
            files = (path,) if importer is None else importers.files_of(importer, path)
            if any(file in now and file not in settled for file in files):
                continue
            self._done |= {file: now[file] for file in (path, *files) if file in now}
            if importer is not None:
                found.append(files[0])
        return found


def _read_states(folder: Path) -> dict[Path, _State]:
    """Return the state of each file in and below the folder, without hidden ones."""
    found: dict[Path, _State] = {}
    for path in folder.rglob("*"):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        try:
            if path.is_file():
                state = path.stat()
                found[path] = (state.st_size, state.st_mtime_ns)
        except OSError:  # removed meanwhile, or in a folder that may be listed, not entered
            continue
    return found
