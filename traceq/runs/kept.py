"""Runs as a file: what a baseline keeps of traces, small enough to be committed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from traceq.errors import UnusableBaseline
from traceq.runs.run import Run

_VERSION = 1

# The first field, so that the first bytes of a file tell it from a trace.
_BEGINS = b'{"kind":"traceq-baseline",'
BEGIN_LENGTH = len(_BEGINS)


@dataclass(frozen=True)
class Kept:
    """A baseline: its runs, the version of traceq that made it and when (ISO 8601, UTC)."""

    kind: Literal["traceq-baseline"]
    version: int
    traceq: str
    saved: str
    runs: tuple[Run, ...]


def text_of(runs: tuple[Run, ...], *, traceq: str, saved: str) -> bytes:
    """The runs as JSON, from which `kept_of` makes them again; `saved` is when, `traceq` the version that writes."""
    return msgspec.json.encode(Kept("traceq-baseline", _VERSION, traceq, saved, runs)) + b"\n"


def is_kept(begin: bytes) -> bool:
    """Whether a file that begins with these BEGIN_LENGTH bytes is a baseline."""
    return begin == _BEGINS


def kept_of(content: bytes, path: str) -> Kept:
    """The baseline that `text_of` wrote. Raises UnusableBaseline, which names `path`, for anything else."""
    try:
        kept = msgspec.json.decode(content, type=Kept)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnusableBaseline(f"{path}: is no baseline: {error}; make it with traceq baseline save") from error
    if kept.version != _VERSION:
        raise UnusableBaseline(
            f"{path}: was made by traceq {kept.traceq}, whose baselines differ; save it again with this version"
        )
    return kept
