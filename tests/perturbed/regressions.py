"""Small regressions put into real traces: each step longer by so many per cent, in one kind of work. No import of traceq.

    python tests/perturbed/regressions.py FOLDER TRACE KIND PER_CENT

writes the changed trace into FOLDER and prints what was done. The amount is searched until the trace grows by what is asked, as
retimer.py works it out; where the other side of the program hides it (a queue, a longer copy), that is an error.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import edit_chrome  # noqa: E402
import edit_nsys  # noqa: E402
from perturbations import SHARED, US, Edited, Perturbation, strip_endings  # noqa: E402
from retimer import Insert  # noqa: E402

# Real traces with ten steps and more.
TWINS = (
    "judged/nsys/cs336_a100_2_7B_compile_graph.sqlite",
    "judged/nsys/cs336_a100_2_7B_eager.sqlite",
    "judged/nsys/nsightful_power_iteration.sqlite",
    "judged/nsys/pipit_cloverleaf_perlmutter.sqlite",
    "traces/nsys/bootcamp_2gpu_p2p_nvlink.s37.sqlite.gz",
    "traces/nsys/centerformer_nvtx_only.sqlite",
    "traces/nsys/myclue_report3.sqlite",
    "traces/nsys/nways_gh200_jacobi.sqlite",
)
# Real traces with five steps and more whose time the model knows: not those of graphs that were traced as a whole.
BASES = (
    "judged/nsys/cs336_a100_2_7B_eager.sqlite",
    "traces/nsys/myclue_report3.sqlite",
    "judged/nsys/nsightful_power_iteration.sqlite",
    "traces/nsys/nways_gh200_jacobi.sqlite",
    "judged/nsys/pipit_cloverleaf_perlmutter.sqlite",
    "traces/nsys/pipit_saxpy_mpi.sqlite",
    "traces/torch/hta_neg_queue_rank0.json.gz",
    "traces/torch/hta_ns_resolution_rank0.json.gz",
    "traces/torch/hta_trace_diff_control.json.gz",
    "judged/torch/hta_trace_diff_test.json.gz",
    "traces/torch/kineto_resnet50_w0.array.pt.trace.json.gz",
    "traces/torch/kineto_resnet50_w0.v19.pt.trace.json.gz",
    "traces/torch/kineto_resnet50_w4.array.pt.trace.json.gz",
    "traces/torch/kineto_resnet50_w4.v19.pt.trace.json.gz",
    "judged/torch/tracelens_ddp_resnet18_mi300.json.gz",
    "traces/torch/tracelens_h100_owlv2.json.gz",
)
SHARES = (0.01, 0.02, 0.03, 0.05, 0.1)

_NEAR = 0.03  # of what is asked
_TRIES = 16

Apply = Callable[[float], None]


class HiddenError(ValueError):
    """No amount of it makes the trace as much longer, or there is no such work."""


def slower_kernel(edited: Edited) -> tuple[Apply, str]:
    """All kernels of the name that has most time in the steps take longer."""
    kernels = [number for number in _in_steps(edited) if _is_kernel(edited, number)]
    times: Counter[str] = Counter()
    for number in kernels:
        times[_name(edited, number)] += edited.works[number].end - edited.works[number].start
    if not times:
        raise HiddenError("there are no kernels")
    name, total = times.most_common(1)[0]
    return _slow_work(edited, [number for number in kernels if _name(edited, number) == name], total), name


def slower_copies(edited: Edited) -> tuple[Apply, str]:
    """All copies take longer."""
    copies = [number for number in _in_steps(edited) if _is_copy(edited, number)]
    total = sum(edited.works[number].end - edited.works[number].start for number in copies)
    if not total:
        raise HiddenError("there are no copies")
    return _slow_work(edited, copies, total), f"{len(copies)} copies"


def longer_gap(edited: Edited) -> tuple[Apply, str]:
    """Once a step, before the same launch about half-way through it, the host does something else."""
    launched = []
    for begin, finish in edited.steps():
        launched.append(sorted({w.launch for w in edited.works if w.launch is not None and begin <= w.launch < finish}))
    fewest = min(map(len, launched))
    for place in sorted(range(fewest), key=lambda place: abs(place - fewest // 2)):
        places = [line[place] for line in launched]
        if all(edited.is_free(at) for at in places):
            break
    else:
        raise HiddenError("the host waits before every launch of some step")
    return _insert_delays(edited, [(process, at) for process in edited.processes for at in places]), "one gap a step"


def slower_launches(edited: Edited) -> tuple[Apply, str]:
    """Every call that launches something takes longer."""
    waits = sorted((wait.start, wait.end) for wait in edited.waits)
    places = []
    for number in _in_steps(edited):
        work = edited.works[number]
        if work.launch is None or work.launched is None:
            continue
        middle = (work.launch + work.launched) // 2
        place = bisect_left(waits, (middle, middle)) - 1
        if place < 0 or waits[place][1] < middle:
            places.append((work.process, middle))
    return _insert_delays(edited, sorted(set(places), key=str)), f"{len(places)} launches"


def slower_loader(edited: Edited) -> tuple[Apply, str]:
    """Every fetch of a batch takes longer, at one place."""
    if edited.chrome is None:
        raise HiddenError("nsys does not say where a batch is fetched")
    ranges = [event for event in edited.chrome.host if event["name"].startswith("enumerate(DataLoader)")]
    places = [(edit_chrome.start(event) + edit_chrome.read_end(event)) // 2000 * 1000 for event in ranges]
    return _insert_delays(edited, [(edit_chrome.PROCESS, at) for at in places]), f"{len(places)} fetches"


KINDS: dict[str, Callable[[Edited], tuple[Apply, str]]] = {
    "kernel": slower_kernel,
    "copies": slower_copies,
    "gap": longer_gap,
    "launches": slower_launches,
    "loader": slower_loader,
}
"""What is made slower. The word after FOLDER and TRACE."""


def build_regression(trace: str, kind: str, share: float) -> Perturbation:
    """The trace with steps longer by `share`, in work of that kind."""

    def edit(edited: Edited) -> str:
        apply, what = KINDS[kind](edited)
        _search(edited, apply, share)
        return what

    return Perturbation(f"{strip_endings(SHARED / trace)}.{kind}.{round(share * 1000)}", trace, edit, (kind,))


def _search(edited: Edited, apply: Apply, share: float) -> None:
    """Apply the amount, in units of what is asked for, by which the trace grows as asked."""
    low, high, amount = 0.0, None, 1.0
    steps = edited.steps()
    middle = steps[len(steps) // 4 : max(len(steps) - len(steps) // 4, 1)]
    old = edited.length(None, middle)
    for _ in range(_TRIES):
        apply(amount * share)
        grown = (edited.length(edited.retimed()[0], middle) - old) / (share * old)
        if abs(grown - 1) <= _NEAR:
            return
        if grown < 1:
            low = amount
            amount = amount * 4 if high is None else (low + high) / 2
        else:
            high = amount
            amount = (low + high) / 2
    raise HiddenError(f"{edited.case.name}: no amount makes the steps longer by {share:.0%}")


def _slow_work(edited: Edited, numbers: Sequence[int], total: int) -> Apply:
    """Work that takes `total` ns takes longer by a share of the steps."""
    _, old, _ = edited.retimed()

    def apply(share: float) -> None:
        for number in numbers:
            edited.works[number].factor = 1 + share * old / total

    return apply


def _insert_delays(edited: Edited, places: Sequence[tuple[object, int]]) -> Apply:
    """At these times the host is held for a share of the steps."""
    if not places:
        raise HiddenError("there is no place for it")
    _, old, _ = edited.retimed()
    processes = len({process for process, _ in places})
    whole = edited.chrome is not None and edited.chrome.in_whole_us

    def apply(share: float) -> None:
        dur = share * old * processes / len(places)
        edited.inserts[:] = [
            Insert(process, at, round(dur / US) * US if whole else round(dur)) for process, at in places
        ]

    return apply


def _in_steps(edited: Edited) -> list[int]:
    """GPU work launched in the steps."""
    steps = edited.steps()
    begin, finish = steps[0][0], steps[-1][1]
    return [
        number
        for number, work in enumerate(edited.works)
        if begin <= (work.start if work.launch is None else work.launch) < finish
    ]


def _is_kernel(edited: Edited, number: int) -> bool:
    if edited.nsys:
        return edited.nsys.gpu[number][0] == edit_nsys.GPU[0] and "nccl" not in _name(edited, number).lower()
    assert edited.chrome
    event = edited.chrome.gpu[number]
    return event["cat"].lower() == "kernel" and "nccl" not in event["name"].lower()


def _is_copy(edited: Edited, number: int) -> bool:
    if edited.nsys:
        return edited.nsys.gpu[number][0] == edit_nsys.GPU[1]
    assert edited.chrome
    return edited.chrome.gpu[number]["cat"] in edit_chrome.COPIES


def _name(edited: Edited, number: int) -> str:
    if edited.nsys:
        return edited.nsys.kernel(number)
    assert edited.chrome
    return str(edited.chrome.gpu[number]["name"])


def main() -> None:
    folder, trace, kind, per_cent = sys.argv[1:]
    _, truth = build_regression(trace, kind, float(per_cent) / 100).make(Path(folder))
    sys.stdout.write(f"{truth['name']}: {truth['edit']}: {truth['old_ns']} -> {truth['new_ns']} ns a step\n")


if __name__ == "__main__":
    main()
