"""trainer_state.json, which the Trainer of Hugging Face writes into each checkpoint: all that it logged, without times of day."""

from __future__ import annotations

import json
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.training_logs.reading import TrainingLog
from traceq.importers.training_logs.records import RecordLog

FORMAT = "trainer_state"

_LARGEST = 256 << 20


def sniff_log(_path: Path, head: bytes) -> bool:
    """Return whether the file begins as JSON that has the trainer's names."""
    return (
        head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"log_history"' in head and b'"global_step"' in head
    )


def read_log(path: Path) -> TrainingLog:
    """Return what the trainer logged; records are counted from 1. Raises UnusableTrace for a damaged file."""
    if path.stat().st_size > _LARGEST:
        raise UnusableTrace(f"a trainer_state.json of more than {_LARGEST >> 20} MiB")
    try:
        history = json.loads(path.read_bytes().decode("utf-8-sig", "replace"))["log_history"]
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise UnusableTrace("a damaged trainer_state.json; take that of another checkpoint") from error
    log = RecordLog(FORMAT)
    for number, record in enumerate(history if isinstance(history, list) else (), start=1):
        if isinstance(record, dict):
            log.add_record(number, {name: value for name, value in record.items() if name not in _OF_THE_RUN})
        else:
            log.left_out += 1
    return log.finish_log()


# What the last record says of all the run.
_OF_THE_RUN = {"train_loss", "train_runtime", "train_samples_per_second", "train_steps_per_second", "total_flos"}
