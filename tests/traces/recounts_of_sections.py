"""What the sections of a report say, counted again from the base tables; as recounts.py does for notes.

Each function returns a list of problems of one section. Time that runs at once is measured by unions of intervals.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import mean, median

from recounts import World, length_of, list_untold

from traceq.analysis.categories import HOST_LABELS, label
from traceq.common.units import count, duration, share, size, some
from traceq.reports.document import Block, Ledger, Paragraph, Table
from traceq.reports.model import TraceReport
from traceq.reports.sections import (
    communication,
    copies,
    critical_path,
    data,
    idle,
    kernels,
    steps,
    where_time_goes,
)

Intervals = list[tuple[int, int]]


def _list_paragraphs(blocks: Iterable[Block]) -> list[str]:
    return ["".join(each.spans) for each in blocks if isinstance(each, Paragraph)]


def _list_tables(blocks: Iterable[Block]) -> list[Table]:
    return [each for each in blocks if isinstance(each, Table)]


def _list_differences(said: Sequence[object], counted: Sequence[object]) -> Iterator[str]:
    if list(said) != list(counted):
        yield f"it says {list(said)}, and there is {list(counted)}"


def _clip_to_steps(world: World, slices: Iterable[tuple[int, int]]) -> Intervals:
    """Return what of the slices is in counted steps."""
    spans = world.rows("select ts, ts_end from step where trace_id = $t and excluded is null order by ts")
    found = []
    merged: Intervals = []
    for start, end in spans:
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    for ts, ts_end in slices:
        found += [(max(ts, start), min(ts_end, end)) for start, end in merged if ts < end and ts_end > start]
    return found


def _of_device(world: World, device: int, condition: str) -> Intervals:
    rows = world.rows(
        f"select ts, ts_end from gpu_slice where trace_id = $t and device = $device and {condition}", device=device
    )
    return _clip_to_steps(world, rows)


def _measure_both(one: Intervals, other: Intervals) -> int:
    return length_of(one) + length_of(other) - length_of([*one, *other])


_COMPUTES = "(kind = 'graph' or kind = 'kernel' and not is_communication)"


def of_copies(world: World, report: TraceReport) -> Iterator[str]:
    """The totals by unions of copies and kernels, and the headline by the one that is most exposed."""
    blocks = list(copies.describe_copies(report))
    facts = report.topics.copies
    for each in facts.totals:
        kinds = dict(
            world.rows(
                "select slice_id, category from copy_overlap where trace_id = $t and device = $device",
                device=each.device,
            )
        )
        rows = world.rows(
            "select slice_id, ts, ts_end from gpu_slice where trace_id = $t and device = $device", device=each.device
        )
        own = _clip_to_steps(world, ((ts, end) for slice_id, ts, end in rows if kinds.get(slice_id) == each.category))
        computes = _of_device(world, each.device, _COMPUTES)
        exposed = _sweep_ledger(world, each.device)[each.category]
        launched = world.counted(
            "select c.step, g.bytes, g.dur from copy_overlap as c inner join gpu_slice as g using (trace_id,"
            " slice_id)"
            " where c.trace_id = $t and c.device = $device and c.category = $category",
            device=each.device,
            category=each.category,
        )
        yield from _list_differences(
            (each.copies, each.busy_ns, each.overlapped_ns, each.exposed_ns),
            (len(launched), length_of(own), _measure_both(own, computes), exposed),
        )
        if each.bytes is not None:
            yield from _list_differences([each.bytes], [sum(moved for _, moved, _ in launched)])
    if facts.totals:
        worst = max(facts.totals, key=lambda each: each.exposed_ns)
        yield from _headline_of_copies(_list_paragraphs(blocks)[0], worst, report)
    for group in facts.groups:
        if max(group.pageable or 0, group.blocking or 0, group.returning) > group.copies:
            yield f"more pageable, blocking or returning copies than there are: {group}"
        if group.gb_per_s and group.best_gb_per_s and group.gb_per_s > group.best_gb_per_s * (1 + 1e-9):
            yield f"{group.gb_per_s} GB/s, and the best is {group.best_gb_per_s}"


def _headline_of_copies(text: str, worst, report: TraceReport) -> Iterator[str]:
    told = [duration(worst.busy_ns), f"{duration(worst.exposed_ns)} exposed"]
    told += [f"{duration(worst.overlapped_ns)} of it"] if worst.overlapped_ns else ["none of it behind compute"]
    told += [f"{count(worst.copies)} in all"] if worst.copies else []
    told += [size(worst.bytes)] if worst.copies and worst.bytes is not None else []
    told += [f"on GPU {worst.device}"] if f"on GPU {worst.device}" in text else []
    if not report.steps.is_window:
        told.append(f"({duration(worst.exposed_ns / report.steps.counted)} per step)")
        told += [f"at most {duration(worst.could_overlap_ns)}"] if worst.could_overlap_ns else []
    if (worst.could_overlap_ns or 0) > worst.exposed_ns:
        yield f"{worst.could_overlap_ns} of {worst.exposed_ns} could run beside"
    yield from list_untold(text, told)


def _sweep_ledger(world: World, device: int) -> Counter[str]:
    return World(world.connection, world.trace_id, device).ledger


def of_communication(world: World, report: TraceReport) -> Iterator[str]:
    """Communication by the union of its slices; what is exposed as the ledger has it."""
    totals = [each for each in report.topics.communication.totals if each.communication_ns]
    for each in totals:
        own = _of_device(world, each.device, "is_communication")
        computes = _of_device(world, each.device, _COMPUTES)
        yield from _list_differences(
            (each.communication_ns, each.overlapped_ns, each.exposed_ns),
            (length_of(own), _measure_both(own, computes), _sweep_ledger(world, each.device)["communication"]),
        )
    if totals:
        worst = max(totals, key=lambda each: each.exposed_ns)
        text = _list_paragraphs(communication.describe_communication(report))[0].split(". ")[0]
        told = [duration(worst.communication_ns), duration(worst.exposed_ns)]
        if not report.steps.is_window:
            told.append(f"({duration(worst.exposed_ns / report.steps.counted)} per step)")
        if worst.overlapped_ns:
            told.append(
                f"{duration(worst.overlapped_ns)} of it ({share(worst.overlapped_ns / worst.communication_ns)})"
            )
        told += [f"on GPU {worst.device}"] if f"on GPU {worst.device}" in text else []
        yield from list_untold(text, told)
    for each in report.topics.communication.collectives:
        rows = world.counted(
            "select step, bytes, dur, exposed from collective_slice where trace_id = $t and op = $op and"
            " group_name is not distinct"
            " from $name and group_size is not distinct from $size and size_class is not distinct from $class",
            op=each.op,
            name=each.group_name,
            size=each.group_size,
            **{"class": each.size_class_bytes},
        )
        yield from _list_differences(
            (each.slices, each.dur_ns, each.exposed_ns),
            (len(rows), sum(row[2] for row in rows), sum(row[3] for row in rows)),
        )


def of_kernels(world: World, report: TraceReport) -> Iterator[str]:
    """Kernels by device and by name; their time is at most that of all of them, and at least what they alone run."""
    blocks = list(kernels.describe_kernels(report))
    texts = _list_paragraphs(blocks)
    for each in report.topics.kernels.fill:
        rows = world.rows(
            "select ts, ts_end, step, is_communication from gpu_slice where trace_id = $t and device = $device"
            " and kind = 'kernel'",
            device=each.device,
        )
        own = [(ts, end) for ts, end, step, is_communication in rows if step in world.steps and not is_communication]
        others = [(ts, end) for ts, end, step, is_communication in rows if step not in world.steps or is_communication]
        most = length_of(own)
        if each.kernels != len(own) or not most - _measure_both(own, others) - len(own) <= each.dur_ns <= most + len(
            own
        ):
            yield f"{each.kernels} kernels, {each.dur_ns}: there are {len(own)}, {most}"
        if some(each.kernels, "kernel") not in " ".join(texts) and len(report.topics.kernels.fill) <= 4:
            yield f"it does not say {some(each.kernels, 'kernel')}"
    shown = sum(each.kernel_share or 0 for each in report.topics.kernels.top)
    if shown > 1 + 1e-6:
        yield f"kernels have {shown} of their time"
    numbers = Counter(
        name
        for _, name, is_communication in world.counted(
            "select step, name, is_communication from gpu_slice where trace_id = $t and kind = 'kernel'"
        )
        if not is_communication
    )
    for each in report.topics.kernels.top:
        if each.kernels != numbers[each.name]:
            yield f"{each.kernels} of {each.name}, of which there are {numbers[each.name]}"
    for each in report.topics.kernels.mfu:
        yield from _of_mfu(world, each, report)


def _of_mfu(world: World, each, report: TraceReport) -> Iterator[str]:
    rows = world.counted(
        "select step, flops, gpu_dur, peak from operator_cost where trace_id = $t and device = $device and flops > 0",
        device=each.device,
    )
    kernel_ns = sum(fill.dur_ns for fill in report.topics.kernels.fill if fill.device == each.device)
    spent = sum(row[2] or 0 for row in rows)
    if each.gpu_ns != spent or each.gpu_ns > kernel_ns * 1.001 + 1000:
        yield f"{each.gpu_ns} ns with known operations, of {spent} and {kernel_ns}"
    if each.mfu_share is not None:
        used = sum(row[1] / (row[3] * 1e3) for row in rows)
        total = sum(world.steps.values())
        # steps without operations are no part of it
        if not used / total * 0.999 <= each.mfu_share <= used / (spent or 1) + 0.001:
            yield f"MFU {each.mfu_share}, of {used / total}"


def of_gaps(world: World, report: TraceReport) -> Iterator[str]:
    """Gaps by number and time, and the longest."""
    rows = world.counted("select step, dur from idle_gap where trace_id = $t")
    yield from _list_differences(
        (sum(each.gaps for each in report.gap_sizes), sum(each.dur_ns for each in report.gap_sizes)),
        (len(rows), sum(dur for _, dur in rows)),
    )
    if report.gaps:
        yield from _list_differences(
            [each.dur_ns for each in report.gaps], sorted((dur for _, dur in rows), reverse=True)[: len(report.gaps)]
        )
    idle_ns = sum(
        dur
        for device in report.ledger
        for category, dur in _sweep_ledger(world, device.device).items()
        if category.startswith("idle")
    )
    if report.gap_sizes and sum(each.dur_ns for each in report.gap_sizes) != idle_ns:
        yield f"gaps of {sum(each.dur_ns for each in report.gap_sizes)}, and the ledger idles {idle_ns}"


def of_training_thread(world: World, report: TraceReport) -> Iterator[str]:
    """Own time of the training thread, which adds up to the counted steps."""
    held: Counter[tuple[str, str]] = Counter()
    for _, category, phase, dur in world.counted(
        "select step, category, phase, dur from host_ledger where trace_id = $t"
    ):
        held[category, phase] += dur
    told = {(each.category, each.phase): each.dur_ns for each in report.host_ledger}
    if told != held:
        yield f"host ledger {told}, and there is {dict(held)}"
    if told and sum(told.values()) != sum(world.steps.values()):
        yield f"{sum(told.values())} ns of {sum(world.steps.values())}"
    for table in _list_tables(idle.describe_training_thread(report)):
        for words, phase, time, part in table.rows[:-2]:
            found = [
                dur
                for (category, own), dur in held.items()
                if HOST_LABELS.get(category, category) == words and own == phase
            ]
            if words != "others" and (duration(sum(found)), share(sum(found) / sum(held.values()))) != (time, part):
                yield f"{words}, {phase}: {time}, {part}"


def of_critical_path(world: World, report: TraceReport) -> Iterator[str]:
    """The path is as long as the steps that it covers, and its parts are all of it."""
    facts = report.topics.critical_path
    if not facts.parts:
        return
    total = sum(each.dur_ns for each in facts.parts)
    if total != facts.summary.dur_ns or facts.summary.steps > len(world.steps):
        yield f"parts of {total} of a path of {facts.summary.dur_ns} ns, in {facts.summary.steps} of {len(world.steps)} steps"
    if abs(sum(each.path_share for each in facts.parts) - 1) > 1e-6:
        yield "shares that are not all of it"
    if sum(each.dur_ns for each in facts.names) > total * (1 + 1e-9):
        yield "names with more time than the path"
    (text, *_) = _list_paragraphs(critical_path.describe_critical_path(report))
    if "explains" in text:
        part = (facts.summary.unexplained_ns or 0) / facts.summary.dur_ns
        if (f"all but {share(part)}" if part else "explains all of it") not in text:
            yield text


def of_steps(world: World, report: TraceReport) -> Iterator[str]:
    """Number, mean, median and range of the counted steps; what is left out, and which part of the capture is judged."""
    durs = list(world.steps.values())
    facts = report.steps
    if not durs:
        return
    yield from _list_differences(
        (facts.counted, facts.total_ns, facts.min_ns, facts.max_ns), (len(durs), sum(durs), min(durs), max(durs))
    )
    if abs((facts.mean_ns or 0) - mean(durs)) > 1 or abs((facts.p50_ns or 0) - median(durs)) > 1:
        yield f"mean {facts.mean_ns} and median {facts.p50_ns}: {mean(durs)}, {median(durs)}"
    blocks = list(steps.describe_steps(report))
    text = " ".join(_list_paragraphs(blocks))
    if len(facts.excluded) and f"{len(facts.excluded)} left out" not in text and not facts.is_window:
        yield f"{len(facts.excluded)} steps left out"
    excluded = world.value("select count(*) from step where trace_id = $t and excluded is not null")
    if len(facts.excluded) != excluded:
        yield f"{len(facts.excluded)} left out of {excluded}"


def of_where_time_goes(world: World, report: TraceReport) -> Iterator[str]:
    """A bar has the share and the time per step of the ledger."""
    for block in where_time_goes.show_where_time_goes(report):
        if not isinstance(block, Ledger) or not report.ledger:
            continue
        found = re.search(r"GPU (\d+)", "".join(block.title))
        held = _sweep_ledger(world, int(found[1]) if found else -1)
        total = sum(world.steps.values())
        left = total
        for row in block.rows:
            ns = held[row.category] if row.category != "other" else left
            left -= ns
            if abs(row.share - ns / total) > 1e-9 or row.text != duration(ns / len(world.steps)):
                yield f"{row.label}: {row.share}, {row.text}; {ns / total}, {duration(ns / len(world.steps))}"
            if row.category != "other" and row.label != label(row.category):
                yield f"{row.label} for {row.category}"


def of_data(world: World, report: TraceReport) -> Iterator[str]:
    """Recount the time in which the training thread fetches, and that in which the GPU idles for it, from both ledgers."""
    stall = report.topics.data.stall
    fetching = sum(
        dur
        for _, category, dur in world.counted("select step, category, dur from host_ledger where trace_id = $t")
        if category == "data"
    )
    if stall.data_wait_ns is not None and stall.data_wait_ns != fetching:
        yield f"fetches for {stall.data_wait_ns}, by the ledger {fetching}"
    most = max((_sweep_ledger(world, each.device)["idle_data"] for each in report.ledger), default=0)
    if (stall.idle_data_ns or 0) > most:
        yield f"idles {stall.idle_data_ns} for input, by the ledger {most}"
    for text in _list_paragraphs(data.describe_input(report))[:1]:
        steps_ = len(world.steps)
        told = [
            duration(each / steps_) for each in (stall.data_wait_ns, stall.data_stall_ns, stall.idle_data_ns) if each
        ]
        for each in told:
            if each not in text and stall.data_stall_ns:
                yield f"it does not say {each}: {text}"
    loaders: dict[str, list[int]] = defaultdict(list)
    for _, loader, dur in world.counted("select step, loader, dur from data_fetch where trace_id = $t and is_training"):
        loaders[loader].append(dur)
    for each in report.topics.data.loaders:
        own = loaders.get(each.loader, [])
        if own and each.fetches < len(own):
            yield f"{each.fetches} fetches of {each.loader}, of which there are {len(own)}"


def of_what_is_not_there(world: World, report: TraceReport) -> Iterator[str]:
    """Where a report says that none ran, there is none in counted steps."""
    ran = {
        "Copies": "select step from copy_overlap where trace_id = $t",
        "Communication": "select step from collective_slice where trace_id = $t",
        "Compute kernels": "select step from kernel_occupancy where trace_id = $t and family <> 'communication'",
        "Waiting for input": "select step from host_ledger where trace_id = $t and category = 'data' and dur > 0",
    }
    lines = [
        "".join(line)
        for without in (
            copies.explain_no_copies,
            communication.explain_no_communication,
            kernels.explain_no_kernels,
            data.explain_no_input,
        )
        for line in without(report)
    ]
    for line in lines:
        topic = line.partition(":")[0]
        if re.search(": none (ran )?in the ", line) and world.counted(ran[topic]):
            yield f"{line} {len(world.counted(ran[topic]))}"


SECTIONS: dict[str, Callable[[World, TraceReport], Iterator[str]]] = {
    "describe_communication": of_communication,
    "describe_copies": of_copies,
    "describe_critical_path": of_critical_path,
    "describe_input": of_data,
    "describe_gaps": of_gaps,
    "describe_kernels": of_kernels,
    "describe_steps": of_steps,
    "describe_training_thread": of_training_thread,
    "show_where_time_goes": of_where_time_goes,
    "explain_no_communication": of_what_is_not_there,
    "explain_no_copies": of_what_is_not_there,
    "explain_no_input": of_what_is_not_there,
    "explain_no_kernels": of_what_is_not_there,
}
# What is counted again by another test, which is named, or states no fact of its own.
ELSEWHERE = {
    "describe_account": "test_account_of_traces.py",
    "describe_capture": "test_captures_of_traces.py",
    "describe_conditions": "tests/analysis/test_monitor_step.py",
    "list_extra_findings": "finding_checks.py",
    "list_finding_queries": "test_findings_of_traces.py",
    "describe_findings": "finding_checks.py",
    "write_header": "test_identity_of_traces.py",
    "describe_marks": "tests/analysis/test_marks.py",
    "describe_memory": "test_memory_of_traces.py",
    "describe_notes": "test_repeated_ingest_of_traces.py",
    "describe_outcomes": "test_findings_of_traces.py",
    "describe_outliers": "tests/analysis/test_analyses.py",
    "describe_recorded": "tests/app/test_records_beside.py",
    "describe_kernel_reports": "tests/app/test_kernel_reports_beside.py",
    "describe_requests": "tests/app/test_request_logs_beside.py",
    "describe_run": "tests/app/test_training_logs_beside.py",
    "draw_pictures": "the same rows as the tables beside them",
    "describe_quality": "tests/health",
    "rank_findings": "finding_checks.py",
    "describe_serving": "test_serving_of_traces.py",
    "describe_snapshot": "test_memory_viz.py",
    "describe_modules": "tests/analysis/test_module.py",
    "draw_activity": "tests/reports/test_activity.py",
    "draw_job_over_time": "tests/reports/test_job_timeline.py",
    "drop_source_folders": "tests/reports/test_source_names.py",
    "draw_snapshots": "tests/cli/test_memory_snapshots.py",
    "find_judged_job": "no words",
    "list_asked": "no words",
    "name_source": "no words",
    "write_headline": "tests/reports/test_headline.py",
    "write_verdict": "finding_checks.py",
    "list_warnings": "test_repeated_ingest_of_traces.py",
    "first_screen": "the sections that it is made of",
    "find_critical_trace": "no words",
    "describe_finding": "finding_checks.py",
    "list_rule_findings": "test_jobs_of_traces.py",
    "is_snapshot": "no words",
    "describe_job": "test_jobs_of_traces.py",
    "find_job": "no words",
    "explain_no_critical_path": "says that a database is old",
    "explain_no_memory": "test_memory_of_traces.py",
    "describe_rank_in_job": "test_jobs_of_traces.py",
    "draw_job_pictures": "test_jobs_of_traces.py",
    "draw_ranks": "test_jobs_of_traces.py",
    "describe_remark": "recounts.py",
    "list_traces": "where_time_goes and ranking, of several traces",
    "how_to_record": "no fact of the trace",
}
