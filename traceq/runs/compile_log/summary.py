"""The summary of logs of torch.compile, as plain data. Times are ns."""

from __future__ import annotations

import msgspec


class CompiledFunction(msgspec.Struct, frozen=True):
    """A function that was compiled, all its versions together; `place` is its file and line."""

    function: str | None
    file: str | None
    line: int | None
    place: str | None
    compilations: int
    recompilations: int
    dur: int | None
    recompile_ns: int
    longest: int | None
    cache_hits: int
    cache_misses: int
    graph_breaks: int
    is_refused: bool
    is_skipped: bool


class BrokenLine(msgspec.Struct, frozen=True):
    """A line at which graphs break: how often, the cause, and what compiling the rest of the function took."""

    file: str | None
    line: int | None
    place: str | None
    function: str | None
    code: str | None
    kind: str
    reason: str
    hint: str | None
    breaks: int
    rest_ns: int | None
    skips_function: bool
    is_logged: bool


class FailedGuard(msgspec.Struct, frozen=True):
    """A value of the program that changed, so that a function was compiled again `recompilations` times, in `dur` ns."""

    function: str | None
    place: str | None
    kind: str
    source: str | None
    expected: str | None
    actual: str | None
    guard: str
    guard_file: str | None
    guard_line: int | None
    guard_place: str | None
    code: str | None
    recompilations: int
    dur: int | None
    longest: int | None
    is_refused: bool


class CacheUse(msgspec.Struct, frozen=True):
    """A cache on disk: how often it was asked for graphs, and why it was not."""

    cache: str
    hits: int
    misses: int
    bypasses: int
    reason: str | None


class CompilePart(msgspec.Struct, frozen=True):
    """A part of the compile time: tracing, autograd, inductor or code; the parts add up to all of it."""

    part: str
    dur: int


class CompileSaving(msgspec.Struct, frozen=True):
    """The compile time that a change saves in such a run: at least, likely and at most.

    `what` is recompilation or cache; `place` the line to change, None for a cache.
    """

    what: str
    place: str | None
    low_ns: int
    likely_ns: int
    high_ns: int


class CompileLogFile(msgspec.Struct, frozen=True):
    """A log that was read."""

    file: str
    version: str | None
    pid: int | None
    rank: int | None
    lines: int
    lines_left_out: int
    compilations: int
    dur: int


class CompileSummary(msgspec.Struct, frozen=True):
    """All logs together. `total_ns` is the time of all compilations; of several processes they run side by side."""

    logs: tuple[CompileLogFile, ...]
    total_ns: int
    compilations: int
    recompilations: int
    recompile_ns: int
    unfinished: int
    parts: tuple[CompilePart, ...]
    functions: tuple[CompiledFunction, ...]
    graph_breaks: tuple[BrokenLine, ...]
    guards: tuple[FailedGuard, ...]
    caches: tuple[CacheUse, ...]
    savings: tuple[CompileSaving, ...]
