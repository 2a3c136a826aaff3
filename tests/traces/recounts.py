"""What notes say, counted again from the base tables: by other queries than the rules', with medians and sums in Python.

Each function returns, for the note of one rule, all that its text has to say: words and numbers as they stand there.
`untold` compares both ways: what is missing, and numbers in the text that nobody counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import mean, median, quantiles
from typing import Any

import duckdb

from traceq.common.units import bytes_in, duration, share, short, short_size
from traceq.diagnosis.rules.shared.wording import byte_size, count_nouns, cut_name, gb_per_s, kernel_name

# A number with what stands before it: "sm90" and "F1" are names.
_NUMBER = re.compile(r"(?<![\w.,])\d[\d,.]*\d|(?<![\w.,])\d")
_NAMED = ("cublas", "cutlass", "cudnn", "nvjet")


@dataclass(frozen=True)
class World:
    """A trace of a database, the device that its notes are about, and how to ask for it."""

    connection: duckdb.DuckDBPyConnection
    trace_id: int
    device: int | None
    rank: int | None = None

    def rows(self, text: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return what a query finds, with $t and $d for the trace and its device."""
        known = {"t": self.trace_id, "d": self.device, **values}
        return self.connection.execute(text, {name: known[name] for name in _list_parameters(text)}).fetchall()

    def value(self, text: str, **values: Any) -> Any:
        """Return the only value that a query finds."""
        ((found,),) = self.rows(text, **values)
        return found

    @cached_property
    def steps(self) -> dict[int, int]:
        """The counted steps and how long each takes, ns."""
        return dict(self.rows("select step, dur from step where trace_id = $t and excluded is null order by step"))

    @property
    def step_ns(self) -> float:
        """A counted step as a mean, ns."""
        return sum(self.steps.values()) / len(self.steps)

    @property
    def is_window(self) -> bool:
        """Whether no steps were found."""
        return self.rows("select 1 from step where trace_id = $t and source = 'window'") != []

    @cached_property
    def ledger(self) -> dict[str, int]:
        """The ns of each category in the counted steps of the device."""
        held: Counter[str] = Counter()
        for step, category, dur in self.rows(
            "select step, category, dur from time_ledger where trace_id = $t and device = $d"
        ):
            if step in self.steps:
                held[category] += dur
        return held

    def counted(self, text: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query, whose first column is the step, that are of counted steps."""
        return [row for row in self.rows(text, **values) if row[0] in self.steps]

    @property
    def judged_ns(self) -> int:
        """The counted steps but for what the GPU did that was launched before the capture."""
        return sum(dur for category, dur in self.ledger.items() if category != "idle_earlier_work")

    def matching(self, names: Iterable[str], *patterns: str) -> set[str]:
        """Return the names in which one of the patterns (of DuckDB) is found."""
        return {
            name
            for name in names
            if any(
                self.connection.execute(
                    "select regexp_matches($name, $pattern)", {"name": name, "pattern": each}
                ).fetchone()
                == (True,)
                for each in patterns
            )
        }


def _list_parameters(text: str) -> set[str]:
    return set(re.findall(r"\$(\w+)", text))


def list_untold(text: str, told: Sequence[str]) -> Iterator[str]:
    """List what the text should say and does not, and the numbers in it that nobody counted."""
    rest = text
    for each in told:
        found = re.search(rf"(?<![\d.,]){re.escape(each)}(?![\d]|[.,]\d)", rest)
        if found is None:
            yield f"it does not say {each!r}"
        else:
            rest = f"{rest[: found.start()]} {rest[found.end() :]}"
    yield from (f"nobody counted {number!r}" for number in _NUMBER.findall(rest))


def length_of(intervals: Iterable[tuple[int, int]]) -> int:
    """Return how long at least one of the intervals (start, end) lasts."""
    total, until = 0, -(1 << 62)
    for start, end in sorted(intervals):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


# ---- steps


def few_steps(world: World, _text: str) -> list[str]:
    counted = list(world.steps.values())
    if not counted:
        told = ["No step is left to count"]
    elif len(counted) == 1:
        told = ["Only one step counts", duration(counted[0])]
    else:
        first, second = counted
        told = [
            "Only two steps count",
            duration(first),
            duration(second),
            f"{share(abs(first - second) / min(counted))} apart",
        ]
    reasons = world.rows("select distinct excluded from step where trace_id = $t and excluded is not null")
    return told + [reason for (reason,) in reasons]


def steps_not_marked(world: World, _text: str) -> list[str]:
    if not world.is_window:
        found = world.value("select count(*) from step where trace_id = $t")
        counted = [f"the {len(world.steps)} that count take {duration(world.step_ns)}"] if world.steps else []
        return [f"{found} steps", *counted]
    (window,) = world.steps.values()
    ends = world.rows(
        "select min(ts), max(ts_end) from (select ts, ts_end from cpu_slice where trace_id = $t and dur >= 0"
        " union all select ts, ts_end from gpu_slice where trace_id = $t)"
    )
    run = world.value("select sum(dur)::bigint from phase_of_run where trace_id = $t")
    if run is None:
        return [duration(window)]
    assert run >= ends[0][1] - ends[0][0] or run >= window
    return [duration(window), f"{share(window / run)} of the run"]


def start_up(world: World, text: str) -> list[str]:
    return _of_run(world, text, "start_up")


def idle_tail(world: World, text: str) -> list[str]:
    return _of_run(world, text, "tail")


def _of_run(world: World, text: str, phase: str) -> list[str]:
    """Recount a phase outside of what is judged: its length, the work of all GPUs in it, what the main thread has open."""
    phases = world.rows("select phase, ts, dur from phase_of_run where trace_id = $t")
    run = sum(dur for _, _, dur in phases)
    own = [(ts, ts + dur) for name, ts, dur in phases if name == phase]
    start, end = min(ts for ts, _ in own), max(ts_end for _, ts_end in own)
    length = sum(ts_end - ts for ts, ts_end in own)
    slices = world.rows("select device, ts, ts_end from gpu_slice where trace_id = $t")
    by_device: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for _, ts, ts_end in slices:
        by_device[0].append((max(ts, start), min(ts_end, end)))
    busy = length_of(each for each in by_device[0] if each[0] < each[1])
    told = [duration(length), duration(run), f"{share(length / run)} of the run"]
    told += [f"a GPU works for {duration(busy)}"] if busy else ["no GPU works"]
    thread = world.value("select min(thread_id) from host_ledger where trace_id = $t")
    open_ = world.rows(
        "select name, kind, ts, ts_end from cpu_slice where trace_id = $t and thread_id = $thread and depth is not"
        " null",
        thread=thread,
    )
    inside = [(name, kind, max(ts, start), min(ts_end, end)) for name, kind, ts, ts_end in open_]
    inside = [each for each in inside if each[2] < each[3]]
    if found := re.search(r"Initialising the profiler takes ([^.]*\.?\d* \S+) of that", text):
        overhead = length_of((ts, ts_end) for _, kind, ts, ts_end in inside if kind == "overhead")
        told += [
            f"Initialising the profiler takes {found[1]}",
            f"At most {share((length - overhead) / (run - overhead))}",
        ]
        if found[1] != duration(overhead):
            told.append(f"Initialising the profiler takes {duration(overhead)}")
    elif phase == "start_up":
        told.append(f"At most {share(length / run)}")
    parts = re.findall(
        r"(\w[^,:]*?)(?: \(the longest (.*?)\))? (\d+\.\d %)(?:,|\.$)", text.split("The main thread:")[1]
    )
    names = {cut_name(name) for name, *_ in inside}
    nothing = length - length_of((ts, ts_end) for _, _, ts, ts_end in inside)
    for what, longest, part in parts:
        told.append(f"{what}{f' (the longest {longest})' if longest else ''} {part}")
        if longest and longest not in names:
            told.append(f"{longest} is not in it")
        if what == "nothing traced" and part != share(nothing / length):
            told.append(f"nothing traced {share(nothing / length)}")
    if sum(float(part.removesuffix(" %")) for *_, part in parts) > 100.1:
        told.append("parts of one whole")
    return told


def counter_capture(world: World, _text: str) -> list[str]:
    ranges = world.value("select count(*) from cpu_slice where trace_id = $t and category = 'cuda_profiler_range'")
    held = world.counted("select step, category, dur from host_ledger where trace_id = $t")
    launching = sum(dur for _, category, dur in held if category == "launch")
    return [count_nouns(ranges, "kernel"), duration(launching), share(launching / sum(dur for *_, dur in held))]


def idle_earlier_work(world: World, _text: str) -> list[str]:
    earlier = world.ledger["idle_earlier_work"] / len(world.steps)
    of = "in all" if len(world.steps) == 1 else "per step on average"
    return [f"For {duration(earlier)} {of}", share(world.ledger["compute"] / world.judged_ns)]


def warm_up_counted(world: World, _text: str) -> list[str]:
    (step, first), *others = world.steps.items()
    rest = [dur for _, dur in others]
    told = [f"Step {step} takes", duration(first), f"{first / median(rest):.1f} times", f"other {len(rest)}"]
    told += [duration(world.step_ns), duration(mean(rest))]
    calls = world.rows(
        "select c.dur from cpu_slice as c, step as s where c.trace_id = $t and s.trace_id = $t and s.step = $step"
        " and c.kind = 'runtime' and c.ts >= s.ts and c.ts < s.ts + s.dur"
        " and exists (from host_name as h where h.trace_id = $t and h.kind = 'runtime' and h.name = c.name"
        " and h.activity in ('allocation', 'compile'))",
        step=step,
    )
    return told + ([f"{len(calls)} calls", duration(sum(dur for (dur,) in calls))] if calls else [])


def tail_latency(world: World, text: str) -> list[str]:
    steps = dict(
        world.rows(
            "select step, dur from step where trace_id = $t and excluded is null and not (step = (select max(step)"
            " from"
            " step where trace_id = $t) and gpu_ts is not null and ts + dur <= gpu_ts + gpu_dur)"
            " and step not in (select step from serving_step where trace_id = $t and kind in ('prefill', 'mixed'))"
        )
    )
    durs = sorted(steps.values())
    middle = median(durs)
    apart = median(abs(dur - middle) for dur in durs)
    slow = {
        step: dur
        for step, dur in steps.items()
        if (len(durs) >= 4 and dur > middle + 5 * apart and dur >= 1.25 * middle)
        or (len(durs) >= 10 and dur >= 1.5 * middle)
    }
    usual = mean(dur for step, dur in steps.items() if step not in slow)
    excess = sum(dur - usual for dur in slow.values()) / sum(durs)
    worst = quantiles(durs, n=100, method="inclusive")[98] if len(durs) > 1 else durs[0]
    named = ", ".join(map(str, sorted(slow)[:3])) + (", ..." if len(slow) > 3 else "")
    told = [f"{len(slow)} of {len(steps)} steps", named, duration(max(slow.values())), f"the others {duration(usual)}"]
    told += [f"p99 / p50 = {worst / middle:.2f}", f"{share(excess)} of all time"]
    return told + _more_of(world, text, slow, [step for step in steps if step not in slow])


def _more_of(world: World, text: str, slow: dict[int, int], others: Sequence[int]) -> list[str]:
    """Return what the categories named of slow steps have more in them, where all of the slow steps have it."""
    held: Counter[tuple[int, str]] = Counter()
    table = "host_ledger" if world.device is None else "time_ledger where device = $d and"
    for step, category, dur in world.rows(
        f"select step, category, dur from {table}{' where' if world.device is None else ''} trace_id = $t"
    ):
        held[step, category] += dur
    usual = mean(world.steps[step] for step in others)
    told = []
    for words in re.findall(r"(\w+|host time (?:in \w+|with nothing recorded)) \(\+[^)]+ a step\)", text):
        category = words.removeprefix("host time in ").replace("host time with nothing recorded", "none")
        base = sum(held[step, category] for step in others) / len(others)
        changes = [held[step, category] - base for step in slow]
        # only those steps count in which it is a fifth of what they take longer
        more = [change for change, step in zip(changes, slow, strict=True) if change >= 0.2 * (slow[step] - usual)]
        told.append(f"(+{duration(sum(more) / len(slow))} a step)")
    if re.search("come every", text):
        ordered = sorted(slow)
        told.append(f"every {ordered[1] - ordered[0]} steps")
    return told


def sampled_capture(world: World, _text: str) -> list[str]:
    numbers = world.rows(
        "select distinct correlation_id from cpu_slice where trace_id = $t and kind = 'runtime' and correlation_id"
        " is not null"
        " order by correlation_id"
    )
    ids = [number for (number,) in numbers]
    gap = median(later - earlier for earlier, later in pairwise(ids))
    return [f"about {gap - 1:,.0f} are missing"]


def graph_recording(world: World, _text: str) -> list[str]:
    calls = world.rows(
        "select name from cpu_slice where trace_id = $t and kind = 'runtime' and regexp_matches(name,"
        " 'Launch|StreamBeginCapture|StreamEndCapture') order by ts"
    )
    is_recording, recorded, launches = False, 0, 0
    for (name,) in calls:
        if "Capture" in name:
            is_recording = "Begin" in name
        else:
            launches += 1
            recorded += is_recording
    return [count_nouns(launches, "launch call"), f"{recorded:,} were recorded"]


# ---- the GPU, idle or busy


def idle_unattributed(world: World, _text: str) -> list[str]:
    gaps = world.counted(
        "select g.step, c.cause, c.dur, n.name, c.cpu_slice_id, c.gap_id from idle_gap_cause as c inner join"
        " idle_gap as g using"
        " (trace_id, gap_id) left join gpu_slice as n on n.trace_id = g.trace_id and n.slice_id = g.next_slice_id"
        " where g.trace_id = $t and g.device = $d and (c.cause = 'idle_unattributed' or"
        " (c.cause = 'idle_launch_latency' and c.dur >= 100000))"
    )
    total = sum(dur for _, _, dur, *_ in gaps) / len(world.steps)
    told = [f"{duration(total)} {'in all' if len(world.steps) == 1 else 'per step'}", share(total / world.step_ns)]
    for cause in {cause for _, cause, *_ in gaps}:
        own = [each for each in gaps if each[1] == cause]
        number = len({each[5] for each in own}) / len(world.steps)
        told.append(
            f"{duration(sum(each[2] for each in own) / len(world.steps))} in {count_nouns(round(number, 1), 'gap')}"
        )
        if cause == "idle_unattributed":
            told.append(f"the longest {duration(max(each[2] for each in own))}")
        else:
            longest = max(own, key=lambda each: each[2])
            told.append(f"the longest before {cut_name(longest[3])}")
    return told


def low_utilization(world: World, text: str) -> list[str]:
    gaps = world.counted(
        "select step, gap_id, ts, dur from idle_gap where trace_id = $t and device = $d and gap_id not in (select"
        " gap_id from"
        " idle_gap_cause where trace_id = $t and cause = 'idle_earlier_work')"
    )
    is_long = "of 1 ms or more" in text
    kind = [each for each in gaps if (each[3] >= 1_000_000 if is_long else each[3] < 100_000)]
    idle = sum(dur for *_, dur in gaps)
    of_kind = sum(dur for *_, dur in kind)
    causes: Counter[str] = Counter()
    ids = {gap_id for _, gap_id, *_ in kind}
    for gap_id, cause, dur in world.rows("select gap_id, cause, dur from idle_gap_cause where trace_id = $t"):
        if gap_id in ids:
            causes[cause] += dur
    cause, most = max(causes.items(), key=lambda each: each[1])
    number = len(kind) / len(world.steps)
    busy = sum(dur for category, dur in world.ledger.items() if not category.startswith("idle"))
    told = [f"busy {share(busy / world.judged_ns)}", f"{share(of_kind / idle)} of its idle"]
    told += [
        f"in {number:,.3g} gap" if number < 100 else f"in {number:,.0f} gap",
        f"{share(most / of_kind)} of that is {cause}",
    ]
    if is_long:
        longest = max(kind, key=lambda each: (each[3], -each[2]))
        starts = dict(world.rows("select step, ts from step where trace_id = $t"))
        begins = duration(longest[2] - starts[longest[0]])
        place = (
            f"step {longest[0]}, {begins} after its" if "after its start" in text else f"{begins} after the window's"
        )
        return [*told, "of 1 ms or more", f"the longest takes {duration(longest[3])} ({place} start)"]
    return [*told, "shorter than 100 µs"]


def gpu_saturated(world: World, text: str) -> list[str]:
    told = [share(world.ledger["compute"] / world.judged_ns), duration(world.ledger["compute"] / len(world.steps))]
    if "is not known" in text:
        return told
    return [*told, f"use {share(_measure_coverage(world))} of the multiprocessors"]


def _measure_coverage(world: World) -> float:
    """Return the share of the multiprocessors that get a block, by the time for which kernels account."""
    units = world.value("select sm_count from device_model where trace_id = $t and device = $d")
    kernels = world.counted(
        "select k.step, k.grid_x * k.grid_y * k.grid_z, o.exclusive_dur from kernel as k inner join"
        " kernel_occupancy as o"
        " using (trace_id, slice_id) where k.trace_id = $t and k.device = $d and o.family <> 'communication'"
        " and o.sm_coverage is not null"
    )
    return sum(min(blocks / units, 1) * dur for _, blocks, dur in kernels) / sum(dur for *_, dur in kernels)


def hotspot_kernel(world: World, text: str) -> list[str]:
    """Kernels may run beside others: the share lies between the time that only they run in and all that they run in."""
    slices = world.counted(
        "select step, name, kind, ts, ts_end from gpu_slice where trace_id = $t and device = $d and kind <> 'graph'"
    )
    names = {name for _, name, kind, *_ in slices if kind == "kernel"}
    name = next(each for each in sorted(names, key=len, reverse=True) if text.startswith(f"{kernel_name(each)} takes "))
    own = [(ts, ts_end) for _, other, _, ts, ts_end in slices if other == name]
    every = length_of((ts, ts_end) for *_, ts, ts_end in slices)
    others = length_of((ts, ts_end) for _, other, _, ts, ts_end in slices if other != name)
    found = re.search(r"takes (\d+\.\d) % of the GPU's busy time", text)
    said = float(found[1]) / 100 if found else 0.0
    told = [kernel_name(name), f"{share(said)} of the GPU's busy time"]
    if not (every - others) / every - 0.006 <= said <= length_of(own) / every + 0.006:
        told.append(f"between {share((every - others) / every)} and {share(length_of(own) / every)}")
    times = len(own) if world.is_window else len(own) / len(world.steps)
    return [*told, count_nouns(times, "time"), f"{duration(mean(ts_end - ts for ts, ts_end in own))} each"]


def low_mfu(world: World, text: str) -> list[str]:
    """Matrix kernels are those whose operators have operations, in graphs as well, and those that names show."""
    peak_ns, known_ns = (
        world.value(
            f"select coalesce(sum({what}), 0)::double from operator_cost where trace_id = $t and device = $d and flops > 0"
            " and peak is not null and step in (select step from step where trace_id = $t and excluded is null)"
        )
        for what in ("flops / (peak * 1e3)", "gpu_dur")
    )
    flops = dict(world.rows("select slice_id, flops from operator_cost where trace_id = $t"))
    inside = _list_inside(world)
    kernels = world.counted(
        "select b.step, b.slice_id, b.ledger_dur, o.family, b.name, coalesce(g.operator_id, l.operator_id) from"
        " busy_piece as b"
        " inner join kernel_occupancy as o using (trace_id, slice_id) left join cpu_slice as l on l.trace_id ="
        " b.trace_id and"
        " l.slice_id = b.launch_id left join graph_kernel as g on g.trace_id = b.trace_id and g.slice_id = b.slice_id"
        " where b.trace_id = $t and b.device = $d and b.category = 'compute'"
    )
    by_operator = [
        each for each in kernels if next((flops[one] for one in inside(each[5]) if one in flops), None) not in (None, 0)
    ]
    own = {each[1] for each in by_operator}
    helpers = world.matching(
        {each[4] for each in kernels},
        "(?i)splitKreduce|epilogue::|gemv|dot_kernel|nchwToNhwc|nhwcToNchw|scalePackedTensor|reduction|reduce_wgrad",
    )
    by_name = [each for each in kernels if each[1] not in own and each[3] in _NAMED and each[4] not in helpers]
    matrix = sum(each[2] for each in (*by_operator, *by_name))
    unknown = sum(each[2] for each in by_name)
    total = sum(world.steps.values())
    least, most = peak_ns / total, (peak_ns + unknown) / total
    said = f"Steps use {share(least)}" if share(least) == share(most) else f"Steps use {share(least)} to {share(most)}"
    told = [said, f"though {share(world.ledger['compute'] / total)}", f"take {share(matrix / world.ledger['compute'])}"]
    if "reach" in text:
        told.append(f"reach {share(peak_ns / known_ns)}")
    if "of these kernels" in text:
        told.append(f"for {share(unknown / matrix)} of these kernels")
    return told


def _list_inside(world: World) -> Callable[[int | None], list[int]]:
    """Return the function that lists an operator and the two around it, which may have the cost of its kernels."""
    around = dict(
        world.rows(
            "select slice_id, operator_id from cpu_slice where trace_id = $t and kind = 'op'"
            " union select slice_id, operator_id from graph_operator where trace_id = $t"
        )
    )

    def list_chain(operator: int | None) -> list[int]:
        found: list[int] = []
        while operator is not None and len(found) < 3:
            found.append(operator)
            operator = around.get(operator)
        return found

    return list_chain


def small_microbatch(world: World, text: str) -> list[str]:
    launched = world.counted(
        "select g.step, q.phase from gpu_slice as g inner join launch_state as q using (trace_id, slice_id) inner"
        " join cpu_slice as"
        " c on c.trace_id = g.trace_id and c.slice_id = g.launch_id where g.trace_id = $t and g.device = $d and"
        " q.phase in"
        " ('forward', 'backward', 'optimizer') order by c.ts, g.slice_id"
    )
    phases = [phase for _, phase in launched]
    pairs = list(zip([None, *phases], phases, strict=False))
    turns = pairs.count(("forward", "backward"))
    updates = sum(now == "optimizer" and before != "optimizer" for before, now in pairs)
    kernels = world.counted("select step, dur from gpu_slice where trace_id = $t and device = $d and kind = 'kernel'")
    told = [
        short(turns / updates),
        f"about {len(kernels) / turns:,.0f} kernels",
        duration(median(dur for _, dur in kernels)),
    ]
    told.append(f"launches for {share(_sum_late_launches(world) / sum(world.steps.values()))} of the step")
    return told + _of_memory(world, text)


def _sum_late_launches(world: World) -> int:
    """Return the idle time of gaps below a millisecond in which the host was late to launch, ns."""
    return sum(
        dur
        for _, dur in world.counted(
            "select g.step, c.dur from idle_gap as g inner join idle_gap_cause as c using (trace_id, gap_id) where"
            " g.trace_id = $t"
            " and g.device = $d and c.cause in ('idle_launch', 'idle_python') and c.dur < 1000000"
        )
    )


def _most_used(world: World) -> tuple[int, int]:
    """Return the most memory that counted steps use or reserve on the device, and what it has."""
    rows = world.counted(
        "select step, greatest(peak, coalesce(reserved, 0)), capacity from memory_step where trace_id = $t and"
        " device = $d and"
        " memory = 'device'"
    )
    return max(used for _, used, _ in rows), rows[0][2]


def _of_memory(world: World, text: str) -> list[str]:
    """Return what is said of memory where the text says how much is used."""
    if "eak memory is" not in text:
        return []
    used, capacity = _most_used(world)
    return [f"eak memory is {share(used / capacity)} of {bytes_in('GiB', capacity, 0)} GiB"] * text.count(
        "eak memory is"
    )


def goal_advice(world: World, text: str) -> list[str]:
    """Each phrase has one number of its own."""
    total = sum(world.steps.values())
    compute, launching = world.ledger["compute"] / total, _sum_late_launches(world) / total
    told = [f"step of {duration(world.step_ns)}"]
    for phrase, known in (
        ("for launches for {} of the step", lambda: launching),
        ("for them for {} of the step", lambda: launching),
        ("compute is {} of the step", lambda: compute),
        ("against {} compute", lambda: compute),
        ("communication {}, so", lambda: world.ledger["communication"] / total),
        ("use only {} of the multiprocessors", lambda: _measure_coverage(world)),
        ("fills {} of the multiprocessors", lambda: _measure_coverage(world)),
        ("Waits come first: they are {} of the step", lambda: _sum_waits(world) / total),
        ("optimizer and copy kernels take {} of the step", lambda: _sum_fusible(world) / total),
        ("on fp32 data take {} of the step", lambda: _measure_arithmetic(world, "fp32") / total),
        ("TF32 arithmetic takes {} of the step", lambda: _measure_arithmetic(world, "tf32") / total),
        ("at the compute limit takes {} of the step", lambda: _measure_arithmetic(world, "half") / total),
    ):
        pattern = re.escape(phrase).replace(r"\{\}", r"(?:< )?\d+\.\d %")
        if times := len(re.findall(pattern, text)):
            told += [phrase.replace("{}", share(known()))] * times
    if "times as large" in text:
        told.append(f"about {1 + launching / max(compute, launching / 8):.2g} times as large")
    told += [f"({number})" for number in range(1, 6) if f"({number})" in text]
    return [*told, *_of_memory(world, text), *_check_exposed(world, text, total)]


def _sum_waits(world: World) -> int:
    names = ("data", "checkpoint", "compile", "allocation", "sync", "os")
    return sum(world.ledger[f"idle_{name}"] for name in names) + world.ledger["copy_h2d"]


def _sum_fusible(world: World) -> float:
    families = ("elementwise", "norm", "reduce", "softmax", "optimizer", "copy")
    rows = world.counted("select step, family, exclusive_dur from kernel_occupancy where trace_id = $t and device = $d")
    return sum(dur for _, family, dur in rows if family in families)


def _measure_arithmetic(world: World, kind: str) -> float:
    rows = world.counted(
        "select step, dtype, compute_type, bound, coalesce(gpu_dur, 0) from operator_cost where trace_id = $t and"
        " device = $d and kind"
        " in ('matmul', 'convolution', 'attention')"
    )
    is_of = {
        "fp32": lambda dtype, computed, _: (computed or dtype) == "fp32",
        "tf32": lambda _, computed, __: computed == "tf32",
        "half": lambda _, computed, bound: computed in ("fp16", "bf16") and bound == "compute",
    }[kind]
    return sum(dur for _, dtype, computed, bound, dur in rows if is_of(dtype, computed, bound))


def _check_exposed(world: World, text: str, total: int) -> list[str]:
    """Return the shares of communication that are said to be exposed, none of which may be more than all of it."""
    told, most = [], world.ledger["communication"] / total
    for said in re.findall(r"exposed for ((?:< )?\d+\.\d %)", text):
        told.append(f"exposed for {said}")
        if float(said.removesuffix(" %").removeprefix("< ")) / 100 > most + 0.0006:
            told.append(f"exposed for {share(most)} at most")
    told += re.findall(r"in groups of \d+|\d[\d,]* collectives a step|\(stages - 1\)|micro-batches \+ stages - 1", text)
    for number in re.findall(r"([\d,]+) collectives a step", text):
        every = len(world.counted("select step from collective_slice where trace_id = $t and device = $d")) / len(
            world.steps
        )
        if int(number.replace(",", "")) > every + 0.5:
            told.append(f"{every:,.0f} collectives a step at most")
    return told


# ---- communication


def parallelism_choices(world: World, text: str) -> list[str]:
    return _of_layers(world, text) if text.startswith("Layers") else _of_model(world, text)


def _list_reduced(world: World) -> list[tuple[Any, ...]]:
    return world.counted(
        "select step, op, bytes, group_size, bus_bandwidth, slice_id from collective_slice where trace_id = $t and"
        " device = $d"
    )


def _of_layers(world: World, text: str) -> list[str]:
    """The group that reduces most often is that of the layers."""
    found = re.search(r"over (\d+) ranks, which all-reduce ([\d.e+]+) times", text)
    ranks = int(found[1]) if found else 0
    own = [each for each in _list_reduced(world) if each[1] == "all_reduce" and each[3] == ranks]
    steps = len(world.steps)
    # of one group others may reduce something else, too: no more than all of them is said
    times = min(float(found[2]) if found else 0.0, len(own) / steps)
    sent = (
        2 * (ranks - 1) / ranks * sum(sorted((each[2] for each in own), reverse=True)[: round(times * steps)]) / steps
    )
    best = max(each[4] for each in own)
    told = [f"over {ranks} ranks, which all-reduce {short(times)} times a step", f"each sends {byte_size(round(sent))}"]
    told += [f"{duration(round(sent / best))} at {gb_per_s(best)}"]
    for number in map(int, re.findall(r"; over (\d+) ranks", text)):
        other = sent / (2 * (ranks - 1) / ranks) * 2 * (number - 1) / number
        told += [f"over {number} ranks it would be {byte_size(round(other))}"]
        told += [f"{byte_size(round(number * round(other)))} instead of {byte_size(round(ranks * round(sent)))}"]
    if "Exposed communication takes" in text:
        told.append(f"takes {duration(world.ledger['communication'] / steps)}")
    return told


def _of_model(world: World, text: str) -> list[str]:
    """Count gradients by the bytes of what is reduced in the backward pass, parameters by its elements."""
    rows = world.counted(
        "select s.step, s.op, s.bytes, s.group_size, s.bus_bandwidth, greatest(c.in_elements, c.out_elements),"
        " c.dtype, p.phase from"
        " collective_slice as s inner join collective as c using (trace_id, slice_id) left join launch_state as p"
        " using (trace_id,"
        " slice_id) where s.trace_id = $t and s.device = $d"
    )
    own = [each for each in rows if each[1] in ("all_reduce", "reduce_scatter") and each[7] == "backward"]
    steps, ranks = len(world.steps), own[0][3]
    elements, parameters = sum(each[5] for each in own), _number(r"replicate ([\d,]+)|shard ([\d,]+) trained", text)
    times = elements / parameters / steps  # how often all gradients are reduced in a step
    told = [f"{ranks} ranks", f"{parameters:,} trained"]
    if abs(times - round(times)) > 0.001:
        told.append("as many gradients as parameters")
    width = own[0][2] / own[0][5]
    turned = _count_turns(world)
    gradients, part = width * parameters, (ranks - 1) / ranks
    micro, updates = turned["backward"] / steps, turned["optimizer"] / steps
    held = parameters * (width if own[0][1] == "all_reduce" else _measure_gathered_width(rows))
    sends = {
        "DDP": 2 * part * gradients * times,
        "ZeRO-1": part * (gradients * times + held * updates),
        "ZeRO-2": part * (gradients * micro + held * updates),
        "ZeRO-3": part * (gradients + 2 * held) * micro,
    }
    sizes = {name: byte_size(round(sent)) for name, sent in sends.items()}
    if "ZeRO-1 or ZeRO-2" in text:
        told.append(f"{sizes['DDP']} with DDP, ZeRO-1 or ZeRO-2")
    else:
        told += [f"{sizes[name]} with {name}" for name in ("DDP", "ZeRO-1", "ZeRO-2")]
    told.append(f"{sizes['ZeRO-3']} with ZeRO-3 (FSDP)")
    if "the best rate of these" in text:
        best = max(each[4] for each in own)
        told += [f"{duration(round(sends['DDP'] / best))} (DDP)", f"{duration(round(sends['ZeRO-3'] / best))} (ZeRO-3)"]
        told.append(f"at {gb_per_s(best)}")
    capacity = world.value("select memory_bytes from device where trace_id = $t and device = $d")
    of = f" of {byte_size(capacity)}" if capacity else ""
    told += [
        f"take {byte_size(round(held + gradients))}{of} a rank",
        f"with ZeRO-2 {byte_size(round(held + gradients / ranks))}",
    ]
    told.append(f"with ZeRO-3 {byte_size(round((held + gradients) / ranks))}")
    if found := re.search(r"states of \w+ take", text):
        numbers = 1 if "Adagrad" in found[0] else 2
        told += [
            f"{found[0]} {byte_size(round(held * numbers))}",
            f"(from ZeRO-1 on) {byte_size(round(held * numbers / ranks))}",
        ]
    if "two ranks, a rank would send" in text:
        told += _split(world, gradients * times, ranks, micro)
    return told


def _split(world: World, reduced: float, ranks: int, micro: float) -> list[str]:
    queries = world.counted(
        "select x.step, o.args, x.dtype from operator_cost as x inner join cpu_slice as o using (trace_id,"
        " slice_id) where x.trace_id ="
        " $t and x.device = $d and x.kind = 'attention' and not regexp_matches(o.name, '(?i)backward')"
    )
    calls = len(queries) / len(world.steps)
    number = 1
    for length in json.loads(queries[0][1])["Input Dims"][0]:
        number *= length
    held = number * {"fp32": 4, "fp64": 8}.get(queries[0][2], 2)
    rest = (ranks - 2) / ranks * reduced
    return [
        f"would send {byte_size(round(4 * calls * held + rest))}",
        f"two stages, {byte_size(round(held * micro + rest))}",
        f"{share(1 / (micro + 1))} of the step",
    ]


def _measure_gathered_width(rows: Sequence[tuple[Any, ...]]) -> float:
    gathered = [each for each in rows if each[1] == "all_gather"]
    return gathered[0][2] / gathered[0][5]


def _count_turns(world: World) -> Counter[str]:
    """Return how often the program turns to the backward pass and to the optimizer in counted steps."""
    phases = world.counted(
        "select g.step, q.phase from gpu_slice as g inner join launch_state as q using (trace_id, slice_id) inner"
        " join cpu_slice as"
        " c on c.trace_id = g.trace_id and c.slice_id = g.launch_id where g.trace_id = $t and g.device = $d and"
        " q.phase in"
        " ('forward', 'backward', 'optimizer') order by c.ts, g.slice_id"
    )
    turns: Counter[str] = Counter()
    before = None
    for _, phase in phases:
        turns[phase] += phase != before and (phase != "backward" or before == "forward")
        before = phase
    return turns


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(next(each for each in found.groups() if each).replace(",", "")) if found else 0


_OF_OTHERS = ("communication", "idle_communication", "idle_dependency", "idle_launch_latency")


def rank_imbalance(world: World, _text: str) -> list[str]:
    """The traces of one job, and their devices, without what waits for others."""
    traces = world.rows(
        "select o.trace_id, o.rank from trace as o, trace as own where own.trace_id = $t and o.run is not distinct"
        " from own.run and"
        " o.world_size is not distinct from own.world_size and (o.rank is not null or o.trace_id = $t)"
    )
    units: dict[tuple[int | None, int], Counter[str]] = {}
    for trace_id, rank in traces:
        steps = World(world.connection, trace_id, None).steps
        for device, step, category, dur in world.rows(
            "select device, step, category, dur from time_ledger where trace_id = $other", other=trace_id
        ):
            if step in steps:
                units.setdefault((rank, device), Counter())[category] += dur / len(steps)
    units = {unit: parts for unit, parts in units.items() if parts["compute"] > 0}
    own = {unit: sum(dur for name, dur in parts.items() if name not in _OF_OTHERS) for unit, parts in units.items()}
    most, least = max(own, key=lambda unit: own[unit]), min(own, key=lambda unit: own[unit])
    others = [parts for unit, parts in units.items() if unit != most]
    more = {
        name: dur - sum(parts[name] for parts in others) / len(others)
        for name, dur in units[most].items()
        if name not in _OF_OTHERS
    }
    told = [
        f"{_name_unit(most)} needs {duration(round(own[most]))}",
        f"{_name_unit(least)} needs {duration(round(own[least]))}",
    ]
    told += [f"{len(units)} compared", f"+{duration(round(max(more.values())))} per step"]
    told += [
        f"takes {duration(round(units[most]['compute']))}",
        f"{_name_unit(least)} {duration(round(units[least]['compute']))}",
    ]
    return told


def _name_unit(unit: tuple[int | None, int]) -> str:
    rank, device = unit
    return f"device {device}" if rank is None else f"rank {rank} (device {device})"


def late_rank(world: World, _text: str) -> list[str]:
    """Collectives of one group and number are the same; who needs least of one came last."""
    rows = world.rows(
        "select t.rank, t.trace_id, c.group_name, c.sequence, s.dur, s.exposed, s.step from collective_slice as s"
        " inner join collective"
        " as c using (trace_id, slice_id) inner join trace as t using (trace_id) where c.sequence is not null"
    )
    counted = {each: World(world.connection, each, None).steps for each in {row[1] for row in rows}}
    matched: dict[tuple[str, int], list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        matched[row[2], row[3]].append(row)
    waits: Counter[int] = Counter()
    for group in matched.values():
        last = min(group, key=lambda row: row[4])
        for row in group:
            if last[0] == world.rank != row[0] and row[6] in counted[row[1]]:
                waits[row[0]] += max(row[5] - last[4], 0) / len(counted[row[1]])
    longest, ns = max(waits.items(), key=lambda each: (each[1], -each[0]))
    return [
        f"Rank {world.rank} is",
        f"{len(waits)} of the other ranks",
        f"up to {duration(ns)} per step (rank {longest})",
    ]


# ---- input and serving


def cold_files(world: World, text: str) -> list[str]:
    fetches = world.rows(
        "select loader, dur, reading, is_first from data_fetch where trace_id = $t and is_training order by"
        " thread_id, ts"
    )
    loader = next(each[0] for each in fetches if f"A batch of {cut_name(each[0])} takes" in text)
    epochs: list[list[tuple[int, int]]] = []
    for name, dur, reading, is_first in fetches:
        if name == loader and is_first:
            epochs.append([])
        elif name == loader and epochs:
            epochs[-1].append((dur, reading))
    first, *later = [epoch for epoch in epochs if len(epoch) >= 5]
    per_fetch = [sum(reading for _, reading in epoch) / len(epoch) for epoch in (first, *later)]
    lasting = [median(dur for dur, _ in epoch) for epoch in (first, *later)]
    told = [f"takes {duration(per_fetch[0])} per batch", duration(median(per_fetch[1:])), cut_name(loader)]
    told += [f"takes {duration(lasting[0])} at first", f"{duration(median(lasting[1:]))} later"]
    return told + ([] if len(later) == 1 else [f"the {len(later)} later ones"])


def prefill_stalls_decode(world: World, text: str) -> list[str]:
    """Steps of one kind between two that decode, or what steps of both kinds take beyond those that only decode."""
    steps = world.rows(
        "select step, kind, dur, decode_requests, excluded from serving_step where trace_id = $t order by step"
    )
    late = {
        step
        for (step,) in world.rows(
            "select distinct step from idle_gap as g inner join idle_gap_cause as c using (trace_id, gap_id) where"
            " g.trace_id = $t and"
            " c.cause = 'idle_earlier_work' and step is not null"
        )
    }
    counted = [each for each in steps if each[4] is None]
    alone = [each for each in counted if each[1] == "decode" and each[0] not in late]
    decode_ns = median(each[2] for each in alone) if alone else None
    stalls: list[tuple[int, int, int]] = []
    if "prompt-only steps" in text:
        waited, before, is_late = 0, 0, False
        for step, kind, dur, requests, _ in steps:
            is_late = is_late or step in late
            if kind == "prefill":
                waited += dur if before else 0
            elif requests:
                if waited and not is_late:
                    stalls.append((step, waited, min(before, requests)))
                waited, before, is_late = 0, requests, step in late
    else:
        for step, kind, dur, requests, _ in counted:
            like = [each[2] for each in counted if each[1] == "decode" and each[3] == requests]
            if kind == "mixed" and like and dur > median(like) and step not in late:
                stalls.append((step, dur - median(like), requests))
    served = sum(each[2] for each in counted if (each[3] or 0) > 0 and each[0] not in late)
    if "prompt-only steps" in text:
        served += sum(dur for _, dur, _ in stalls)
    total, longest = sum(dur for _, dur, _ in stalls), max(stalls, key=lambda each: (each[1], -each[0]))
    told = [share(total / served), f"{duration(total)} in {count_nouns(len(stalls), 'wait')}"]
    told += [
        f"adds {duration(median(dur for _, dur, _ in stalls))}",
        f"{duration(longest[1])} at worst (step {longest[0]})",
    ]
    told += [f"Up to {count_nouns(max(each[2] for each in stalls), 'request')}"]
    return told + ([f"decodes takes {duration(decode_ns)}"] if decode_ns else [])


_PRODUCT = re.compile(r"^aten::(linear|mm|mv|matmul|addmm|addmv|_addmm_activation)$")
_WEIGHT_AT = {"aten::mv": 0, "aten::addmm": 2, "aten::_addmm_activation": 2}


def quantization(world: World, _text: str) -> list[str]:
    """Products of 16 bits with a weight of two dimensions, by the shapes of their operators."""
    operators = {
        slice_id: (name, json.loads(args))
        for slice_id, name, args in world.rows(
            "select slice_id, name, args from cpu_slice where trace_id = $t and kind = 'op' and args is not null"
            " union all select slice_id, name, args from graph_operator where trace_id = $t and args is not null"
        )
        if _PRODUCT.match(name)
    }
    costs = {
        each[0]: each[1:]
        for each in world.rows(
            "select slice_id, bound, dtype, compute_type, peak, bytes from operator_cost where trace_id = $t and"
            " dtype in ('fp16',"
            " 'bf16') and bound <> 'unknown'"
        )
    }
    fp8, int8 = world.rows("select fp8, int8 from device_model where trace_id = $t and device = $d")[0]
    kernels = world.counted(
        "select b.step, b.ledger_dur, coalesce(g.operator_id, l.operator_id) from busy_piece as b left join"
        " cpu_slice as l on"
        " l.trace_id = b.trace_id and l.slice_id = b.launch_id left join graph_kernel as g on g.trace_id ="
        " b.trace_id and"
        " g.slice_id = b.slice_id where b.trace_id = $t and b.device = $d and b.category = 'compute'"
    )
    spent: Counter[int] = Counter()
    for _, dur, operator in kernels:
        spent[operator] += dur
    kinds: dict[tuple[str, str, str], list[float]] = {}
    steps = len(world.steps)
    for operator, dur in spent.items():
        if operator not in costs or operator not in operators:
            continue
        bound, dtype, computed, peak, moved = costs[operator]
        name, args = operators[operator]
        weight = args["Input Dims"][_WEIGHT_AT.get(name, 1)]
        if len(weight) != 2 or not all(isinstance(each, int) for each in weight):
            continue
        held = 2 * weight[0] * weight[1]
        faster = max(fp8 or 0, int8 or 0, peak)
        cut_ = held / moved if bound == "memory" else 0.0
        less = 1 - peak / faster
        sums = kinds.setdefault((bound, dtype, computed), [0.0] * 5)
        for at, each in enumerate(
            (
                dur,
                held,
                dur * (0.5 * cut_ if bound == "memory" else less),
                dur * (0.75 * cut_ if bound == "memory" else less),
            )
        ):
            sums[at] += each
        sums[4] = faster / peak
    step_ns = world.judged_ns / steps
    told = [duration(round(sum(each[0] for each in kinds.values()) / steps)), f"of {duration(step_ns)}"]
    for (bound, dtype, computed), (dur, held, eight, four, times) in kinds.items():
        if round(dur / steps) < 0.01 * step_ns:
            continue
        told.append(f"is the limit in {duration(round(dur / steps))} of it")
        told.append(f"save{'' if bound == 'memory' else 's'} at most {duration(round(eight / steps))}")
        if bound == "memory":
            told += [f"Reading {byte_size(round(held / steps))} of {dtype} weights", "8-bit"]
            told += (
                [f"4-bit ones {duration(round(four / steps))}"] if round(four / steps) > round(eight / steps) else []
            )
        else:
            told += [f"Arithmetic in {computed}", f"{times:.1f} times the peak"]
    told.append(f"In all, that saves at most {share(sum(each[2] for each in kinds.values()) / world.judged_ns)}")
    return told


# ---- memory


def memory_unused(world: World, text: str) -> list[str]:
    used, capacity = _most_used(world)
    rows = world.counted(
        "select step, peak, coalesce(allocated_start, allocated_end) from memory_step where trace_id = $t and"
        " device = $d and memory ="
        " 'device'"
    )
    peak = max(each[1] for each in rows)
    stays = min((each[2] for each in rows if each[2] is not None), default=peak)
    told = [f"{bytes_in('GiB', used, 2)} of {bytes_in('GiB', capacity, 0)} GiB", f"({share(used / capacity)})"]
    if "multiprocessors" in text:
        told.append(f"use only {share(_measure_coverage(world))} of the multiprocessors")
    else:
        told.append(f"waits {share(_sum_late_launches(world) / sum(world.steps.values()))} of the step")
    if "What a step allocates" in text:
        times = (0.8 * capacity - stays) / max(peak - stays, 1)
        told += [
            f"({bytes_in('GiB', peak - stays, 2)} GiB)",
            f"{'at least' if times > 8 else 'about'} {min(times, 8):,.0f} times",
        ]
    return told


def memory_near_capacity(world: World, text: str) -> list[str]:
    rows = world.counted(
        "select step, peak, reserved, capacity from memory_step where trace_id = $t and device = $d and memory ="
        " 'device'"
    )
    step, peak, reserved, capacity = max(
        rows, key=lambda each: (each[1] / each[3], max(each[1], each[2] or 0), -each[0])
    )
    if text.startswith("Tensors"):
        return [
            f"use {bytes_in('GiB', peak, 1)} GiB of {bytes_in('GiB', capacity, 1)} GiB",
            f"({share(peak / capacity)}) in step {step}",
        ]
    of = f"of {bytes_in('GiB', capacity, 1)} GiB ({share(max(peak, reserved) / capacity)})"
    return [
        f"holds {bytes_in('GiB', reserved, 1)} GiB {of}",
        f"need {bytes_in('GiB', peak, 1)} GiB",
    ]


def memory_fragmentation(world: World, _text: str) -> list[str]:
    rows = world.counted(
        "select step, peak, peak_reserved, capacity from memory_step where trace_id = $t and device = $d and"
        " memory = 'device' and"
        " peak_reserved > 0"
    )
    step, peak, reserved, capacity = max(rows, key=lambda each: (each[1], -each[0]))
    told = [f"({bytes_in('GiB', peak, 1)} GiB, step {step})"]
    told += [f"holds {bytes_in('GiB', reserved, 1)} of {bytes_in('GiB', capacity, 1)} GiB"]
    told += [f"{bytes_in('GiB', reserved - peak, 1)} GiB ({share((reserved - peak) / reserved)})"]
    calls = world.counted(
        "select step, calls from allocator_call where trace_id = $t and operation in ('allocate', 'free')"
    )
    number = sum(each for _, each in calls)
    return told + ([f"{number} times"] if number else [])


def memory_growth(world: World, text: str) -> list[str]:
    memory = "host" if text.startswith("Memory (host)") else "device"
    rows = world.counted(
        "select step, growth, allocated_end, capacity from memory_step where trace_id = $t and memory = $memory"
        " and growth is not null"
        " and (device = $d or $memory = 'host') order by step",
        memory=memory,
    )
    growth, (_, _, held, capacity) = median(each[1] for each in rows), rows[-1]
    told = [f"in each of {len(rows)} counted steps", f"by {bytes_in('MiB', growth, 1)} MiB a step"]
    told.append(f"to {bytes_in('GiB', held, 2)} GiB")
    return told + ([f"after {max(0, (capacity - held) / growth):,.0f} more steps"] if capacity else [])


def _at_peak(world: World) -> tuple[int, list[tuple[str, int, int]]]:
    """Return the highest peak of a device, and what is there then: category, stack and bytes that were asked for."""
    device, peak = world.rows(
        "select device, bytes from memory_peak where trace_id = $t order by bytes desc, device limit 1"
    )[0]
    held = world.rows(
        "select coalesce(a.category, 'unknown'), s.owner, a.requested_bytes from allocation as a left join"
        " allocation_stack as s using"
        " (trace_id, stack_id) where a.trace_id = $t and a.device = $device and a.at_peak",
        device=device,
    )
    return peak, held


def _share_of_peak(world: World, category: str) -> tuple[int, int, list[str], str, int, int]:
    peak, held = _at_peak(world)
    own = [(owner, asked) for name, owner, asked in held if name == category]
    holders: Counter[str] = Counter()
    for owner, asked in own:
        if owner is not None:
            holders[owner] += asked
    owner, most = max(holders.items(), key=lambda each: each[1]) if holders else ("", 0)
    total = sum(asked for _, asked in own)
    return (
        peak,
        total,
        [f"{byte_size(total)} of the {byte_size(peak)} in use", f"({share(total / peak)})"],
        owner,
        most,
        len(own),
    )


def activation_peak(world: World, _text: str) -> list[str]:
    _, _, told, owner, most, number = _share_of_peak(world, "activations")
    return [*told, f"in {number} allocations", f"{cut_name(owner)} holds most of them", byte_size(most)]


def optimizer_memory(world: World, _text: str) -> list[str]:
    _, total, told, owner, _, _ = _share_of_peak(world, "optimizer")
    _, parameters, *_ = _share_of_peak(world, "parameters")
    times = [f"{short(total / parameters)} times the size of the parameters"] if parameters else []
    return [*told, *times, cut_name(owner)]


def memory_by_kind(world: World, _text: str) -> list[str]:
    peak, held = _at_peak(world)
    ranks = world.value("select coalesce(max(world_size), 1) from trace where trace_id = $t")
    totals: Counter[str] = Counter()
    for category, _, asked in held:
        totals[category] += asked
    half = [("with half of the batch", 0.5)]
    levers = {
        "activations": half,
        "inputs": half,
        "parameters": [("in 16 bits where they have 32", 0.5)],
        "optimizer": [("in 8 bits where they have 32", 0.75)],
        "gradients": [("released in the backward pass", 1.0)],
    }
    told = [f"Of {byte_size(peak)} in use"]
    for category, own in levers.items():
        total = totals[category]
        if total < 0.1 * peak:
            continue
        told.append(f"are {byte_size(total)} (at most")
        told += [f"{byte_size(round(total * part))} less {lever}" for lever, part in own]
        if ranks > 1 and category in ("parameters", "gradients", "optimizer"):
            told.append(f"{byte_size(round(total * (1 - 1 / ranks)))} less sharded over {ranks} ranks")
    return told


def allocation_leak(world: World, text: str) -> list[str]:
    rows = world.rows(
        "select s.owner, coalesce(a.step, a.round), a.requested_bytes from allocation as a inner join"
        " allocation_stack as s using (trace_id,"
        " stack_id) where a.trace_id = $t and a.event is not null and a.event_end is null and not a.is_lost and"
        " coalesce(a.step, a.round) is not null"
    )
    owner = next(each[0] for each in rows if each[0] and text.startswith(f"{cut_name(each[0])} allocates"))
    by_step: Counter[int] = Counter()
    for name, step, asked in rows:
        if name == owner:
            by_step[step] += asked
    told = [cut_name(owner), f"allocates {short_size(median(by_step.values()))} a step"]
    return [*told, f"{byte_size(sum(by_step.values()))} from {len(by_step)} steps"]


def cache_fragmentation(world: World, _text: str) -> list[str]:
    found = []
    for device, reserved, since in world.rows(
        "select device, most_reserved, ts_most_reserved from memory_peak where trace_id = $t and most_reserved > 0"
        " and ts_most_reserved"
        " is not null"
    ):
        used = world.value(
            "select max(active) from memory_timeline where trace_id = $t and device = $device and memory ="
            " 'device' and ts >= $since",
            device=device,
            since=since,
        )
        found.append((reserved - used, reserved, used, device))
    unused, reserved, used, device = max(found, key=lambda each: (each[0], -each[3]))
    pools = world.value(
        "select count(distinct pool) from allocator_segment where trace_id = $t and device = $device", device=device
    )
    failed = world.value(
        "select count(*) from allocator_event where trace_id = $t and device = $device and action = 'oom'",
        device=device,
    )
    told = [
        f"reserved {byte_size(reserved)}",
        f"at most {byte_size(used)}",
        f"{byte_size(unused)} ({share(unused / reserved)})",
    ]
    told += [f"{pools} pools"] if pools > 1 else []
    return told + ([f"{failed} allocations failed"] if failed else [])


RECOUNTS: dict[str, Callable[[World, str], list[str]]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        activation_peak,
        allocation_leak,
        cache_fragmentation,
        cold_files,
        counter_capture,
        few_steps,
        goal_advice,
        gpu_saturated,
        graph_recording,
        hotspot_kernel,
        idle_earlier_work,
        idle_tail,
        idle_unattributed,
        late_rank,
        low_mfu,
        low_utilization,
        memory_by_kind,
        memory_fragmentation,
        memory_growth,
        memory_near_capacity,
        memory_unused,
        optimizer_memory,
        parallelism_choices,
        prefill_stalls_decode,
        quantization,
        rank_imbalance,
        sampled_capture,
        small_microbatch,
        start_up,
        steps_not_marked,
        tail_latency,
        warm_up_counted,
    )
}
