"""Examine what a trace can answer, and whether its numbers add up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.source import Source, is_trace, open_source
from traceq.app.trace_selection import select_traces
from traceq.health.diagnosis import TraceHealth, diagnose
from traceq.loading.sources import find_sources
from traceq.reports.renderers.health_to_json import health_to_json
from traceq.reports.renderers.health_to_text import health_to_text
from traceq.sharing.secrets import FoundSecrets, find_secrets


class HealthView:
    """The health of traces: `content` has a TraceHealth for each, `secrets` what looks like a secret in their files, by path."""

    def __init__(self, content: tuple[TraceHealth, ...], secrets: dict[str, list[FoundSecrets]] | None = None) -> None:
        self.content = content
        self.secrets = secrets or {}

    @property
    def broken(self) -> list[str]:
        """The names of numbers that should add up and do not, each with its trace_id; empty when all is well."""
        return [f"{result.identity.name} (trace {trace.trace_id})" for trace in self.content for result in trace.broken]

    @property
    def damage(self) -> list[str]:
        """The known damage of the traces whose numbers do not add up; empty if one of these has no damage that excuses it."""
        broken = [trace for trace in self.content if trace.broken]
        return [what for trace in broken for what in trace.damage] if all(trace.damage for trace in broken) else []

    def to_text(self) -> str:
        """Return the result as text, as `traceq doctor` prints it."""
        return health_to_text(self.content, self.secrets)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return health_to_json(self.content, self.secrets)

    def __repr__(self) -> str:
        return self.to_text()


def doctor(
    source: Source, read: ReadOptions = AS_FOUND, *, traces: Sequence[int] = (), rank: int | None = None
) -> HealthView:
    """Examine each trace of the source: the metrics it has, what would bring the others, and whether its numbers add up.

    `traces` are the trace_ids to examine (all if empty), `rank` the rank.
    """
    with open_source(source, "examined", read) as connection:
        wanted = select_traces(connection, traces, rank)
        content = tuple(trace for trace in diagnose(connection) if trace.trace_id in wanted)
    # Of a database the files may be gone, or others by now.
    files = _find_files(source, [trace.path for trace in content]) if is_trace(source) else {}
    return HealthView(content, {path: found for path, file in files.items() if (found := find_secrets(file))})


def _find_files(source: Source, paths: Sequence[str]) -> dict[str, Path]:
    """Return the file or folder of each trace of the source by its path in the database, without those that are gone."""
    found = {path: Path(path) for path in paths if Path(path).exists()}
    if Path(source).is_file():
        return {path: Path(source) for path in paths} | {path: place for path, place in found.items() if place.is_dir()}
    if len(found) < len(paths):
        traces = [trace.shown for trace in find_sources([source])]
        found |= {path: own for path in paths if path not in found and (own := _find_named(traces, path)) is not None}
    return found


def _find_named(traces: Sequence[Path], path: str) -> Path | None:
    """Return which of these files or folders is the `path` in a database, None without one.

    A name that is not UTF-8 stands there with escapes, and what is relative may be so to another folder than the current one.
    """
    end = [part for part in Path(path).parts if part != ".."]
    names = {trace: os.fsencode(trace.absolute()).decode("utf-8", "backslashreplace") for trace in traces}
    same = [trace for trace, name in names.items() if list(Path(name).parts)[-len(end) :] == end]
    return min(same, key=lambda trace: len(trace.absolute().parts), default=None)
