"""The words of the report on hot kernels."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.text import printable
from traceq.common.units import count, duration, maybe, share, some
from traceq.reports.document import Block, Commands, Heading, Items, Name, Paragraph, make_table
from traceq.reports.kernels.model import HotKernels
from traceq.reports.renderers.json_text import json_text, to_dict
from traceq.reports.sections.kernel_reports import describe_stalls, explain_clocks, tabulate_reported, write_size

SCHEMA_VERSION = 1


def encode_kernels(report: HotKernels) -> str:
    """Return the report as JSON text, for programs."""
    return json_text({"schema_version": SCHEMA_VERSION, **to_dict(report)})


def compose_kernels(report: HotKernels) -> Iterator[Block]:
    """Yield the report: the hot kernels, what a profiler reported of them, and commands to run one."""
    yield Heading(1, ("traceq kernels",))
    if report.about is not None:
        yield Paragraph((printable(f"{report.about}."),))
        yield tabulate_reported(report.reported)
        yield from describe_stalls(report.reported)
        yield Items(tuple((printable(note),) for note in report.notes))
        return
    if report.hot:
        rest = "" if not report.other_share else f", {share(report.other_share)} of their time in others"
        yield Paragraph((f"Compute kernels of {some(report.steps, 'counted step')}, most time first{rest}.",))
        yield make_table(
            report.hot,
            {
                "kernel": lambda row: Name(row.name),
                "time": lambda row: duration(row.dur_ns),
                "share": lambda row: maybe(share, row.kernel_share),
                "count": lambda row: count(row.kernels),
                "mean": lambda row: duration(row.mean_ns),
                "grid": lambda row: write_size(row.grid_x, row.grid_y, row.grid_z),
                "operator": lambda row: Name(row.operator) if row.operator else "-",
                "reachable": lambda row: maybe(share, row.reachable_share),
            },
            text=(0, 5, 6),
        )
        if any(row.reachable_share is not None for row in report.hot):
            yield Paragraph(
                ("reachable: the time that libraries reach for such an operator, as a share of what it took.",)
            )
    else:
        yield Paragraph(("The trace has no compute kernels in counted steps.",))
    if report.reported:
        yield Heading(2, ("What kernel reports say",))
        yield tabulate_reported(report.reported)
        yield from describe_stalls(report.reported)
        yield Paragraph((explain_clocks(report.reported),))
    if report.commands:
        yield Commands("Commands", tuple((command.purpose, command.command) for command in report.commands))
    if report.notes:
        yield Items(tuple((printable(note),) for note in report.notes))
    if report.left_out:
        names = [span for name in report.left_out for span in (Name(name), ", ")][:-1]
        yield Paragraph(("No command can name: ", *names, "."))
