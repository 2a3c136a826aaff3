"""The knobs that a finding asks for, a line a rule; findings of other rules are changed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from traceq.capture.knobs.registry import ABLATE
from traceq.diagnosis.choose import number_findings
from traceq.errors import NoSuchFinding
from traceq.runs.run import FindingKept
from traceq.runs.trials.plan import name_of
from traceq.runs.trials.trial import Kind, Setting

# Each way is a knob with its values, or `ablate` with what is left out: a bound for what a change by hand can win.
Ways = Sequence[Mapping[str, str]]

# Stands for a number of worker processes: half of the cores, and all.
_WORKERS = "WORKERS"
_CORES = "CORES"

_LOAD = ({"num_workers": _WORKERS},)
_COMPILE = ({"compile": "default"},)

_WAYS: Mapping[str, Ways] = {
    # input
    "synchronous-loader": _LOAD,
    "host-data-loading": _LOAD,
    "too-few-workers": _LOAD,
    "idle-data": _LOAD,
    "main-thread-collate": _LOAD,
    "prefetch-depth": ({"prefetch_factor": "4"}, {"prefetch_factor": "8"}),
    "epoch-boundary": ({"persistent_workers": "1"},),
    # copies
    "pageable-copy": ({"pin_memory": "1"},),
    "pinning-in-step": ({"pin_memory": "0"},),
    # kernels
    "tf32-off": ({"tf32": "1"},),
    "tensor-cores-unused": ({"amp": "bf16"},),
    "slow-matmul": ({"amp": "bf16"},),
    "elementwise-chain": _COMPILE,
    "slow-elementwise": _COMPILE,
    "unfused-norm": _COMPILE,
    "zero-grad-memset": ({"set_to_none": "1"},),
    "kernel-autotuning": ({"cudnn_benchmark": "0"},),
    # launching
    "unfused-optimizer": ({"fused": "1"}, {"foreach": "1"}),
    "python-bound": _COMPILE,
    "host-bound": ({"compile": "reduce-overhead"}, *_COMPILE),
    "tiny-kernels": ({"compile": "reduce-overhead"}, *_COMPILE),
    "launch-latency": ({"compile": "reduce-overhead"},),
    "launch-blocking": ({"launch_blocking": "0"},),
    # host
    "host-python": _COMPILE,
    "host-operators": ({"compile": "default"}, {"amp": "bf16"}, {"fused": "1"}),
    "host-epoch-start": ({"persistent_workers": "1"},),
    "host-logging": ({"ablate": "logging"},),
    "host-fetch-work": _LOAD,
    "host-threads": ({"threads": _CORES},),
    "host-optimizer": ({"fused": "1"}, {"foreach": "1"}),
    "host-elementwise-chain": _COMPILE,
    "host-many-operators": _COMPILE,
    "host-communication": ({"ablate": "communication"},),
    "cpu-starved": ({"threads": _CORES},),
    "host-preempted": ({"threads": _CORES},),
    # the program
    "logging-in-step": ({"ablate": "logging"},),
    "garbage-collection": ({"gc": "off"},),
    "exposed-communication": ({"ablate": "communication"},),
    # memory
    "cache-fragmentation": ({"expandable_segments": "1"},),
    "memory-fragmentation": ({"expandable_segments": "1"},),
    "allocator-in-step": ({"expandable_segments": "1"},),
}

# In the place of findings: each of them.
ALL = "all"


def list_ways(rule: str, cores: int) -> list[dict[str, str]]:
    """Return the settings of a knob to try for a finding of the rule; empty if it can only be fixed by hand.

    `cores` is the number of CPU cores, from which numbers of workers and threads follow.
    """
    found: list[dict[str, str]] = []
    for way in _WAYS.get(rule, ()):
        for name, value in way.items():
            found += [{name: each} for each in _fill_in_cores(value, cores)]
    return found


def is_tried(rule: str, settings: Sequence[Setting]) -> bool:
    """Return whether any setting turns a knob that is a remedy for findings of the rule."""
    asked = {(name, value if name == ABLATE else None) for way in _WAYS.get(rule, ()) for name, value in way.items()}
    turned = {
        (name, value if name == ABLATE else None) for setting in settings for name, value in setting.values.items()
    }
    return bool(asked & turned)


def _fill_in_cores(value: str, cores: int) -> list[str]:
    """Return the values that a way's value stands for: numbers that follow from the CPU cores, else the value itself."""
    if value == _CORES:
        return [str(cores)]
    if value == _WORKERS:
        return [str(each) for each in sorted({max(1, cores // 2), cores})]
    return [value]


def settings_for(findings: Sequence[FindingKept], asked: Sequence[str], cores: int) -> list[Setting]:
    """Return the settings that try the findings asked for (F1, a rule, an id, or `all`), the largest predicted saving first.

    A setting to which several findings lead belongs to the first of them. Raises NoSuchFinding for a name that no finding
    has.
    """
    found: dict[str, Setting] = {}
    for finding in sorted(_choose_findings(findings, asked), key=lambda finding: -finding.saving_ns):
        for values in list_ways(finding.rule, cores):
            kind: Kind = "ablate" if ABLATE in values else "try"
            name = f"without {values[ABLATE]}" if ABLATE in values else name_of(values)
            found.setdefault(name, Setting(name, kind, values, finding.finding_id))
    return list(found.values())


# Rules whose findings together are what a part of the program costs.
_PARTS: Mapping[str, frozenset[str]] = {
    "data": frozenset(
        {"synchronous-loader", "host-data-loading", "host-fetch-work", "host-epoch-start", "too-few-workers", "idle-data",
         "main-thread-collate", "prefetch-depth", "epoch-boundary", "slow-storage", "disk-saturated", "worker-imbalance"}
    ),
    "communication": frozenset({"exposed-communication", "host-communication", "host-small-collectives"}),
    "logging": frozenset({"logging-in-step", "host-logging"}),
}  # fmt: skip


def cost_of(part: str, findings: Sequence[FindingKept]) -> FindingKept | None:
    """Return the cost of a part of the program (data, communication, logging) as one finding.

    None if no finding is about it. Its likely saving and bounds are each the largest of any such finding; they are not
    added, as findings may claim the same time.
    """
    of_part = [finding for finding in findings if finding.rule in _PARTS.get(part, ())]
    if not of_part:
        return None
    return replace(
        max(of_part, key=lambda each: each.saving_ns),
        saving_low_ns=max(each.saving_low_ns for each in of_part),
        saving_ns=max(each.saving_ns for each in of_part),
        saving_high_ns=max(each.saving_high_ns for each in of_part),
    )


def list_by_hand(findings: Sequence[FindingKept], asked: Sequence[str], cores: int) -> list[FindingKept]:
    """Return the findings asked for that no knob can fix. Raises NoSuchFinding for a name that no finding has."""
    return [each for each in _choose_findings(findings, asked) if not list_ways(each.rule, cores)]


def _choose_findings(findings: Sequence[FindingKept], asked: Sequence[str]) -> list[FindingKept]:
    """Return the findings asked for by number (F1), rule or id; all for `all`.

    Raises NoSuchFinding, listing what there is.
    """
    if ALL in asked:
        return list(findings)
    names = [{place, each.rule, each.finding_id} for place, each in number_findings(findings)]
    for one in asked:
        if not any(one in name for name in names):
            there = ", ".join(f"{place} {each.rule}" for place, each in number_findings(findings)) or "none"
            raise NoSuchFinding(f"--try {one}: the baseline has no such finding; it has: {there}")
    return [finding for finding, own in zip(findings, names, strict=True) if own & set(asked)]
