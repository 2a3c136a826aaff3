"""The words about what a run was made with: the most telling in a line, and all of it in a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from traceq.common.units import in_unit, some
from traceq.formats.made_with import words_of
from traceq.reports.document import Block, Literal, Name, Query, make_table
from traceq.reports.document import Paragraph as Text
from traceq.reports.model import MadeWith, TraceReport

_UNKNOWN = "not known: no snapshot beside the trace"


def summarize_made_with(facts: Sequence[MadeWith]) -> str:
    """Put CPUs, loader, optimizer, precision, compiling and ranks into a line, as far as they are known."""
    first = {each.name: each.text for each in reversed(facts)}
    return "; ".join(_list_known(first)) or _UNKNOWN


def _list_known(known: Mapping[str, str]) -> Iterator[str]:
    if "affinity" in known:
        of = known.get("cpus", known["affinity"])
        cpus = f"{known['affinity']} of {of} CPUs" if known["affinity"] != of else some(int(of), "CPU")
        yield f"{cpus}, quota {known['cpu_quota']}" if "cpu_quota" in known else cpus
    if "intra_op_threads" in known:
        yield f"{some(int(known['intra_op_threads']), 'thread')} an operator"
    if "num_workers" in known:
        batch = f", batches of {known['batch_size']}" if "batch_size" in known else ""
        pinned = ", pinned" if known.get("pin_memory") == "true" else ""
        yield f"{some(int(known['num_workers']), 'loader worker')}{batch}{pinned}"
    if "optimizer" in known:
        yield f"{'fused ' if known.get('fused') == 'true' else ''}optimizer {known['optimizer']}"
    if known.get("autocast", "off") != "off":
        yield f"autocast to {known['autocast']}"
    elif "parameter_type" in known:
        yield known["parameter_type"]
    if known.get("compile", "off") != "off":
        yield f"torch.compile ({known['compile']})"
    if known.get("data_parallel", "none") != "none":
        yield f"{known['data_parallel']}{' over ' + known['world_size'] if 'world_size' in known else ''}"
    if "torch" in known:
        yield f"torch {known['torch']}"


def list_made_with(report: TraceReport) -> Iterator[Block]:
    """List all that is known of how the run was made."""
    if not report.made_with:
        return
    yield Text(("What the run was made with, as its snapshot says. Knobs are marked.",))
    yield make_table(
        report.made_with,
        {
            "topic": lambda each: Literal(each.topic if not each.instance else f"{each.topic} {each.instance}"),
            "what": lambda each: words_of(each.name),
            "value": lambda each: Name(in_unit(each.text, each.unit)),
            "knob": lambda each: "knob" if each.is_knob else "",
        },
        text=(0, 1, 2, 3),
    )
    yield Query(report.queries["made_with"])
