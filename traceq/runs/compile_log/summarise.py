"""From the tables of logs of torch.compile to what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.runs.compile_log.summary import (
    BrokenLine,
    CacheUse,
    CompiledFunction,
    CompileLogFile,
    CompilePart,
    CompileSaving,
    CompileSummary,
    FailedGuard,
)

if TYPE_CHECKING:
    import duckdb

# Backward passes are compiled when they first run, after the forward pass of their function.
_COMPILED = """
create or replace temp view _compiled as
select c.* replace (c.dur + coalesce(b.dur, 0) as dur), coalesce(b.dur, 0) as backward_ns
from compilation as c
left join (
    select trace_id, log_id, compile_id, sum(dur)::bigint as dur
    from compile_phase
    where name = 'entire_backward_compile'
    group by trace_id, log_id, compile_id
) as b using (trace_id, log_id, compile_id)
"""
_LOGS = """
select
    l.file, l.version, l.pid, l.rank, l.lines, l.lines_left_out,
    count(c.compile_id) filter (not c.is_refused) as compilations,
    coalesce(sum(c.dur), 0)::bigint as dur
from compile_log as l
left join _compiled as c using (trace_id, log_id)
where l.trace_id = $trace_id
group by l.log_id, l.file, l.version, l.pid, l.rank, l.lines, l.lines_left_out
order by l.log_id
"""
_TOTALS = """
select
    coalesce(sum(dur), 0)::bigint as total_ns,
    count(*) filter (not is_refused) as compilations,
    count(*) filter (frame_compile_id > 0 and not is_refused) as recompilations,
    coalesce(sum(dur) filter (frame_compile_id > 0), 0)::bigint as recompile_ns,
    count(*) filter (dur is null and not is_refused) as unfinished
from _compiled
where trace_id = $trace_id
"""
_CACHES = """
select
    cache,
    count(*) filter (outcome = 'hit') as hits,
    count(*) filter (outcome = 'miss') as misses,
    count(*) filter (outcome = 'bypass') as bypasses,
    min(reason) filter (outcome = 'bypass') as reason
from compile_cache
where trace_id = $trace_id
group by cache
order by cache
"""
# What a filled cache saves of what the backend takes for a function's first version.
_COLD = """
select coalesce(sum(c.backend_ns), 0)::bigint as backend_ns, coalesce(sum(c.dur), 0)::bigint as dur
from compilation as c
where
    c.trace_id = $trace_id
    and c.frame_compile_id = 0
    and c.dur is not null
    and not exists (
        select 1
        from compile_cache as k
        where k.trace_id = c.trace_id and k.log_id = c.log_id and k.compile_id = c.compile_id and k.outcome = 'hit'
    )
"""
# Of what the backend takes, reading and loading what a cache holds is left: 3 % in programs measured here, at most 30 %.
_CACHED_LOW, _CACHED_LIKELY = 0.7, 0.97


def summarise_logs(connection: duckdb.DuckDBPyConnection, trace_id: int = 0) -> CompileSummary:
    """Return what the logs of the trace (0: logs without one) come to."""
    connection.execute(_COMPILED)
    values = {"trace_id": trace_id}
    guards = tuple(FailedGuard(**row) for row in ask(connection, statement("runs/sql/failed_guards.sql"), **values))
    (totals,) = ask(connection, _TOTALS, **values)
    (cold,) = ask(connection, _COLD, **values)
    savings = [*_save_recompilations(guards), *_save_by_cache(cold["backend_ns"], cold["dur"])]
    return CompileSummary(
        logs=tuple(CompileLogFile(**row) for row in ask(connection, _LOGS, **values)),
        **totals,
        parts=tuple(CompilePart(**row) for row in ask(connection, statement("runs/sql/compile_parts.sql"), **values)),
        functions=tuple(
            CompiledFunction(**row) for row in ask(connection, statement("runs/sql/compiled_functions.sql"), **values)
        ),
        graph_breaks=tuple(
            BrokenLine(**row) for row in ask(connection, statement("runs/sql/broken_lines.sql"), **values)
        ),
        guards=guards,
        caches=tuple(CacheUse(**row) for row in ask(connection, _CACHES, **values)),
        savings=tuple(sorted(savings, key=lambda saving: -saving.likely_ns)),
    )


def _save_recompilations(guards: Sequence[FailedGuard]) -> Iterator[CompileSaving]:
    """Yield what each value saves that stays the same: all recompilations, at least all but the longest of them."""
    for guard in guards:
        if guard.dur:
            low = guard.dur - (guard.longest or 0)
            yield CompileSaving("recompilation", guard.guard_place or guard.place, low, guard.dur, guard.dur)


def _save_by_cache(backend_ns: int, dur: int) -> Iterator[CompileSaving]:
    """Yield what the next run saves where a cache on disk has the graphs that no cache had."""
    if backend_ns:
        yield CompileSaving(
            "cache", None, round(_CACHED_LOW * backend_ns), round(_CACHED_LIKELY * backend_ns), max(dur, backend_ns)
        )
