"""The shape of a run: its steps with their ledgers, what the ledger is made of, and what it ran on.

Times are ns, of the critical device: the one that is busy longest. Whatever is compared, checked or kept as a
baseline is computed from a Run alone, so that a baseline says the same as the trace it was made from.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from traceq.analysis.categories import OF_HOST
from traceq.diagnosis.finding import Confidence
from traceq.formats.capabilities import format_of
from traceq.runs.job.job import JobOfRun
from traceq.runs.losses import LossRecord

TRIM = 4
"""The shortest and the longest 1/TRIM of the counted steps are left out of the typical step."""


class RunStep(msgspec.Struct, frozen=True):
    """A step of the trace; `excluded` says why it does not count, None if it does.

    The categories of `ledger` add up to `dur`, or it is empty. Where no GPU works it is the training thread's ledger,
    whose categories begin with OF_HOST; baselines of traceq 0.1 have none of these. `kind` is what a server's step does
    (decode of 8 to 15 requests), None for other programs.
    """

    step: int
    name: str
    dur: int
    excluded: str | None
    ledger: Mapping[str, int]
    kind: str | None = None

    @property
    def gpu_ledger(self) -> Mapping[str, int]:
        """The step's ledger, ns by category, if it is a GPU's; empty if it is the training thread's."""
        return {} if any(name.startswith(OF_HOST) for name in self.ledger) else self.ledger


class Amount(msgspec.Struct, frozen=True):
    """The number of events, their time in the ledger (ns) and their bytes, summed over several steps.

    `deviation` is the standard deviation of the time from step to step, ns; None for a single step, and in baselines of
    traceq 0.1.
    """

    count: int
    dur: int
    bytes: int
    deviation: float | None = None


class Item(msgspec.Struct, frozen=True):
    """A part of a ledger category: kernels with one name, launch shape, phase and operator, or a cause of GPU idle time.

    In a ledger of the training thread it is the time in host slices of one name. `name` is as in the trace; None for
    the rest of a category after its largest items. `every` is the amount over all counted steps, `typical` over those
    of the typical step; with a `kind` (as in RunStep), over steps of that kind only.
    """

    category: str
    name: str | None
    shape: str | None
    family: str | None
    phase: str | None
    operator: str | None
    every: Amount
    typical: Amount
    kind: str | None = None


class FindingKept(msgspec.Struct, frozen=True):
    """A finding of a rule with its likely saving, ns per counted step, as in a report.

    `owned_ns`, `assumed_share`, `only_bounds`, `rule_share` and `is_extra` are as in Finding; None or False in
    baselines of traceq 0.1.
    """

    rule: str
    finding_id: str
    title: str
    saving_ns: float
    saving_low_ns: float
    saving_high_ns: float
    confidence: Confidence
    owned_ns: float | None = None
    assumed_share: float | None = None
    only_bounds: bool = False
    rule_share: float | None = None
    is_extra: bool = False


class PartKept(msgspec.Struct, frozen=True):
    """A finding of a rule on time that already belongs to the finding `owner`: its saving alone, ns per counted step."""

    rule: str
    finding_id: str
    title: str
    saving_ns: float
    owner: str


class CaptureFacts(msgspec.Struct, frozen=True):
    """The kind of a capture, and the time in it that single events and other steps make, ns.

    `vendor` (nvidia, amd, intel) is the maker of the GPUs, None if not known. `kind` is the reason in the table triage
    (cold, whole_run, marked, ...). `once_ns` is the time of one-off work in the window; 0 where several steps count,
    None if not known. `longest_waits_ns` is the sum of a step's five longest idle gaps. `foreign_ns` is the GPU time in
    counted steps of work that other steps launched, `idle_tail_ns` the idle time in the last step after its mark.
    """

    vendor: str | None = None
    kind: str | None = None
    once_ns: int | None = None
    longest_waits_ns: int = 0
    foreign_ns: int = 0
    idle_tail_ns: int = 0


class Run(msgspec.Struct, frozen=True):
    """One rank's trace of a run, on its critical device (the one that is busy longest).

    `file` is the name of the trace's file, `source` the database, trace or baseline it was read from. `device` is None
    without a GPU ledger; `devices` is the number of GPUs in use. `settings` are the profiler's options and library
    versions. `payload` is the work per counted step by key (samples, tokens, ...), `shapes` the GPU time (ns) by
    operator and input dimensions, where recorded. `saturated` is the remark of the rule gpu-saturated, or None.
    `cannot_tell` holds the reason for each rule that could not judge, `lost` the notes on what the import lacks.
    `ranks` are the ranks in the same database. `unit` and `unit_name` are the level and name of a step, as in the table
    unit. `conditions` are mean clocks, power and temperatures over counted steps, by series. `made_with` are facts and
    knobs as in the table made_with, empty without a snapshot. `job` is the multi-rank job that this trace is part of,
    or None. `overhead_share` and `loader_queue` are as in database/trace.sql. `start_up_ns` is the part of a single
    step or window that only happens the first time (creating contexts, loading and compiling code). `capture` is empty
    in baselines of traceq 0.1. `losses` are those of the program's first steps, where `traceq record` kept them.
    """

    source: str
    file: str
    sha256: str
    format: str
    producer: str | None
    producer_version: str | None
    rank: int | None
    world_size: int | None
    device: int | None
    device_name: str | None
    devices: int
    step_source: str | None
    overhead_share: float | None
    settings: Mapping[str, str]
    payload: Mapping[str, float]
    shapes: Mapping[str, Mapping[str, int]]
    steps: tuple[RunStep, ...]
    items: tuple[Item, ...]
    findings: tuple[FindingKept, ...]
    parts: tuple[PartKept, ...] = ()
    saturated: str | None = None
    cannot_tell: Mapping[str, str] = msgspec.field(default_factory=dict)
    lost: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    unit: str | None = None
    unit_name: str | None = None
    conditions: Mapping[str, float] = msgspec.field(default_factory=dict)
    job: JobOfRun | None = None
    made_with: Mapping[str, str] = msgspec.field(default_factory=dict)
    loader_queue: int | None = None
    start_up_ns: int = 0
    capture: CaptureFacts = CaptureFacts()
    losses: LossRecord | None = None

    @property
    def counted(self) -> tuple[RunStep, ...]:
        """The steps that are not excluded (as warm-up, incomplete, ...), in the order of time."""
        return tuple(step for step in self.steps if step.excluded is None)

    @property
    def typical(self) -> tuple[RunStep, ...]:
        """The counted steps without the shortest and the longest quarter (by number of steps), in the order of time."""
        ordered = sorted(self.counted, key=lambda step: (step.dur, step.step))
        left_out = len(ordered) // TRIM
        return tuple(sorted(ordered[left_out : len(ordered) - left_out], key=lambda step: step.step))

    @property
    def found(self) -> tuple[FindingKept | PartKept, ...]:
        """All findings of the run: the ranked ones, then the parts, whose time already belongs to another finding."""
        return (*self.findings, *self.parts)

    @property
    def costly_settings(self) -> dict[str, str]:
        """The profiler settings that lengthen every host call, by name, each "on" or "off" (also where the trace lacks it).

        Empty if the producer is not known, or its format has no such settings.
        """
        names = format_of(self.format).costly_settings if self.producer is not None else ()
        return {name: "off" if self.settings.get(name, "0") in ("0", "False") else "on" for name in names}

    @property
    def is_window(self) -> bool:
        """Whether no steps were found, so that the whole window is the only step."""
        return self.step_source == "window"
