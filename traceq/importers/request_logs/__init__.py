"""Logs of requests to a server of models: spans of OpenTelemetry, engines' logs, results of benchmarks. One module a format.

They say what no trace of a GPU does: when each request came, how long it waited, and when its tokens came. docs/requests.md
lists them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers.request_logs import bench_results, named_records, otlp, profile_export, sglang_text
from traceq.importers.request_logs.reading import RequestLog


class RequestLogReader(Protocol):
    """Interface of the modules of this folder; FORMAT is the format's name."""

    FORMAT: str

    def sniff_log(self, path: Path, head: bytes, /) -> bool:
        """Return whether the file, which begins with `head`, is of this format. Raises only OSError."""

    def read_log(self, path: Path) -> RequestLog:
        """Return the log in the file. Raises UnusableTrace for a file that is damaged, OSError where it cannot be read."""


READERS: tuple[RequestLogReader, ...] = (otlp, profile_export, bench_results, sglang_text, named_records)
_HEAD = 1 << 18


def is_request_log(path: Path) -> bool:
    """Return whether the content of the file is a log of requests; False where it cannot be read."""
    try:
        return _find_reader(path) is not None
    except OSError:
        return False


def read_request_log(path: Path) -> RequestLog:
    """Return what a log of requests says, read by the first format that recognises it.

    Raises UnknownFormat where none does, UnusableTrace for a file that is damaged, cannot be read or tells of no request.
    """
    try:
        reader = _find_reader(path)
        if reader is None:
            raise UnknownFormat(f"{path}: not a log of requests that traceq knows (docs/requests.md lists them)")
        log = reader.read_log(path)
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror}") from error
    except UnusableTrace as error:
        raise UnusableTrace(f"{path}: {error}") from error
    if not log.requests:
        raise UnusableTrace(f"{path}: {_explain_empty(log)}")
    return log


def _find_reader(path: Path) -> RequestLogReader | None:
    """Return the first format that recognises the file. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return next((reader for reader in READERS if reader.sniff_log(path, head)), None)


def _explain_empty(log: RequestLog) -> str:
    """Return why the log tells of no request, and what to do."""
    if log.format == otlp.FORMAT and log.other_spans:
        return (
            f"{log.other_spans} spans, none of them of a request to a model: let the engine export its own (vLLM"
            " --otlp-traces-endpoint, SGLang --enable-trace, TensorRT-LLM otlp_traces_endpoint)"
        )
    return f"a log of requests ({log.format}) that tells of none that can be read; was it cut, or filtered?"
