"""The report of traceq compile-log: verdict, parts of the compile time, functions, graph breaks, recompilations, caches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from traceq.common.units import UNKNOWN, count, duration, share, some
from traceq.diagnosis.rules.shared.compile_advice import advise_break, advise_guard, describe_change
from traceq.reports.document import (
    Block,
    Facts,
    Heading,
    Items,
    Ledger,
    LedgerRow,
    Literal,
    Name,
    Outcome,
    Spans,
    Table,
    Verdict,
    Warn,
    split_code,
)
from traceq.runs.compile_log.summary import (
    BrokenLine,
    CompiledFunction,
    CompileSaving,
    CompileSummary,
    FailedGuard,
)

_PARTS = {
    "tracing": ("tracing, guards", "python"),
    "autograd": ("AOTAutograd", "operator"),
    "inductor": ("Inductor", "compile"),
    "code": ("code generation", "launch"),
    "backward": ("backward pass", "copy"),
}
_CACHES = {"fx_graph": "graphs of Inductor", "aotautograd": "AOTAutograd"}
_KINDS = {
    "item": "value read", "branch": "branch on a value", "shape": "shape from values", "disabled": "disabled function",
    "asked": "asked for", "context_manager": "context manager", "builtin": "built-in", "c_function": "function in C",
    "custom_operator": "operator",
}  # fmt: skip
_RESUMED = "torch_dynamo_resume_in_"
# Below this share of the compile time a cause is not worth the first sentence.
_WORTH = 0.1


class TableRoom(NamedTuple):
    """The size of a document: rows of each table, and pieces of advice."""

    rows: int
    advice: int


WHOLE = TableRoom(1_000, 20)
# What fits on a screen, from the most to the least.
SCREENS = (
    TableRoom(8, 3),
    TableRoom(6, 3),
    TableRoom(5, 3),
    TableRoom(5, 2),
    TableRoom(4, 2),
    TableRoom(3, 2),
    TableRoom(3, 1),
    TableRoom(2, 1),
)


def compose_compile_log(found: CompileSummary, room: TableRoom = WHOLE, *, is_page: bool = False) -> Iterator[Block]:
    """Yield the whole report; on pages it has a heading, below which sections stand."""
    yield Heading(1, ("traceq compile-log",))
    if is_page:
        yield Heading(2, ("torch.compile",), anchor="compile-log")
    yield Verdict(_say_headline(found), _choose_outcome(found), lines=tuple(_list_lines(found)), label="torch.compile")
    for spans in _list_warnings(found):
        yield Warn(spans)
    if found.parts and found.total_ns:
        yield _compose_parts(found)
    if found.functions:
        yield from _head_table("Functions by compile time", "functions", is_page=is_page)
        yield _tabulate_functions(found.functions[: room.rows])
    if found.graph_breaks:
        yield from _head_table("Graph breaks", "graph-breaks", is_page=is_page)
        yield _tabulate_breaks(found.graph_breaks[: room.rows])
    if found.guards:
        yield from _head_table("Recompilations", "recompilations", is_page=is_page)
        yield _tabulate_guards(found.guards[: room.rows])
    advice = list(_list_advice(found))[: room.advice]
    if advice:
        yield Heading(3, ("What to change",), anchor="advice")
        yield Items(tuple(advice))
    yield Facts(tuple(_list_facts(found, room)))


def _head_table(title: str, anchor: str, *, is_page: bool) -> Iterator[Heading]:
    """Yield the heading of a table on pages; on a screen its columns say what it is of."""
    if is_page:
        yield Heading(3, (title,), anchor=anchor)


def _choose_outcome(found: CompileSummary) -> Outcome:
    if not found.compilations:
        return "cannot tell"
    return "problem" if found.guards or found.graph_breaks or _find_saving(found, "cache") else "healthy"


def _say_headline(found: CompileSummary) -> Spans:
    """Return the first sentence: what takes most of the compile time, or the line that breaks graphs."""
    if not found.compilations:
        return ("Cannot tell: the logs hold no compilation.",)
    processes = sum(log.compilations > 0 for log in found.logs)
    whole = f"{duration(found.total_ns)} in {some(found.compilations, 'compilation')}"
    whole += f" of {processes} processes" if processes > 1 else ""
    if found.guards and found.recompile_ns > _WORTH * found.total_ns:
        guard = found.guards[0]
        what = describe_change(guard.kind, guard.source, None, None)
        return (
            f"{share(found.recompile_ns / max(1, found.total_ns))} of {whole} compile again what was compiled before,",
            " most where ",
            Name(what),
            " (",
            Name(guard.guard_place or guard.place or UNKNOWN),
            ").",
        )
    if found.graph_breaks:
        broken = found.graph_breaks[0]
        then = ", and all of the function runs eagerly" if broken.skips_function else ""
        return (
            "The graph breaks at ",
            Name(broken.place or UNKNOWN),
            f" ({_name_kind(broken.kind)}){then}; compiling took {whole}.",
        )
    return (f"Compiling took {whole}.",)


def _list_lines(found: CompileSummary) -> Iterator[Spans]:
    """Yield the lines below the headline: what the first change saves, and what would tell more."""
    if not found.compilations:
        yield ("Let the program write them: ", Literal("TORCH_TRACE=DIR python train.py"))
        return
    is_again = bool(found.guards) and found.recompile_ns > _WORTH * found.total_ns
    saving = _find_saving(found, "recompilation" if is_again else "cache")
    if saving is not None:
        what = (
            "If it stayed the same, such a run would compile"
            if is_again
            else "With a filled cache on disk the next run compiles"
        )
        yield (f"{what} {_say_saving(saving)} less.",)
    if found.graph_breaks:
        yield ("What breaks cost in each step a trace tells: ", Literal("traceq report TRACE --with DIR"))


def _say_saving(saving: CompileSaving) -> str:
    """Return what a change saves, with its bounds."""
    if saving.low_ns == saving.high_ns:
        return duration(saving.likely_ns)
    return f"{duration(saving.likely_ns)} ({duration(saving.low_ns)} to {duration(saving.high_ns)})"


def _find_saving(found: CompileSummary, what: str) -> CompileSaving | None:
    """Return what a kind of change saves; None where that is little."""
    return next(
        (entry for entry in found.savings if entry.what == what and entry.likely_ns > _WORTH * found.total_ns), None
    )


def _list_warnings(found: CompileSummary) -> Iterator[Spans]:
    """Yield warnings: lines that could not be read, and compilations that never ended."""
    for log in found.logs:
        if log.lines_left_out:
            yield (f"{some(log.lines_left_out, 'line')} of ", Name(log.file), " could not be read.")
    for guard in found.guards:
        if guard.is_refused:
            yield (
                "PyTorch gave up on ",
                Name(_name_function(guard.function)),
                " (",
                Name(guard.guard_place or guard.place or UNKNOWN),
                "): after recompile_limit versions (8) its calls run eagerly. What that costs, traceq cannot tell.",
            )
    if found.unfinished:
        yield (f"{some(found.unfinished, 'compilation')} without an end in the logs: how long, traceq cannot tell.",)
    if found.graph_breaks and not all(entry.is_logged for entry in found.graph_breaks):
        yield (
            "Logs before PyTorch 2.6 do not say at which line a graph breaks: it follows from what was compiled after it.",
        )


def _compose_parts(found: CompileSummary) -> Ledger:
    """Return the compile time by part."""
    rows = tuple(
        LedgerRow(
            _PARTS[part.part][0], part.part, part.dur / found.total_ns, duration(part.dur), kind=_PARTS[part.part][1]
        )
        for part in found.parts
        if part.dur
    )
    return Ledger(("Where the compile time went",), duration(found.total_ns), rows)


def _tabulate_functions(functions: tuple[CompiledFunction, ...]) -> Table:
    """Return a table of functions."""
    rows = tuple(
        (
            Name(_name_function(entry.function)),
            Name(entry.place or UNKNOWN),
            count(entry.compilations),
            UNKNOWN if entry.dur is None else duration(entry.dur),
            UNKNOWN if entry.longest is None else duration(entry.longest),
            f"{entry.cache_hits}/{entry.cache_hits + entry.cache_misses}",
            "refused" if entry.is_refused else "eager" if entry.is_skipped else "",
        )
        for entry in functions
    )
    columns = ("compiled function", "line", "times", "time", "longest", "cached", "then")
    return Table(columns, rows, text_columns=(0, 1, 6))


def _name_function(function: str | None) -> str:
    """Return the name of a function, of the rest of one "rest of NAME"."""
    if function is None:
        return UNKNOWN
    return (
        f"rest of {function.removeprefix(_RESUMED).rpartition('_at_')[0]}"
        if function.startswith(_RESUMED)
        else function
    )


def _name_kind(kind: str) -> str:
    """Return the kind of a graph break in words."""
    return _KINDS.get(kind, kind)


def _tabulate_breaks(lines: tuple[BrokenLine, ...]) -> Table:
    """Return a table of lines at which graphs break."""
    rows = tuple(
        (
            Name(entry.place or UNKNOWN),
            _name_kind(entry.kind),
            count(entry.breaks),
            "all of it" if entry.skips_function else UNKNOWN if entry.rest_ns is None else duration(entry.rest_ns),
            Name(entry.code or entry.reason),
        )
        for entry in lines
    )
    return Table(("graph break at", "cause", "times", "rest", "code"), rows, text_columns=(0, 1, 4))


def _tabulate_guards(guards: tuple[FailedGuard, ...]) -> Table:
    """Return a table of values that changed."""
    rows = tuple(
        (
            Name(_name_function(entry.function)),
            Name(entry.guard_place or entry.place or UNKNOWN),
            count(entry.recompilations),
            UNKNOWN if entry.dur is None else duration(entry.dur),
            Name(describe_change(entry.kind, entry.source, None, None).removesuffix(" changes")),
            Name(entry.expected or "-"),
            Name(entry.actual or "-"),
        )
        for entry in guards
    )
    columns = ("compiled again", "line", "times", "time", "what changes", "it was", "then")
    return Table(columns, rows, text_columns=(0, 1, 4, 5, 6))


def _list_advice(found: CompileSummary) -> Iterator[Spans]:
    """Yield what to change, what saves most first; graph breaks, whose cost the logs do not tell, come after."""
    for saving in found.savings:
        if saving.likely_ns < _WORTH * found.total_ns:
            continue
        if saving.what == "cache":
            bypassed = sum(entry.bypasses for entry in found.caches)
            looked = sum(entry.hits + entry.misses + entry.bypasses for entry in found.caches)
            how = (
                "Let caches on disk work: leave out `TORCHINDUCTOR_FORCE_DISABLE_CACHES`"
                if bypassed or not looked
                else "Keep `TORCHINDUCTOR_CACHE_DIR` on a disk that outlives the run, or carry"
                " `torch.compiler.save_cache_artifacts()` to the next"
            )
            yield (*split_code(how), f". The next run compiles {_say_saving(saving)} less.")
            continue
        guard = next(entry for entry in found.guards if (entry.guard_place or entry.place) == saving.place)
        yield (
            Name(saving.place or UNKNOWN),
            ": ",
            *split_code(advise_guard(guard.kind, guard.source)),
            f" Such a run compiles {_say_saving(saving)} less.",
        )
    for kind in dict.fromkeys(entry.kind for entry in found.graph_breaks):
        places = [entry.place for entry in found.graph_breaks if entry.kind == kind and entry.place]
        yield (Name(", ".join(places[:3]) or UNKNOWN), ": ", *split_code(advise_break(kind)))


def _list_facts(found: CompileSummary, room: TableRoom) -> Iterator[tuple[str, Spans]]:
    """Yield facts on caches and logs."""
    for cache in found.caches:
        reason = f" ({cache.reason})" if cache.reason else ""
        said = f"{_CACHES.get(cache.cache, cache.cache)}: {some(cache.hits, 'hit')}, {cache.misses} missed,"
        said += f" {cache.bypasses} not asked"
        yield "cache", (said, Name(reason))
    working = [log for log in found.logs if log.compilations] or list(found.logs)
    for log in working[: room.rows]:
        about = [f"PyTorch {log.version}" if log.version else "", f"process {log.pid}" if log.pid else ""]
        about += [f"rank {log.rank}" if log.rank is not None else "", some(log.lines, "line")]
        yield "log", (Name(log.file), f" ({', '.join(part for part in about if part)})")
    others = len(found.logs) - len(working[: room.rows])
    if others:
        yield "more", (f"{some(others, 'log')} more",)
