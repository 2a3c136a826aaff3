"""The words about the modules of the model: the time of their kernels by kind, and the modules with most of their own.

And about regions of CUDA graphs that the program named otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.units import count, duration, maybe, share, size, some
from traceq.reports.document import Block, Heading, Name, Paragraph, Query, Table, make_table
from traceq.reports.model import TraceReport
from traceq.reports.topics.kernels import GraphRegion, ModuleKind, ModuleTime

# Of the time of all kernels: kinds with less are counted.
_WORTH_LISTING = 0.01
_MOST_KINDS = 40
_ABOUT_ROWS = (
    "Modules that differ only in their number share a row. Time includes the modules inside, own time does not:"
)


def describe_modules(report: TraceReport) -> Iterator[Block]:
    """Yield the section on modules: their kinds as a tree, and the modules with most time of their own, with SQL.

    The regions of annotated CUDA graphs follow. Nothing for a trace without modules and regions.
    """
    facts = report.topics.kernels
    if facts.module_kinds:
        yield from _describe_kinds(report)
    if any(row.region for row in facts.regions):
        yield Heading(3, ("Regions of CUDA graphs",))
        yield Paragraph(("What the program called the work in its graphs, apart from modules; slices at once count each:",))
        yield _region_table(facts.regions)
        yield Query(report.queries["graph_regions"])


def _describe_kinds(report: TraceReport) -> Iterator[Block]:
    """Yield the tree of modules, and those with most time of their own."""
    facts = report.topics.kernels
    worth = [kind for kind in facts.module_kinds if (kind.kernel_share or 0) >= _WORTH_LISTING]
    shown = (worth or list(facts.module_kinds))[:_MOST_KINDS]
    yield Heading(3, ("Modules",))
    covered = sum(kind.own_share or 0 for kind in facts.module_kinds)
    yield Paragraph(
        (f"{share(covered)} of the time of compute kernels is in {_count_modules(facts.module_kinds)}. {_ABOUT_ROWS}",)
    )
    yield _kind_table(shown)
    left = len(facts.module_kinds) - len(shown)
    if left:
        yield Paragraph((f"{some(left, 'more kind')} of modules with less time not shown.",))
    yield Query(report.queries["module_kinds"])
    if len(facts.modules) > 1 and any(kind.modules > 1 for kind in facts.module_kinds):
        yield Paragraph(("Modules with most time of their own:",))
        yield _module_table(facts.modules)
        yield Query(report.queries["modules"])


def _region_table(rows: Sequence[GraphRegion]) -> Table:
    return make_table(
        rows,
        {
            "region": lambda each: Name(each.region or "not annotated"),
            "phase": lambda each: each.phase or "-",
            "slices": lambda each: count(each.slices),
            "time": lambda each: duration(each.dur_ns),
            "share": lambda each: maybe(share, each.gpu_share),
        },
    )


def _count_modules(kinds: Sequence[ModuleKind]) -> str:
    return f"{some(sum(kind.modules for kind in kinds), 'module')} of the model"


def _kind_table(rows: Sequence[ModuleKind]) -> Table:
    """Return a table of kinds of modules; a dot before a name is a module around it."""
    with_backward = any(row.backward_ns for row in rows)
    backward: dict[str, Callable[[ModuleKind], str]] = {"backward": lambda each: duration(each.backward_ns)}
    return make_table(
        rows,
        {
            "module": lambda each: Name("· " * (each.depth - 1) + each.place.rpartition("/")[2]),
            "number": lambda each: count(each.modules),
            "calls": lambda each: maybe(count, each.calls),
            "time": lambda each: duration(each.dur_ns),
            **(backward if with_backward else {}),
            "share": lambda each: maybe(share, each.kernel_share),
            "own time": lambda each: duration(each.own_ns),
            "own share": lambda each: maybe(share, each.own_share),
            "MFU": lambda each: maybe(share, each.mfu_share),
        },
    )


def _module_table(rows: Sequence[ModuleTime]) -> Table:
    with_devices = len({row.device for row in rows}) > 1
    with_growth = any(row.growth_bytes is not None for row in rows)
    device: dict[str, Callable[[ModuleTime], str]] = {"GPU": lambda each: str(each.device)}
    growth: dict[str, Callable[[ModuleTime], str]] = {"keeps": lambda each: maybe(_format_growth, each.growth_bytes)}
    return make_table(
        rows,
        {
            "module": lambda each: Name(each.module),
            **(device if with_devices else {}),
            "calls": lambda each: maybe(count, each.calls),
            "own time": lambda each: duration(each.own_ns),
            "time": lambda each: duration(each.dur_ns),
            "MFU": lambda each: maybe(share, each.mfu_share),
            **(growth if with_growth else {}),
        },
    )


def _format_growth(growth: int) -> str:
    """Return what stays allocated after a call as text; negative where a call releases more than it allocates."""
    return f"-{size(-growth)}" if growth < 0 else size(growth)
