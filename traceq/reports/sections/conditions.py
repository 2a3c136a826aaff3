"""The words about what monitors logged beside the trace: power, clocks and heat of GPUs, and how the host was."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import rate
from traceq.reports.document import Block, Heading, Literal, Name, Paragraph, Query, make_table
from traceq.reports.model import Condition, TraceReport

_PER_MEGA = 1e6


def describe_conditions(report: TraceReport) -> Iterator[Block]:
    """Write the section on logs of monitors; nothing without one."""
    if not report.conditions:
        return
    yield Heading(3, ("Power, clocks and host",), is_minor=True)
    yield Paragraph(
        (
            f"By logs of monitors, over the counted {report.unit}s. Of disks and networks the busiest; ",
            Literal("step_condition"),
            " has each step.",
        )
    )
    yield make_table(
        report.conditions,
        {
            "of": _name_source,
            "series": lambda each: Literal(each.name),
            "mean": lambda each: _format_value(each, each.mean),
            "lowest": lambda each: _format_value(each, each.lowest),
            "highest": lambda each: _format_value(each, each.highest),
        },
        text=(0, 1),
    )
    yield Query(report.queries["conditions"])


def _name_source(condition: Condition) -> str:
    if condition.device is not None:
        return f"GPU {condition.device}"
    return Name(condition.instance) if condition.instance else "host"


def _format_value(condition: Condition, value: float) -> str:
    if condition.unit == "bytes/s":
        return f"{rate(value / _PER_MEGA)} MB/s"
    unit = "%" if condition.unit == "percent" else condition.unit
    return f"{rate(value)} {unit}" if unit else rate(value)
