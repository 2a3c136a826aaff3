"""The words about the layers and modules of the model: the time of their kernels, and the modules with most of their own.

And about regions of CUDA graphs that the program named otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.units import UNKNOWN, count, duration, maybe, share, size, some
from traceq.reports.document import Block, Heading, Name, Paragraph, Query, Table, make_table
from traceq.reports.model import TraceReport
from traceq.reports.topics.kernels import GraphRegion, LayerTimes, ModuleKind, ModuleTime

# Of the time of all kernels: kinds with less are counted.
_WORTH_LISTING = 0.01
_MOST_KINDS = 40
_SOURCES = {
    "module": "by the names of modules",
    "annotation": "by ranges named like modules",
    "order": "inferred from the order of kernels, which repeat",
}
_ABOUT_ROWS = (
    "Modules that differ only in their number share a row. Time includes the modules inside, own time does not:"
)


def describe_modules(report: TraceReport) -> Iterator[Block]:
    """Yield the sections on layers and on modules: their kinds as a tree, and those with most time of their own, with SQL.

    The regions of annotated CUDA graphs follow. Nothing for a trace without layers, modules and regions.
    """
    facts = report.topics.kernels
    if facts.layers:
        yield Heading(3, ("Layers",))
        yield Paragraph((_count_layers(facts.layers),))
        yield _layer_table(facts.layers)
        yield Query(report.queries["layers"])
    if facts.module_kinds:
        yield from _describe_kinds(report)
    if any(row.region for row in facts.regions):
        yield Heading(3, ("Regions of CUDA graphs",))
        yield Paragraph(
            ("What the program called the work in its graphs, apart from modules; slices at once count each:",)
        )
        yield _region_table(facts.regions)
        yield Query(report.queries["graph_regions"])


def _count_layers(rows: Sequence[LayerTimes]) -> str:
    """Return words for how much of the time is in how many layers, and what tells of them."""
    lists = [row for row in rows if row.layers is not None]
    total = sum(row.dur_ns for row in rows)
    # devices run the same model
    number = max(
        sum(row.layers or 0 for row in lists if row.device == device) for device in {row.device for row in lists}
    )
    covered = share(sum(row.dur_ns for row in lists) / total) if total else UNKNOWN
    sources = [words for source, words in _SOURCES.items() if any(row.source == source for row in lists)]
    return (
        f"{covered} of the time of compute kernels is in {some(number, 'layer')}, {' and '.join(sources)}."
        " Times are sums over the steps that count:"
    )


def _layer_table(rows: Sequence[LayerTimes]) -> Table:
    """Return a table of lists of layers, and of all other time."""
    with_devices = len({row.device for row in rows}) > 1
    device: dict[str, Callable[[LayerTimes], str]] = {"GPU": lambda each: str(each.device)}
    # both do not fit into a line, and a step of training calls a layer once for each micro-batch
    backward: dict[str, Callable[[LayerTimes], str]] = {"backward": lambda each: duration(each.backward_ns)}
    calls: dict[str, Callable[[LayerTimes], str]] = {"calls": lambda each: maybe(count, each.calls)}
    return make_table(
        rows,
        {
            "layers": lambda each: each.name if each.layers is None else Name(each.name.rpartition("/")[2]),
            **(device if with_devices else {}),
            "number": lambda each: maybe(count, each.layers),
            **({} if any(row.backward_ns for row in rows) else calls),
            "time": lambda each: duration(each.dur_ns),
            **(backward if any(row.backward_ns for row in rows) else {}),
            "share": lambda each: maybe(share, each.kernel_share),
            "least": lambda each: maybe(duration, each.least_ns),
            "median": lambda each: maybe(duration, each.median_ns),
            "most": lambda each: maybe(duration, each.most_ns),
            "slowest": lambda each: maybe(_name_layer, each.slowest),
        },
    )


def _name_layer(name: str) -> Name:
    """Return the name of a layer without what the row of its list says: layer 7 of 32 is layer 7, a/b/Block_3 is Block_3."""
    return Name(name.rpartition("/")[2].partition(" of ")[0])


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
