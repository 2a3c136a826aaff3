"""Logs that training programs write: declared text formats (patterns/*.toml), and structured files, one module a format.

They say what no trace does: how long all steps of the run took, from its start to its end. docs/run-logs.md lists them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers.training_logs import (
    csv_table,
    json_lines,
    kubernetes,
    slurm,
    tensorboard,
    traceq_run,
    trainer_state,
    wandb_file,
)
from traceq.importers.training_logs.reading import TrainingLog
from traceq.importers.training_logs.text_format import FOLDER, TextFormat, load_formats, own_formats
from traceq.importers.training_logs.text_log import find_format, read_text_log

_WAY_OUT = (
    "traceq reads those of Megatron-LM, torchtitan, DeepSpeed, the Hugging Face Trainer, Lightning, NeMo, W&B, TensorBoard, JSON"
    " lines and traceq.annotate, and sacct -P and kubectl get pod -o json; another text format needs a file of its own:"
    " --log-format FORMAT.toml (docs/run-logs.md)"
)


class TrainingLogReader(Protocol):
    """Interface of the modules of this folder that read a structured format; FORMAT is its name."""

    def sniff_log(self, path: Path, head: bytes) -> bool:
        """Return whether the file, which begins with `head`, is of this format. Raises only OSError."""

    def read_log(self, path: Path) -> TrainingLog:
        """Return the log in the file. Raises UnusableTrace for a file that is damaged, OSError where it cannot be read."""


READERS: tuple[TrainingLogReader, ...] = (
    tensorboard, wandb_file, trainer_state, traceq_run, slurm, kubernetes, csv_table, json_lines,
)  # fmt: skip
_HEAD = 1 << 16


def read_training_log(path: Path, formats: Sequence[Path] = ()) -> TrainingLog:
    """Return what a training log says, read by the first structured format that recognises it, else by a text format.

    `formats` are TOML files that declare text formats, besides those in the folder TRACEQ_LOG_FORMATS. Raises UnknownFormat
    where no format fits, UnusableTrace for a file that is damaged, cannot be read or says nothing, or a format that cannot
    be used.
    """
    given, known = _split_formats(formats)
    try:
        reader = _find_reader(path)
        if reader is not None:
            log = reader.read_log(path)
        elif form := find_format(path, given, known):
            log = read_text_log(path, form)
        else:
            raise UnknownFormat(f"{path}: not a training log that traceq knows; {_WAY_OUT}")
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror}") from error
    except UnusableTrace as error:
        raise UnusableTrace(f"{path}: {error}") from error
    if not log.values and not log.events:
        raise UnusableTrace(f"{path}: a log of {log.format} that says nothing of a step; was it cut, or filtered?")
    return log


def is_training_log(path: Path, formats: Sequence[Path] = ()) -> bool:
    """Return whether the content of the file is a training log; False where it cannot be read."""
    given, known = _split_formats(formats)
    try:
        return _find_reader(path) is not None or find_format(path, given, known) is not None
    except OSError:
        return False


def _find_reader(path: Path) -> TrainingLogReader | None:
    """Return the first structured format that recognises the file; None for text. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return next((reader for reader in READERS if reader.sniff_log(path, head)), None)


def list_format_files(formats: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return the files of the user's formats: those given, then those of the folder that TRACEQ_LOG_FORMATS names."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return tuple(formats)
    if not Path(folder).is_dir():
        raise UnusableTrace(f"{FOLDER}={folder}: no such folder; name one with TOML files of log formats, or unset it")
    return (*formats, *(path for path in sorted(Path(folder).glob("*.toml")) if path not in formats))


def _split_formats(formats: Sequence[Path]) -> tuple[tuple[TextFormat, ...], tuple[TextFormat, ...]]:
    """Return the user's text formats, and traceq's own."""
    files = list_format_files(formats)
    every = load_formats(files)
    return every[: len(files)], every[len(files) :] if files else own_formats()
