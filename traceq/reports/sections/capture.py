"""The words about what was captured: the file, its producer, the slices in it, the GPUs, and how the run was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from traceq.common.units import count, duration, in_unit, share, size, some
from traceq.formats.made_with import words_of
from traceq.health.verdict import STATES
from traceq.reports.document import Block, Facts, Heading, Literal, Name, Paragraph, Query, Spans, Title, make_table
from traceq.reports.model import Device, MadeWith, ProgramFact, TraceFacts, TraceReport
from traceq.runs.compare.profiling import explain_unmeasured

# Shares are kept in four digits. A larger difference to that of the medians is one by CPU time.
_ROUNDED = 0.001

# Values of the table program that are no names.
_WORDS = {
    "python": "Python",
    "c++": "C++",
    "julia": "Julia",
    "cuda_graph": "graphs",
    "flash_attention": "fused attention",
    "half_precision": "16 bits",
    "foreach_optimizer": "foreach optimizer",
    "fused_optimizer": "fused optimizer",
    "checkpointing": "activation checkpointing",
    "expandable_segments": "expandable segments",
    "memory_pool": "memory pool",
    "channels_last": "channels last",
    "batch": "batch job",
    "nvidia": "NVIDIA",
    "amd": "AMD",
    "intel": "Intel",
}


def describe_capture(report: TraceReport) -> Iterator[Block]:
    """Yield the section on what was captured: file, program, settings, profiler, GPUs, overhead."""
    yield Heading(3, ("What was captured",), is_minor=True)
    source, *facts = _list_facts(report.trace)
    yield Facts(
        (
            source,
            ("program", (program_words(report.program),)),
            *((("made with", (summarize_made_with(report.made_with),)),) if report.made_with else ()),
            *facts,
            ("GPUs", _list_devices(report.devices)),
            *_overhead_row(report.trace),
        )
    )
    yield Query(report.queries["content"])
    yield Query(report.queries["program"])
    yield from list_made_with(report)


def describe_quality(report: TraceReport) -> Iterator[Block]:
    """Yield the section on how well the capture supports each metric, the worst first."""
    judged = sorted(report.quality, key=lambda each: -STATES.index(each.state))
    yield Heading(3, ("What this capture can show",), is_minor=True)
    yield make_table(
        judged,
        {"metric": lambda each: each.metric, "state": lambda each: each.state, "why": lambda each: Title(each.reason)},
        text=(0, 1, 2),
    )
    yield Paragraph(("Commands that record more: ", Literal("traceq doctor DB"), "."))


def _list_facts(facts: TraceFacts) -> tuple[tuple[str, Spans], ...]:
    """Return (label, text) rows on the trace: source, checksum, run, rank, time span, and slices on host and GPU."""
    producer = " ".join(filter(None, [facts.producer, facts.producer_version])) or "unknown producer"
    rank = "not in the trace" if facts.rank is None else str(facts.rank)
    if facts.rank is not None and facts.world_size is not None:
        rank += f" of {facts.world_size}"
    return (
        ("source", (f"{facts.format}, {size(facts.size_bytes)}, ", Name(producer))),
        ("sha256", (Literal(facts.sha256[:16]),)),
        ("run", (Name(facts.run) if facts.run else "not named",)),
        ("rank", (rank,)),
        ("time span", (duration(facts.dur_ns),)),
        ("host", (_count_slices(facts.cpu_slices),)),
        ("GPU", (_count_slices(facts.gpu_slices),)),
    )


def program_words(facts: Sequence[ProgramFact]) -> str:
    """Return what the trace shows of the program as text: language; frameworks; mode; workload; vendor."""
    kinds = groupby(facts, key=lambda each: each.property)
    told = (", ".join(_WORDS.get(each.value, each.value) for each in kind) for _, kind in kinds)
    return "; ".join(told) or "unknown: not in the trace"


def _overhead_row(facts: TraceFacts) -> tuple[tuple[str, Spans], ...]:
    """Return a (label, text) row on how much longer steps are with the profiler, or why this is unknown.

    Empty if it was not measured.
    """
    change, within, without = facts.overhead_share, facts.profiled_step_ns, facts.unprofiled_step_ns
    medians = f"median {duration(within)}, {duration(without)} without" if within and without else ""
    if change is None:
        return (
            ()
            if facts.loader_queue is None
            else (("overhead", (f"{explain_unmeasured(facts.loader_queue)}; {medians}",)),)
        )
    if within and without and within / without - 1 - change > _ROUNDED:
        text = (
            f"steps are {share(change)} longer with the profiler, by the CPU time of the training thread "
            f"({medians}, which differ for other reasons as well)"
        )
    else:
        text = f"steps are {share(abs(change))} {'shorter' if change < 0 else 'longer'} with the profiler"
        text += f": {medians}" if medians else ""
    return (("overhead", (text,)),)


def _count_slices(slices: dict[str, int]) -> str:
    """Return the number of slices of each kind as text, as "1,200 kernel, 30 copy"; "no slices" without any."""
    return ", ".join(f"{count(number)} {kind}" for kind, number in slices.items()) or "no slices"


def _list_devices(devices: Sequence[Device]) -> Spans:
    """Return the GPUs with activity, each with name and number of slices, and how many are without; "none" without GPUs."""
    used = [device for device in devices if device.slices]
    unused = len(devices) - len(used)
    spans: list[str] = []
    for device in used:
        # A number alone would read as that many GPUs.
        named = (
            [f"{device.device}: ", Name(device.name)]
            if device.name
            else [f"GPU {device.device}, name not in the trace"]
        )
        spans += [", " if spans else "", *named, f" ({some(device.slices, 'slice')})"]
    if unused:
        spans.append(f"{'; ' if spans else ''}{unused} listed without activity")
    return tuple(spans) or ("none",)


_UNKNOWN = "not known: there is no snapshot of settings next to the trace"


def summarize_made_with(facts: Sequence[MadeWith]) -> str:
    """Return the known facts and knobs of the run in a line: CPUs, loader, optimizer, precision, compiling, ranks."""
    first = {each.name: each.text for each in reversed(facts)}
    return "; ".join(_list_known(first)) or _UNKNOWN


def _list_known(known: Mapping[str, str]) -> Iterator[str]:
    """Yield phrases on the facts that are known (name -> text): CPUs, threads, loader, optimizer, precision, compiler, ranks."""
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
    """Yield the table of all known facts and knobs of the run; nothing if none are known."""
    if not report.made_with:
        return
    yield Paragraph(("What the run was made with, according to its snapshot. Settings that can be tuned are marked.",))
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
