"""Traces that another program writes into a folder: those that are new, once they are complete."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from traceq.common.files import replace_file

_ENDINGS = (".json", ".json.gz")

# Seconds between looks, and seconds in which a file must not change to be complete.
_PERIOD_S = 0.25
_CALM_S = 1.0


class TraceFolder:
    """A folder, and the traces that lay in it before another one was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._before = self._list_states()

    def wait_for_traces(self, seconds: float, least: int = 1) -> list[Path]:
        """Return the new or changed traces once there are `least` and none has changed for a second.

        After `seconds` return those that are complete, which may be none.
        """
        deadline = time.monotonic() + seconds
        last: dict[Path, tuple[int, int]] = {}
        since = time.monotonic()
        while time.monotonic() < deadline:
            found = {path: state for path, state in self._list_states().items() if self._before.get(path) != state}
            if found != last:
                last, since = found, time.monotonic()
            elif len(found) >= least and time.monotonic() - since >= _CALM_S:
                break
            time.sleep(_PERIOD_S)
        return sorted(path for path in last if not path.name.endswith(".tmp.json"))

    def _list_states(self) -> dict[Path, tuple[int, int]]:
        """Return time (ns) and size by path of the traces in the folder and one folder below; servers make one for each rank."""
        found = {}
        for path in (*_list_files(self.folder), *(f for sub in _list_folders(self.folder) for f in _list_files(sub))):
            try:
                state = path.stat()
            except FileNotFoundError:  # renamed meanwhile
                continue
            if state.st_size:
                found[path] = (state.st_mtime_ns, state.st_size)
        return found


def wait_for_files(paths: Iterable[Path], seconds: float) -> list[Path]:
    """Return those of the files that are there, once all are or after `seconds`."""
    wanted = list(paths)
    deadline = time.monotonic() + seconds
    while not all(path.exists() for path in wanted) and time.monotonic() < deadline:
        time.sleep(_PERIOD_S)
    return [path for path in wanted if path.exists()]


def copy_trace(path: Path, to: Path) -> Path:
    """Copy a trace to `to`, complete or not at all, and return `to`. Raises OSError where it cannot be read or written."""
    to.parent.mkdir(parents=True, exist_ok=True)
    with path.open("rb") as source, replace_file(to) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    return to


def _list_files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.json*") if path.name.endswith(_ENDINGS) and path.is_file()]


def _list_folders(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
