"""Known causes put into forty-odd real traces: which trace, what is done to it, how much, and what must follow.

    python tests/perturbed/perturbations.py FOLDER [NAME ...]

writes into FOLDER, for each, the changed trace and NAME.truth.json. Nothing here imports traceq. The size of a cause is what the
trace grew by, as retimer.py works it out from the raw file.
"""

from __future__ import annotations

import json
import random
import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import edit_chrome  # noqa: E402
import edit_nsys  # noqa: E402
from retimer import Clock, Insert, Retimed, Wait, Work, retime_work  # noqa: E402

SHARED = HERE.parents[1] / ".." / "shared"
LABELS = HERE.parent / "truth" / "traces"
US, MS = 1_000, 1_000_000  # ns
TICK = 4 * MS  # a tick of a scheduler at 250 Hz
SEVERAL = 3  # steps, of which one in which no rank was late can be expected
ENDS = (".gz", ".json", ".sqlite", ".s37", ".trace", ".pt")


@dataclass(frozen=True)
class Perturbation:
    """A trace, what is done to it, and the causes that must then come first (words of traceq/diagnosis/grading/causes.json).

    Without causes nothing new may be said.
    """

    name: str
    trace: str
    edit: Callable[[Any], str]
    causes: tuple[str, ...]
    may_follow: tuple[str, ...] = ()  # what else may newly be said, being a consequence

    @property
    def source(self) -> Path:
        """The raw file."""
        return SHARED / self.trace

    def make(self, folder: Path) -> tuple[Path, dict[str, Any]]:
        """The changed trace, and what must follow."""
        is_nsys = ".sqlite" in self.trace
        path = folder / f"{self.name}{'.sqlite' if is_nsys else '.json.gz'}"
        edited = Edited(self, path)
        told = self.edit(edited)
        truth = {**edited.finished(), "edit": told, "causes": list(self.causes), "may_follow": list(self.may_follow)}
        path.with_name(f"{self.name}.truth.json").write_text(json.dumps(truth, indent=2))
        return path, truth


