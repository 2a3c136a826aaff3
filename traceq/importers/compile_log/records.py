"""The content of a structured log of torch.compile: the records that its reader makes. Times are ns since 1970, UTC."""

from __future__ import annotations

import msgspec


class ProgramLine(msgspec.Struct, frozen=True):
    """A line of the program: file, number (from 1), function, and the line's code; None for what the log does not say."""

    file: str | None = None
    line: int | None = None
    function: str | None = None
    code: str | None = None


class Compilation(msgspec.Struct):
    """One compilation of a frame (a function, or the rest of one after a graph break), all its attempts together.

    Durations are ns; `overhead_ns` went into writing the log. `cache_entries` are the versions that the frame had before.
    `place` is where the function begins; of the rest of one, the line of the break.
    """

    compile_id: str
    frame_id: int
    frame_compile_id: int
    place: ProgramLine = ProgramLine()
    stack: str | None = None
    begin_at: int | None = None
    dur: int | None = None
    backend_ns: int | None = None
    inductor_ns: int | None = None
    code_gen_ns: int | None = None
    restart_ns: int | None = None
    overhead_ns: int | None = None
    attempts: int = 1
    guards: int | None = None
    operators: int | None = None
    nodes: int | None = None
    inputs: int | None = None
    cache_entries: int | None = None
    has_code: bool | None = None
    fail_type: str | None = None
    fail_reason: str | None = None
    restart_reasons: tuple[str, ...] = ()


class CompilePhase(msgspec.Struct):
    """A part of a compilation as PyTorch times it; `parent` is the place in the list of the phase around it, None without."""

    name: str
    compile_id: str | None
    begin_at: int
    dur: int | None = None
    parent: int | None = None
    depth: int = 0


class GraphBreak(msgspec.Struct, frozen=True):
    """A line at which a graph ended. `kind` names the cause (see reasons.py); `skips_function`: all of the function runs eagerly.

    `place` is the innermost line of the program's own code, `frame_line` the line of the compiled function from which one
    gets there, `inside` the line of a library in which it lies, None for the program's own.

    `is_from_log`: the log has a record of it; else it follows from the compilation of the code after the break, as logs
    before PyTorch 2.6 have none.
    """

    compile_id: str
    attempt: int
    place: ProgramLine
    frame_line: int | None
    inside: str | None
    kind: str
    reason: str
    hint: str | None
    context: str | None
    stack: str | None
    at_ns: int | None
    skips_function: bool
    is_from_log: bool = True


class Recompilation(msgspec.Struct, frozen=True):
    """A guard of an earlier version of a frame that failed, so that the frame was compiled again as `compile_id`.

    `failed_id` is the earlier version. `kind` names what changed (see guards.py), `source` the value in the program,
    `expected` and `actual` its values where the guard says them.
    """

    compile_id: str
    failed_id: str | None
    guard: str
    kind: str
    source: str | None
    expected: str | None
    actual: str | None
    place: ProgramLine
    at_ns: int | None


class CacheEvent(msgspec.Struct, frozen=True):
    """A look into a cache on disk: `cache` is fx_graph or aotautograd, `outcome` hit, miss or bypass (with the reason)."""

    compile_id: str | None
    cache: str
    outcome: str
    key: str | None
    reason: str | None
    at_ns: int | None


class CompileLog(msgspec.Struct):
    """All that the log of one process says.

    `process` is its id, `rank` that in the job, None where it does not say. `lines` counts the file's lines, `records` those
    that were read; `left_out` counts what was not, by what it looks like: foreign, damaged, too_long.
    """

    version: str | None = None
    process: int | None = None
    rank: int | None = None
    first_at: int | None = None
    last_at: int | None = None
    lines: int = 0
    records: int = 0
    left_out: dict[str, int] = msgspec.field(default_factory=dict)
    compilations: list[Compilation] = msgspec.field(default_factory=list)
    phases: list[CompilePhase] = msgspec.field(default_factory=list)
    graph_breaks: list[GraphBreak] = msgspec.field(default_factory=list)
    recompilations: list[Recompilation] = msgspec.field(default_factory=list)
    cache_events: list[CacheEvent] = msgspec.field(default_factory=list)
