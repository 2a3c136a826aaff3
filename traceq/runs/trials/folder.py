"""The folder of an experiment: what was asked for, the settings and each trial, so that it can go on where it stopped."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import to_builtins
from msgspec.structs import asdict

from traceq.common.files import atomic_write
from traceq.common.version import __version__
from traceq.errors import StoreError, WrongUse
from traceq.runs.trials.plan import TrialPlan
from traceq.runs.trials.trial import Setting, Trial

T = TypeVar("T")

_NOT_IN_NAMES = re.compile(r"[^\w.=-]+", re.ASCII)
# Names that no other name becomes when spaces are replaced.
_PLAIN = re.compile(r"[\w.= ]+", re.ASCII)

# Characters of a setting's name that its files have.
_LONGEST = 100

# Files in a command that a program is made of; others it may write itself.
_SOURCES = (".py", ".sh", ".toml", ".yaml", ".yml")


class Folder:
    """The files of an experiment: experiment.json, program.json, settings.json, trials.jsonl, logs/ and traces/."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._asked = self.path / "experiment.json"
        self._program = self.path / "program.json"
        self._settings = self.path / "settings.json"
        self._trials = self.path / "trials.jsonl"
        self.traces = self.path / "traces"

    def begin(self, plan: TrialPlan) -> None:
        """Create the folder, or check that it belongs to the experiment `plan`, so that this can be resumed.

        Raises WrongUse for a folder of something else, StoreError if it cannot be written.
        """
        if self._asked.exists():
            self._check(plan)
            self._check_program(plan)
            return
        if self.path.is_dir() and any(self.path.iterdir()):
            raise WrongUse(f"{self.path} is not empty and holds no experiment: choose another folder with -o.")
        try:
            for each in (self.path, self.traces, self.path / "logs"):
                each.mkdir(parents=True, exist_ok=True)
            with atomic_write(self._asked) as file:
                file.write(json.dumps(to_builtins(plan), indent=1).encode())
            with atomic_write(self._program) as file:
                file.write(json.dumps(_hash_program(plan), indent=1).encode())
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be written: {error.strerror}; choose another directory with -o"
            ) from error

    def _check(self, plan: TrialPlan) -> None:
        """Raise WrongUse if the folder was begun for another plan."""
        there = _read_json(self._asked, TrialPlan)
        differing = [name for name, value in asdict(plan).items() if value != getattr(there, name)]
        if differing:
            was = shlex.join(there.command) if "command" in differing else f"--{', --'.join(differing)} differ"
            raise WrongUse(
                f"{self.path} holds another experiment ({was}): give the same command to continue it, or "
                "another folder with -o."
            )

    def _check_program(self, plan: TrialPlan) -> None:
        """Raise WrongUse if the program's files or traceq's version changed since the earlier runs in the folder."""
        if not self._program.exists():
            return
        there, now = _read_json(self._program, dict[str, str]), _hash_program(plan)
        changed = sorted(name for name in {**there, **now} if there.get(name) != now.get(name))
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            raise WrongUse(
                f"{self.path} has runs from before {changed[0]}{more} changed: they cannot be compared with new ones."
                " Choose another folder with -o."
            )

    def start_time(self) -> str:
        """Return the local time at which the experiment was begun, as text (YYYY-MM-DD HH:MM)."""
        return datetime.fromtimestamp(self._asked.stat().st_mtime, UTC).astimezone().strftime("%Y-%m-%d %H:%M")

    def settings(self) -> list[Setting]:
        """Return the settings stored in the folder; empty if they are not decided yet.

        Raises StoreError if the file is damaged.
        """
        return _read_json(self._settings, list[Setting]) if self._settings.exists() else []

    def keep_settings(self, settings: Sequence[Setting]) -> None:
        """Store the settings in the folder, so that a resumed experiment runs the same ones."""
        with atomic_write(self._settings) as file:
            file.write(json.dumps(to_builtins(settings), indent=1).encode())

    def trials(self) -> list[Trial]:
        """Return all trials stored in the folder; unreadable lines (cut short) are skipped."""
        if not self._trials.exists():
            return []
        return [trial for line in self._trials.read_bytes().splitlines() if (trial := _parse_trial(line)) is not None]

    def keep_trial(self, trial: Trial) -> None:
        """Append the trial to the folder's file of trials."""
        with self._trials.open("a", encoding="utf-8") as file:
            # A line that was cut short must not take this one with it.
            file.write("\n" + json.dumps(to_builtins(trial), separators=(",", ":")) + "\n")

    def log_of(self, setting: Setting, round_: int) -> Path:
        """Return the path of the log with the program's output at this setting and round."""
        return self.path / "logs" / f"{file_name(setting)}-round{round_ + 1}.log"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the experiment while the context is open. Raises StoreError if another traceq is running it."""
        import fcntl

        with (self.path / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise StoreError(
                    f"{self.path}: this experiment is running already; choose another folder with -o"
                ) from error
            yield


def _hash_program(plan: TrialPlan) -> dict[str, str]:
    """Return the SHA-256 of the program's files by path, and traceq's version as `traceq`.

    The files are the sources that the command names, and Python files beside its Python scripts.
    """
    named = [path for word in plan.command if (path := Path(word)).suffix in _SOURCES and path.is_file()]
    beside = [other for path in named if path.suffix == ".py" for other in path.parent.glob("*.py") if other.is_file()]
    files = {str(path): sha256(path.read_bytes()).hexdigest() for path in (*named, *beside)}
    return {"traceq": __version__, **files}


def file_name(setting: Setting) -> str:
    """Return a base name for the setting's files, unique per setting and short enough for a file system."""
    if len(setting.name) <= _LONGEST and _PLAIN.fullmatch(setting.name):
        return setting.name.replace(" ", "-")
    name = _NOT_IN_NAMES.sub("-", setting.name).strip("-")[:_LONGEST]
    return f"{name}-{sha256(setting.name.encode(errors='surrogateescape')).hexdigest()[:8]}"


def _read_json(path: Path, of: type[T]) -> T:
    """Return the JSON content of the file as type `of`. Raises StoreError if the content does not fit."""
    try:
        return msgspec.convert(json.loads(path.read_text("utf-8")), of)
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"{path}: is damaged, or of another version of traceq: {error}; choose another folder with -o"
        ) from error


def _parse_trial(line: bytes) -> Trial | None:
    """Return the trial in a line of JSON; None if it cannot be read."""
    try:
        return msgspec.convert(json.loads(line), Trial)
    except (ValueError, RecursionError):
        return None
