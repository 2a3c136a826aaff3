"""Logs of monitors that ran beside a trace: one module a format, with TOOL, sniff and read.

They hold what no profiler records: clocks, power and heat of GPUs, load, disks, networks and swap of the host. To add one:
a module here, its name in READERS, a log in tests/importers/monitors.
"""

from __future__ import annotations

import codecs
import csv
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers.monitors import (
    amd_smi,
    dcgmi,
    iostat,
    nvidia_dmon,
    nvidia_smi,
    pidstat,
    prometheus_range,
    prometheus_text,
    recorded,
    sadf,
    vmstat,
)
from traceq.importers.monitors.reading import Log, Sample

_HEAD = 1 << 16
# Ns since 1970 that can be added to others in 64 bits: until 2116.
_END_OF_TIME = 1 << 62
_MOST_DEVICES = 1 << 16
# Larger readings cannot be squared and summed.
_MOST_VALUE = 1e100


class LogReader(Protocol):
    """Interface of the modules of this folder, each of which reads the format of one monitor; TOOL is the monitor's name."""

    TOOL: str

    def sniff(self, head: str) -> bool:
        """Return whether a file that begins with the text `head` is of this format."""

    def read(self, text: str) -> Log:
        """Return the log in `text`, the whole file; raises UnusableTrace, or Python's own errors where the file is damaged."""


READERS: tuple[LogReader, ...] = (
    recorded, nvidia_smi, nvidia_dmon, dcgmi, amd_smi, iostat, sadf, prometheus_range, prometheus_text, vmstat,
    pidstat,
)  # fmt: skip


def is_monitor_log(path: Path) -> bool:
    """Return whether the file begins as a log of a monitor; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            head = _decode_text(file.read(_HEAD))
    except OSError:
        return False
    return any(reader.sniff(head) for reader in READERS)


def read_log(path: Path) -> Log:
    """Return the log of a monitor in the file, read by the first format of READERS that recognises it.

    Raises UnknownFormat where none does, UnusableTrace for a log that is damaged, cannot be read or has no sample.
    """
    try:
        text = _decode_text(path.read_bytes())
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror}") from error
    reader = next((candidate for candidate in READERS if candidate.sniff(text[:_HEAD])), None)
    if reader is None:
        raise UnknownFormat(
            f"{path}: not a monitor log that traceq knows; --with takes logs of nvidia-smi (CSV with its header, dmon), DCGM,"
            " amd-smi, iostat -o JSON, sadf -j, vmstat, pidstat -h and Prometheus, memory snapshots, records of NCCL's or RCCL's"
            " Inspector, reports of kernel profilers (docs/kernel-reports.md), logs of requests (docs/requests.md), and"
            " training logs; one in a format of its own"
            " needs --log-format FORMAT.toml (docs/run-logs.md)"
        )
    try:
        log = reader.read(text)
    except UnusableTrace as error:
        raise UnusableTrace(f"{path}: {error}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError, csv.Error) as error:
        raise UnusableTrace(
            f"{path}: a damaged log of {reader.TOOL}: {_describe_error(error)}; record it again"
        ) from error
    if not all(map(_can_be, log.samples)) or not isinstance(log.host, str | None):
        raise UnusableTrace(f"{path}: a log of {log.tool} with impossible times or GPU numbers; record it again")
    kept = [sample for sample in log.samples if abs(sample.value) < _MOST_VALUE]
    if not kept:
        raise UnusableTrace(f"{path}: a log of {log.tool} without samples; let it run longer")
    return replace(log, samples=kept, left_out=log.left_out + len(log.samples) - len(kept))


def _can_be(sample: Sample) -> bool:
    """Return whether a sample has a time since 1970, a GPU that there can be or none, and names that are texts."""
    device, instance = sample.device, sample.instance
    is_of_gpu = device is None or (type(device) is int and 0 <= device < _MOST_DEVICES)
    return type(sample.ts) is int and 0 <= sample.ts < _END_OF_TIME and is_of_gpu and isinstance(instance, str | None)


def _decode_text(content: bytes) -> str:
    """Return the content as text: UTF-16 if it begins with UTF-16's byte order mark (PowerShell writes that), else UTF-8."""
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf16 else "utf-8", "replace")


def _describe_error(error: Exception) -> str:
    """Return a phrase for the message on a damaged log: what is wrong in the log ("it lacks 'ts'"), not Python's words."""
    if isinstance(error, KeyError):
        return f"it lacks {error.args[0]!r}"
    if isinstance(error, IndexError):
        return "a list in it is empty"
    if isinstance(error, TypeError | AttributeError):
        return "a value in it has the wrong type (a number instead of text or a list)"
    if isinstance(error, OverflowError):
        return "it contains an impossible number"
    return "it is nested too deep" if isinstance(error, RecursionError) else str(error)