class Edited:
    """A trace that is being changed: the model of its time, and what the edits add to it."""

    def __init__(self, case: Perturbation, path: Path) -> None:
        self.case, self.path = case, path
        self.random = random.Random(case.name)  # noqa: S311 - the same numbers each time are what is wanted
        self.nsys = edit_nsys.Export(case.source, path) if path.name.endswith(".sqlite") else None
        self.chrome = None if self.nsys else edit_chrome.Trace(case.source)
        raw = self.nsys or self.chrome
        assert raw is not None
        self.works: list[Work] = raw.works
        self.waits: list[Wait] = list(raw.waits)
        self.inserts: list[Insert] = []
        self.after: list[Callable[[], None]] = []  # events to be added at new times
        self.shift = 0
        self.label = json.loads((LABELS / f"{strip_endings(case.source)}.json").read_text())

    @property
    def processes(self) -> list[object]:
        """Processes with GPU work."""
        return self.nsys.processes() if self.nsys else [edit_chrome.PROCESS]

    def steps(self) -> list[tuple[int, int]]:
        """The steps of the label (tests/truth): start and end on the raw clock; without any when work is launched."""
        launches = sorted(work.launch for work in self.works if work.launch is not None)
        starts = list(self.label["unit"]["starts"] or [])
        if not starts:
            return [(launches[0], launches[-1] + 1)]
        marks = self.chrome.steps() if self.chrome else []
        if len(marks) == len(starts):
            last = max(marks[-1][1], starts[-1] + 1)
        else:
            last = starts[-1] + int(median(_list_lengths(starts))) if len(starts) > 1 else launches[-1] + 1
        return list(zip(starts, [*starts[1:], last], strict=True))

    def is_free(self, time: int) -> bool:
        """Whether the host waits for nothing at a time."""
        return not any(wait.start - 5 * US <= time <= wait.end + 5 * US for wait in self.waits)

    def finished(self) -> dict[str, Any]:
        """Write the file; how long its steps were and are."""
        steps = self.steps()
        new, old, length = self.retimed()
        self._check(new)
        raw = self.nsys or self.chrome
        assert raw is not None
        if self.inserts or any(work.factor != 1 or work.extra for work in self.works):
            raw.retimed(new)
        if self.shift:
            raw.shift_gpu(self.shift)
        for add in self.after:
            add()
        if self.nsys:
            self.nsys.close()
        elif self.chrome:
            self.chrome.write(self.path)
        return {
            "name": self.case.name,
            "trace": self.case.trace,
            "steps": len(steps),
            "old_ns": old // len(steps),
            "new_ns": length // len(steps),
            "size_ns": (length - old) // len(steps),
        }

    def retimed(self) -> tuple[Retimed, int, int]:
        """The new times, and how long all steps took together (ns) before and after."""
        steps = self.steps()
        begin, finish = steps[0][0], steps[-1][1]
        new = retime_work(self.works, self.waits, self.inserts)
        clock = new.clocks.get(self.processes[0], Clock())
        return new, self._ends(None, finish) - begin, self._ends(new, finish) - clock.end(begin)

    def length(self, new: Retimed | None, steps: Sequence[tuple[int, int]]) -> int:
        """How long the GPU takes for some steps together (ns), from the end of what came before them; `new` None: as recorded."""

        def find_finish(launched: int) -> int:
            numbers = (number for number, work in enumerate(self.works) if (work.launch or work.start) <= launched)
            return max(
                (self.works[number].end if new is None else new.ends[number] for number in numbers), default=launched
            )

        return find_finish(steps[-1][1]) - find_finish(steps[0][0])

    def _ends(self, new: Retimed | None, finish: int) -> int:
        """When the last step ends: on the host, or on the GPU what was launched in the steps."""
        launched = [number for number, work in enumerate(self.works) if (work.launch or work.start) <= finish]
        if new is None:
            return max([finish, *(self.works[number].end for number in launched)])
        clock = new.clocks.get(self.processes[0], Clock())
        return max([clock.end(finish), *(new.ends[number] for number in launched)])

    def _check(self, new: Retimed) -> None:
        """What physics forbids: GPU work that starts before its launch, or runs beside what it was behind."""
        for number, work in enumerate(self.works):
            clock = new.clocks.get(work.process, Clock())
            if work.launch is not None and work.launch <= work.start and new.starts[number] < clock.start(work.launch):
                raise ValueError(f"{self.case.name}: GPU work {number} starts before its launch")
            before = work.before
            if before is not None and self.works[before].end <= work.start and new.ends[before] > new.starts[number]:
                raise ValueError(f"{self.case.name}: GPU work {number} starts before the end of what it was behind")


def _list_lengths(starts: Sequence[int]) -> list[int]:
    return [after - before for before, after in pairwise(starts)] or [0]


def strip_endings(path: Path) -> str:
    """Return the name of a trace without the endings that tell its format; that of its label."""
    name = path.name
    for end in ENDS:
        name = name.removesuffix(end)
    return name


# Edits. Each returns what it did, in words.


def add_syncs(count: int, read: bool = False) -> Callable[[Edited], str]:
    """Make the host wait `count` times a step until the GPU is dry: torch.cuda.synchronize(), or (read) loss.item()."""

    def edit(edited: Edited) -> str:
        for begin, finish in edited.steps():
            for process in edited.processes:
                for at, like in _find_statements(edited, process, begin, finish, count):
                    insert = Insert(process, at, None)
                    edited.inserts.append(insert)
                    edited.after.append(_prepare_sync(edited, insert, like, read))
        return f"{count} x {'aten::item' if read else 'cudaDeviceSynchronize'} in each step"

    return edit


def _find_statements(edited: Edited, process: object, begin: int, finish: int, count: int) -> Iterator[tuple[int, Any]]:
    """Moments between two operators of the forward and backward pass, evenly over them; and a call of that thread."""
    if edited.chrome:
        likes = {}
        thread = edited.chrome.main_thread()
        launching = {time: work.thread for work, time in _list_launches(edited) if begin < time < finish}
        backward = min((time for time, owner in launching.items() if owner != thread), default=finish)
        for owner in {thread, *launching.values()}:
            like = next(call for call in edited.chrome.calls if edit_chrome.read_track(call) == owner)
            # not in the optimizer, which has more operators than the passes, and little GPU work
            until = backward if owner == thread else finish
            here = [time for time in edited.chrome.boundaries(owner) if begin < time < until and edited.is_free(time)]
            likes |= dict.fromkeys(here, like)
        times = sorted(likes)
    else:
        assert edited.nsys
        calls = [call for call in edited.nsys.calls if edit_nsys.read_process(call) == process]
        main = max(
            {call["globalTid"] for call in calls}, key=lambda tid: sum(call["globalTid"] == tid for call in calls)
        )
        own = [call for call in calls if call["globalTid"] == main and begin < call["start"] < finish]
        own = [call for call in own if "Launch" in edited.nsys.name(call) and edited.is_free(call["start"])]
        times, likes = [call["start"] for call in own], {call["start"]: call for call in own}
    if len(times) < count:
        raise ValueError(f"{edited.case.name}: no {count} places between {begin} and {finish}")
    for place in range(count):
        at = times[len(times) * (2 * place + 1) // (2 * count)]
        yield at, likes[at]


def _list_launches(edited: Edited) -> Iterator[tuple[Work, int]]:
    """GPU work whose launch is in the file, and when that was."""
    for work in edited.works:
        if work.launch is not None and work.thread is not None:
            yield work, work.launch


def _prepare_sync(edited: Edited, insert: Insert, like: Any, read: bool) -> Callable[[], None]:
    def add() -> None:
        begin, finish = insert.new
        if edited.nsys:
            edited.nsys.add_synchronize(like, begin, finish)
        elif edited.chrome and read:
            _add_item(edited.chrome, like, begin, finish)
        elif edited.chrome:
            call = edited.chrome.add_call("cudaDeviceSynchronize", like, begin + US, finish)
            _number(call, edited.chrome.free_id())

    return add


def _number(event: dict[str, Any], number: int, operator: int | None = None) -> None:
    """Give a copied event ids of its own."""
    arguments = event["args"]
    for key in ("correlation", "External id", "external id"):
        if key in arguments:
            arguments[key] = number
    if operator is not None and "external id" in arguments:  # old traces: the operator that made the call
        arguments["external id"] = operator
    arguments.pop("cbid", None)


def _add_item(trace: edit_chrome.Trace, like: Any, begin: int, finish: int) -> None:
    """aten::item as Kineto records it: two operators, a copy of 4 bytes that holds the host, a short synchronization."""
    operator = next(
        e
        for e in trace.host
        if e.get("cat") in edit_chrome.OPERATORS and edit_chrome.read_track(e) == edit_chrome.read_track(like)
    )
    number = trace.free_id()
    for level, name in enumerate(("aten::item", "aten::_local_scalar_dense")):
        added = trace.add_call(name, operator, begin + level * US, finish)
        kept = {
            key: value for key, value in added["args"].items() if key in ("Trace name", "Trace iteration", "Device")
        }
        added["args"] = {**kept, "External id": number + 10_000_000 + level}
    copy = trace.add_call("cudaMemcpyAsync", like, begin + 2 * US, finish - 3 * US)
    _number(copy, number, number + 10_000_001)
    wait = trace.add_call("cudaStreamSynchronize", like, finish - 2 * US, finish - US)
    _number(wait, number + 1, number + 10_000_001)
    main = max(
        {work.stream for work in trace.works}, key=lambda stream: sum(work.stream == stream for work in trace.works)
    )
    kernel = next(event for event in trace.gpu if edit_chrome.read_track(event) == main)
    is_old = kernel["cat"] == "Kernel"
    moved = trace.add_call(
        "Memcpy DtoH (Device -> Pageable)",
        kernel,
        finish - 7 * US,
        finish - 5 * US,
        "Memcpy" if is_old else "gpu_memcpy",
    )
    keys = ("device", "context", "stream", "correlation", "External id", "external id")
    moved["args"] = {key: value for key, value in moved["args"].items() if key in keys} | {"bytes": 4}
    _number(moved, number, number + 10_000_001)


def fetch_longer(times: float) -> Callable[[Edited], str]:
    """Every batch takes so many times as long to fetch: its range is stretched between the operators in it."""

    def edit(edited: Edited) -> str:
        assert edited.chrome
        ranges = [event for event in edited.chrome.host if event["name"].startswith("enumerate(DataLoader)")]
        for event in ranges:
            begin, finish = edit_chrome.start(event), edit_chrome.read_end(event)
            extra = round((times - 1) * (finish - begin)) // 1000 * 1000
            inside = [time for time in _list_inner_starts(edited.chrome, event) if edited.is_free(time)]
            places = inside[:: max(len(inside) // 16, 1)] or [(begin + finish) // 2000 * 1000]
            for place in places:
                edited.inserts.append(Insert(edit_chrome.PROCESS, place, extra // len(places) // 1000 * 1000))
        return f"{len(ranges)} fetches take {times:g} x as long"

    return edit


def fetch_for(dur: int) -> Callable[[Edited], str]:
    """Every recorded fetch takes so much longer (ns), at one place: workers that are not ready."""

    def edit(edited: Edited) -> str:
        assert edited.chrome
        ranges = [event for event in edited.chrome.host if event["name"].startswith("enumerate(DataLoader)")]
        for event in ranges:
            middle = (edit_chrome.start(event) + edit_chrome.read_end(event)) // 2000 * 1000
            edited.inserts.append(Insert(edit_chrome.PROCESS, middle, dur))
        return f"{len(ranges)} fetches take {dur / MS:g} ms longer"

    return edit


def _list_inner_starts(trace: edit_chrome.Trace, outer: edit_chrome.Event) -> list[int]:
    """Return when the operators right inside a range begin."""
    begin, finish, found = edit_chrome.start(outer), edit_chrome.read_end(outer), []
    events = [e for e in trace.host if edit_chrome.read_track(e) == edit_chrome.read_track(outer) and e is not outer]
    events = [e for e in events if begin < edit_chrome.start(e) and edit_chrome.read_end(e) < finish]
    until = 0
    for event in sorted(events, key=lambda e: (edit_chrome.start(e), -edit_chrome.read_end(e))):
        if edit_chrome.start(event) >= until:
            found.append(edit_chrome.start(event))
        until = max(until, edit_chrome.read_end(event))
    return found


def fetch_in_process(dur: int) -> Callable[[Edited], str]:
    """Before the first operator of each step the program fetches a batch in its own process for `dur` ns."""

    def edit(edited: Edited) -> str:
        assert edited.chrome
        trace, name = edited.chrome, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        thread = trace.main_thread()
        pattern = next(
            e
            for e in trace.host
            if edit_chrome.read_track(e) == thread
            and (e["cat"] == "user_annotation" or e["name"].startswith("ProfilerStep#"))
        )
        for begin, finish in edited.steps():
            at = next(t for t in trace.boundaries(thread) if begin < t < finish and edited.is_free(t))
            insert = Insert(edit_chrome.PROCESS, at, dur)
            edited.inserts.append(insert)

            def add(insert: Insert = insert) -> None:
                added = trace.add_call(name, pattern, insert.new[0] + US, insert.new[1] - US)
                _number(added, trace.free_id() + 20_000_000)

            edited.after.append(add)
        return f"{len(edited.steps())} fetches of {dur / MS:g} ms in the training process"

    return edit


def unpin_copies(factor: float = 3.0) -> Callable[[Edited], str]:
    """Let copies to the GPU come from pageable memory: at a third of the rate, the call holding the host until they are done."""

    def edit(edited: Edited) -> str:
        found = []
        for number, work in enumerate(edited.works):
            if work.launch is None or work.launched is None or not _is_pinned(edited, number):
                continue
            found.append(number)
            work.factor = factor
            edited.waits.append(
                Wait(work.process, work.launch, work.launched, (number,), work.launched - work.launch, 5 * US)
            )
            if edited.nsys:
                edited.nsys.unpin(number)
            elif edited.chrome:
                event = edited.chrome.gpu[number]
                event["name"] = event["name"].replace("Pinned", "Pageable")
                if "memory bandwidth (GB/s)" in event["args"]:
                    event["args"]["memory bandwidth (GB/s)"] /= int(factor)
        edited.waits[:] = edit_chrome.without_overlap(edited.waits)
        edited.inserts.append(Insert(edited.processes[0], edited.steps()[0][0] - 1, 0))
        return (
            f"{len(found)} pinned copies to the GPU made pageable, {factor:g} x as long, and their calls wait for them"
        )

    return edit


def _is_pinned(edited: Edited, number: int) -> bool:
    if edited.nsys:
        return bool(edit_nsys.list_pinned_copies([(number, edited.nsys.gpu[number])]))
    assert edited.chrome
    return edited.chrome.gpu[number]["name"] == "Memcpy HtoD (Pinned -> Device)"


def freeze(count: int, most: int = 10) -> Callable[[Edited], str]:
    """So many times a step, at random, the process is off the CPU for 2 to `most` ticks of 4 ms, whatever it is doing."""

    def edit(edited: Edited) -> str:
        durs = [TICK * (2 + place % (most - 1)) for place in range(count)]
        for begin, finish in edited.steps():
            calls = sorted(w.launch for w in edited.works if w.launch is not None and begin <= w.launch < finish)
            used: set[int] = set()
            for dur in durs:
                at = next(
                    t
                    for t in _draw_times(edited, calls)
                    if edited.is_free(t) and all(abs(t - u) > 20 * US for u in used)
                )
                used.add(at)
                for process in edited.processes:
                    edited.inserts.append(Insert(process, at, dur))
                    edited.after.append(_off_cpu(edited, edited.inserts[-1]))
        return f"{count} times a step off the CPU, {sum(durs) / MS:g} ms in all"

    return edit


def _off_cpu(edited: Edited, insert: Insert) -> Callable[[], None]:
    def add() -> None:
        if edited.nsys:
            edited.nsys.take_off_cpu(insert.process, *insert.new)

    return add


def _draw_times(edited: Edited, calls: Sequence[int]) -> Iterator[int]:
    """Moments at random over the time in which a step launches its work."""
    while True:
        yield edited.random.randint(calls[len(calls) // 20], calls[-len(calls) // 20]) // 1000 * 1000


def slow_collectives(factor: float) -> Callable[[Edited], str]:
    """The links are slower: every NCCL / RCCL kernel moves its bytes in so many times the time.

    That is what the shortest of its kind takes; what others take more is waiting for late ranks, which no link makes longer.
    """

    def edit(edited: Edited) -> str:
        kinds: dict[object, list[Work]] = defaultdict(list)
        for kind, work in _list_collectives(edited):
            kinds[kind].append(work)
        for works in kinds.values():
            shortest = min(work.end - work.start for work in works)
            for work in works:
                if work.collective is None:
                    work.extra = round((factor - 1) * shortest)
                else:  # the other ranks are in the file: the model knows when the last one came
                    work.factor = factor
        count = sum(map(len, kinds.values()))
        return f"{count} collectives of {len(kinds)} kinds take {factor:g} x as long as the shortest of their kind"

    return edit


def _list_collectives(edited: Edited) -> Iterator[tuple[object, Work]]:
    """Collectives and their kind: by what the file says they move, else by name and place in the step."""
    starts = [begin for begin, _ in edited.steps()]
    moved = edited.chrome.moved() if edited.chrome else {}
    seen: Counter[object] = Counter()
    for number in sorted(range(len(edited.works)), key=lambda number: edited.works[number].start):
        work = edited.works[number]
        name = edited.nsys.kernel(number) if edited.nsys else edited.chrome.gpu[number]["name"]  # type: ignore[union-attr]
        if "nccl" not in name.lower():
            continue
        step = bisect_right(starts, work.launch or work.start)
        seen[step, name] += 1
        if number in moved:
            yield (name, moved[number]), work
        elif len(starts) >= SEVERAL:
            yield (name, seen[step, name]), work
        else:
            yield name, work


def shift_clock(by: int) -> Callable[[Edited], str]:
    """The clock of the GPU is `by` ns ahead of that of the host."""

    def edit(edited: Edited) -> str:
        edited.shift = by
        return f"all GPU work moved by {by / US:g} us against the host"

    return edit


def slow_kernels(factor: float) -> Callable[[Edited], str]:
    """In every second step the GPU's clock is lower: its kernels take so many times as long."""

    def edit(edited: Edited) -> str:
        starts = [begin for begin, _ in edited.steps()]
        count = 0
        for number, work in enumerate(edited.works):
            is_kernel = (
                (edited.nsys.gpu[number][0] == edit_nsys.GPU[0])
                if edited.nsys
                else edited.chrome.gpu[number]["cat"].lower() == "kernel"
            )  # type: ignore[union-attr]
            if is_kernel and bisect_left(starts, work.launch or work.start) % 2 == 0:
                work.factor = factor
                count += 1
        return f"{count} kernels of every second step take {factor:g} x as long"

    return edit


W0, W0A = (
    "traces/torch/kineto_resnet50_w0.v19.pt.trace.json.gz",
    "traces/torch/kineto_resnet50_w0.array.pt.trace.json.gz",
)
W4 = "traces/torch/kineto_resnet50_w4.v19.pt.trace.json.gz"
NS, CONTROL = "traces/torch/hta_ns_resolution_rank0.json.gz", "traces/torch/hta_trace_diff_control.json.gz"
TEST, MI300 = "judged/torch/hta_trace_diff_test.json.gz", "judged/torch/tracelens_mi300_resnet_rank0of8.json.gz"
PARSER, OWL = "traces/torch/hta_nccl_parser_config.json.gz", "traces/torch/tracelens_h100_owlv2.json.gz"
MEGATRON = "traces/torch/megatron_tp8_rank0.json.gz"
EAGER, OFFLOAD = "judged/nsys/cs336_a100_2_7B_eager.sqlite", "judged/nsys/nsysai_h100_2gpu_1s.sqlite"
BEFORE = "traces/nsys/nsysai_mfu_2gpu_before.sqlite"
JACOBI, CLOVER = "traces/nsys/nways_gh200_jacobi.sqlite", "judged/nsys/pipit_cloverleaf_perlmutter.sqlite"
POWER = "judged/nsys/nsightful_power_iteration.sqlite"
STREAMS = "traces/nsys/testcuda_4streams_report1.sqlite"


# After a wait copies and collectives that had been hidden behind earlier work stand alone, however slow they were before.
ALONE = ("input-copy", "exposed-copy", "slow-copy", "exposed-communication")
# Where the host waits for kernels, or has less to do than they, faster kernels win what they could not win before.
KERNELS = ("precision", "matmul-shape", "unfused-elementwise")
# Where collectives take longer, what waits for their results takes longer.
WAITING = ("host-sync", "blocking-copy")


def _sync_cases() -> Iterator[Perturbation]:
    cause = ("host-sync",)
    yield Perturbation("sync_ns", NS, add_syncs(8), cause, KERNELS)
    yield Perturbation("item_ns", NS, add_syncs(16, read=True), cause, KERNELS)
    yield Perturbation("sync_test", TEST, add_syncs(12), cause, (*ALONE, *KERNELS))
    yield Perturbation("item_control", CONTROL, add_syncs(12, read=True), cause, (*ALONE, *KERNELS))
    yield Perturbation("sync_w4", W4, add_syncs(16), cause, KERNELS)
    yield Perturbation("item_w4", W4, add_syncs(24, read=True), cause, KERNELS)
    yield Perturbation("sync_mfu", BEFORE, add_syncs(200), cause, KERNELS)
    yield Perturbation("item_mi300", MI300, add_syncs(10, read=True), cause, KERNELS)


def _load_cases() -> Iterator[Perturbation]:
    cause, workers = ("input-loading",), ("input-workers", "input-loading")
    yield Perturbation("loader_w0", W0, fetch_longer(3), cause, ALONE)
    yield Perturbation("loader_w0_array", W0A, fetch_longer(4), cause, ALONE)
    yield Perturbation("loader_ns", NS, fetch_in_process(150 * MS), cause, ALONE)
    yield Perturbation("loader_mi300", MI300, fetch_in_process(60 * MS), cause, ALONE)
    yield Perturbation("workers_w4", W4, fetch_for(60 * MS), workers, ALONE)
    yield Perturbation("workers_control", CONTROL, fetch_for(50 * MS), workers, ALONE)
    yield Perturbation("workers_test", TEST, fetch_for(80 * MS), workers, ALONE)
    yield Perturbation("loader_owl", OWL, fetch_longer(2), cause, ALONE)


def _unpin_cases() -> Iterator[Perturbation]:
    cause = ("blocking-copy", "input-copy", "slow-copy", "exposed-copy")
    yield Perturbation("unpin_control", CONTROL, unpin_copies(), cause, KERNELS)
    yield Perturbation("unpin_test", TEST, unpin_copies(), cause, KERNELS)
    yield Perturbation("unpin_offload", OFFLOAD, unpin_copies(), (*cause, "offload"))
    yield Perturbation("unpin_streams", STREAMS, unpin_copies(), cause, KERNELS)


def _freeze_cases() -> Iterator[Perturbation]:
    cause = ("frozen-host",)
    yield Perturbation("frozen_ns", NS, freeze(6), cause, ALONE)
    yield Perturbation("frozen_test", TEST, freeze(8), cause, ALONE)
    yield Perturbation("frozen_control", CONTROL, freeze(8), cause, ALONE)
    yield Perturbation("frozen_w4", W4, freeze(10), cause, ALONE)
    yield Perturbation("frozen_mi300", MI300, freeze(5), cause, ALONE)
    yield Perturbation("frozen_parser", PARSER, freeze(20), cause, ALONE)
    yield Perturbation("frozen_power", POWER, freeze(3), cause, ALONE)
    yield Perturbation("frozen_clover", CLOVER, freeze(6), cause, ALONE)
    yield Perturbation("frozen_mfu", BEFORE, freeze(12), cause, ALONE)


def _slow_links() -> Iterator[Perturbation]:
    cause = ("exposed-communication", "slow-link")
    yield Perturbation("collectives_control", CONTROL, slow_collectives(4), cause, WAITING)
    yield Perturbation("collectives_test", TEST, slow_collectives(6), cause, WAITING)
    yield Perturbation("collectives_mi300", MI300, slow_collectives(2), cause)
    yield Perturbation("collectives_megatron", MEGATRON, slow_collectives(40), (*cause, "tensor-parallel"))
    yield Perturbation("collectives_mfu", BEFORE, slow_collectives(10), cause)


def _clock_cases() -> Iterator[Perturbation]:
    yield Perturbation("clock_ns", NS, shift_clock(200 * US), ())
    yield Perturbation("clock_w4", W4, shift_clock(-100 * US), ())
    yield Perturbation("clock_control", CONTROL, shift_clock(-300 * US), ())
    yield Perturbation("clock_mfu", BEFORE, shift_clock(-50 * US), ())
    yield Perturbation("clock_jacobi", JACOBI, shift_clock(20 * US), ())
    yield Perturbation("slow_ns", NS, slow_kernels(1.3), ("slow-kernels",))
    yield Perturbation("slow_eager", EAGER, slow_kernels(1.3), ("slow-kernels",))
    yield Perturbation("slow_w4", W4, slow_kernels(1.3), ("slow-kernels",))


CASES = (*_sync_cases(), *_load_cases(), *_unpin_cases(), *_freeze_cases(), *_slow_links(), *_clock_cases())


def main() -> None:
    folder, *names = sys.argv[1:]
    for case in CASES:
        if not names or case.name in names:
            _, truth = case.make(Path(folder))
            line = f"{case.name}: {truth['edit']}: {truth['old_ns'] / MS:.2f} ms -> {truth['new_ns'] / MS:.2f} ms\n"
            sys.stdout.write(line)


if __name__ == "__main__":
    main()
