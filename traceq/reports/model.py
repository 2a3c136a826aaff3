"""The report as plain data: filled by build.py, read by every renderer. Times are ns, never rounded.

None means that the trace does not say; renderers print it as such, never as 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn

import msgspec

from traceq.diagnosis.account.line import Line
from traceq.diagnosis.finding import Clean, Failed, Finding, NotApplicable, Observation
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.triage import Triage
from traceq.health.verdict import MetricHealth
from traceq.reports.flame import FlameGraph
from traceq.reports.timeline import Timeline
from traceq.reports.topics import Topics
from traceq.reports.topics.recorded import RecordFacts, UsualCollective
from traceq.reports.topics.requests import RequestLogFacts
from traceq.reports.topics.run import RunLog, RunPhase, RunPoint
from traceq.runs.run_change import RunChange

# Of the JSON form: names docs/report.schema.json.
SCHEMA_VERSION = 4

# How much of a report is built: what the first screen of the terminal shows, all that documents show, or with the timelines and
# flame graphs of formats that draw.
Scope = Literal["screen", "document", "drawing"]


class _NotBuilt:
    """The place of a field that a report of scope "screen" does not have; whoever reads it gets a LookupError."""

    def _raise_not_built(self, *_: object) -> NoReturn:
        raise LookupError("a report of scope 'screen' does not have this part: build it with scope 'document'")

    __getattr__ = __getitem__ = __iter__ = __len__ = __bool__ = _raise_not_built


NOT_BUILT: Any = _NotBuilt()


class TraceFacts(msgspec.Struct, frozen=True):
    """Facts of a capture; `file` is the path below the folder that all sources share, so that no home folder shows.

    `overhead_share` is how much longer steps took because of the profiler, as traceq.profile measured it. It is None
    without this measurement, or where the steps without profiler may have been fed from the full queue of a loader
    (`loader_queue` batches). `begin_ns` is the start of the first slice on the trace's clock, ns; `recorded_ns` is how long
    the profiler recorded, if known.
    """

    trace_id: int
    run: str | None
    file: str
    sha256: str
    size_bytes: int
    format: str
    producer: str | None
    producer_version: str | None
    rank: int | None
    world_size: int | None
    begin_ns: int | None
    dur_ns: int | None
    overhead_share: float | None
    unprofiled_step_ns: float | None
    profiled_step_ns: float | None
    loader_queue: int | None
    recorded_ns: int | None
    cpu_slices: dict[str, int]
    gpu_slices: dict[str, int]


class Device(msgspec.Struct, frozen=True):
    """A GPU that the trace lists or uses, and the number of slices that ran on it."""

    device: int
    name: str | None
    compute_capability: str | None
    slices: int


class ProgramFact(msgspec.Struct, frozen=True):
    """A property of the program, and the number of names or slices that show it; a row of the table program."""

    property: str
    value: str
    count: int


class MadeWith(msgspec.Struct, frozen=True):
    """A fact or knob of the run: a row of the table made_with. `text` is its value."""

    topic: str
    instance: int
    name: str
    text: str
    unit: str | None
    is_knob: bool


class ExcludedStep(msgspec.Struct, frozen=True):
    """A step that is not counted, and the reason."""

    step: int
    name: str
    dur_ns: int
    reason: str


class PrintedStep(msgspec.Struct, frozen=True):
    """The program's own step where it is a multiple of the steps here: the median of the `values` that it printed, ns.

    `step_ns` is the median step here without the profiler, `times` the multiple, and `is_longer` whether the program's is longer.
    """

    printed_ns: float
    values: int
    step_ns: float
    times: int
    is_longer: bool


class Steps(msgspec.Struct, frozen=True):
    """Statistics of the counted steps, ns; `source` is where steps came from, `example` the name of one.

    `printed` is the step that the program printed, where it differs from these by a whole factor.
    """

    source: str | None
    example: str | None
    counted: int
    excluded: tuple[ExcludedStep, ...]
    total_ns: int | None = None
    mean_ns: float | None = None
    stddev_ns: float | None = None
    min_ns: int | None = None
    p50_ns: float | None = None
    p90_ns: float | None = None
    p95_ns: float | None = None
    p99_ns: float | None = None
    max_ns: int | None = None
    printed: PrintedStep | None = None

    @property
    def is_window(self) -> bool:
        """Whether no steps were found, so that the whole window counts as one step."""
        return self.source == "window"


class Unit(msgspec.Struct, frozen=True):
    """A level at which the trace repeats: groups of steps, the steps, or parts of them; a row of the table unit."""

    level: str
    source: str
    name: str
    count: int
    period_ns: int | None
    launches: int | None
    coverage_share: float | None
    recurring_share: float | None
    is_step: bool
    is_possible: bool
    evidence: str


class PhaseOfRun(msgspec.Struct, frozen=True):
    """A part of the capture: start_up, left_out, window (the judged part) or tail; a row of the table phase_of_run."""

    phase: str
    ts_ns: int
    dur_ns: int
    run_share: float | None
    gpu_busy_ns: int
    text: str


class Phase(msgspec.Struct, frozen=True):
    """A phase that the program marked: number, time, median per step, and share of the counted steps' time.

    Times of several threads are added, and phases may nest, so they do not add up to a step.
    """

    phase: str
    count: int
    dur_ns: int
    median_ns: float
    step_share: float | None


class Throughput(msgspec.Struct, frozen=True):
    """The work that the program counted (samples, tokens), over the `steps` counted steps that have a number."""

    key: str
    steps: int
    total: float
    per_second: float


class Condition(msgspec.Struct, frozen=True):
    """A series that a monitor logged, over the counted steps; `device` is None for the host.

    `instance` is the part of the device or host, such as a link or a disk.
    """

    device: int | None
    instance: str | None
    name: str
    unit: str | None
    mean: float
    lowest: float
    highest: float


class LedgerPart(msgspec.Struct, frozen=True):
    """The time of one category on one device: over all counted steps, per step, and as a share (0..1) of the steps."""

    category: str
    dur_ns: int
    per_step_ns: float
    step_share: float


class DeviceLedger(msgspec.Struct, frozen=True):
    """Time of the counted steps on a device by category; the parts, longest first, add up to `total` exactly."""

    device: int
    name: str | None
    total: int
    parts: tuple[LedgerPart, ...]


class StepLedger(msgspec.Struct, frozen=True):
    """A counted step of a device, and its time by category as (category, ns); the parts add up to `dur`."""

    device: int
    step: int
    dur: int
    parts: tuple[tuple[str, int], ...]


class Gap(msgspec.Struct, frozen=True):
    """A gap in which nothing ran on a device: its main cause, the host's calls during it, and the work after it.

    `drained_by` is the call that waited until the device was empty.
    """

    device: int
    step: int
    ts_ns: int
    dur_ns: int
    cause: str
    host: str | None
    operator: str | None
    annotation: str | None
    drained_by: str | None
    next_work: str | None


class GapSize(msgspec.Struct, frozen=True):
    """The number and total time of the gaps in one range of durations."""

    bucket: str
    gaps: int
    dur_ns: int


class Outlier(msgspec.Struct, frozen=True):
    """A category in which an unusually long step differs from the typical step, and by how many ns."""

    step: int
    dur_ns: int
    typical_step: int
    device: int | None
    category: str | None
    change_ns: int | None


class HostPart(msgspec.Struct, frozen=True):
    """Own time of the training thread by category and phase; the parts add up to the counted steps."""

    category: str
    phase: str
    dur_ns: int


class AnnotationTime(msgspec.Struct, frozen=True):
    """The time of all annotations of one name on the host; those inside one of the same name do not count."""

    name: str
    count: int
    dur_ns: int
    longest_ns: int


class OperatorTime(msgspec.Struct, frozen=True):
    """The own time of all operators of one name on the host, without the operators inside."""

    name: str
    count: int
    self_dur_ns: int
    longest_ns: int


class Host(msgspec.Struct, frozen=True):
    """The contents of a trace without GPU activity; times are sums over threads, not parts of a step."""

    annotations: tuple[AnnotationTime, ...]
    operators: tuple[OperatorTime, ...]


class Note(msgspec.Struct, frozen=True):
    """A kind of oddity that import met: its severity (info, data_loss or error), its code, and how often."""

    severity: str
    code: str
    count: int
    text: str


class ActivitySeries(msgspec.Struct, frozen=True):
    """The busy share of a GPU, or the mean of a counter's samples, in each of equal parts of the capture.

    `unit` is "share" for shares (0..1); a part without samples is None.
    """

    device: int
    name: str
    unit: str | None
    parts: tuple[float | None, ...]


class ActivityStep(msgspec.Struct, frozen=True):
    """A step on the time of the capture, `after_ns` from its start, and whether it is counted."""

    step: int
    after_ns: int
    dur_ns: int
    is_counted: bool


class Activity(msgspec.Struct, frozen=True):
    """The GPUs over the whole capture, which is `span_ns` long."""

    span_ns: int
    series: tuple[ActivitySeries, ...]
    steps: tuple[ActivityStep, ...]


class HostStack(msgspec.Struct, frozen=True):
    """The names of the host's frames around a slice, or where it was launched, from the innermost on.

    `line` is the innermost of them that is a line of the program, None for none. `is_captured`: GPU work of a CUDA graph,
    and frames of the time when the graph was captured.
    """

    frames: tuple[str, ...]
    line: str | None
    is_captured: bool


class TraceReport(msgspec.Struct, frozen=True):
    """The report on one trace; `host` is filled only without GPU activity.

    `extra_findings` are those of rules that no labelled real trace has confirmed, if they were asked for;
    `extra_left_out` is the number of more such rules. `small` are the rules whose findings are too small to list.
    `replay_error` is the share (0..1) by which the replay behind the savings misses the recorded steps, `is_replayed`
    whether it could be used. Where `rules_asked` is false, no rule was asked, as other ranks of the job stand for this
    one. `step_ledgers` are about the device that findings are about. `stacks` are those of findings' worst occurrences,
    by a finding's id, where there is one. `price` is what a GPU costs an hour, None where the
    user does not say. `over_time`, `flame` and `close_ups` (by a
    finding's id) are filled only for formats that draw them. A report of scope "screen" has NOT_BUILT for what the
    first screen does not show.
    """

    trace: TraceFacts
    triage: Triage | None
    program: tuple[ProgramFact, ...]
    made_with: tuple[MadeWith, ...]
    devices: tuple[Device, ...]
    steps: Steps
    units: tuple[Unit, ...]
    phases_of_run: tuple[PhaseOfRun, ...]
    throughput: tuple[Throughput, ...]
    phases: tuple[Phase, ...]
    conditions: tuple[Condition, ...]
    run_logs: tuple[RunLog, ...]
    run_points: tuple[RunPoint, ...]
    run_changes: tuple[RunChange, ...]
    run_phases: tuple[RunPhase, ...]
    request_logs: tuple[RequestLogFacts, ...]
    records: tuple[RecordFacts, ...]
    recorded_collectives: tuple[UsualCollective, ...]
    ledger: tuple[DeviceLedger, ...]
    step_ledgers: tuple[StepLedger, ...]
    gaps: tuple[Gap, ...]
    gap_sizes: tuple[GapSize, ...]
    outliers: tuple[Outlier, ...]
    host_ledger: tuple[HostPart, ...]
    topics: Topics
    findings: tuple[Finding, ...]
    account: tuple[Line, ...]
    findings_left_out: int
    extra_findings: tuple[Finding, ...]
    extra_left_out: int
    observations: tuple[Observation, ...]
    small: tuple[str, ...]
    replay_error: float | None
    is_replayed: bool
    clean: tuple[Clean, ...]
    not_applicable: tuple[NotApplicable, ...]
    failed: tuple[Failed, ...]
    rules_asked: bool
    notes: tuple[Note, ...]
    quality: tuple[MetricHealth, ...]
    host: Host | None
    queries: dict[str, str]
    activity: Activity | None = None
    over_time: Timeline | None = None
    flame: FlameGraph | None = None
    close_ups: Mapping[str, tuple[Timeline, ...]] = msgspec.field(default_factory=dict)
    stacks: Mapping[str, HostStack] = msgspec.field(default_factory=dict)
    price: float | None = None

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """The findings, then the findings of the pack extra."""
        return (*self.findings, *self.extra_findings)

    @property
    def unit(self) -> str:
        """The unit that times and savings are per: "step", or "window" without steps."""
        return "window" if self.steps.is_window else "step"

    @property
    def run_ns(self) -> int | None:
        """The length of the whole capture, ns; None when unknown."""
        return sum(phase.dur_ns for phase in self.phases_of_run) or None

    @property
    def judged_share(self) -> float | None:
        """The share (0..1) of the capture that is judged; None when unknown."""
        judged = sum(phase.dur_ns for phase in self.phases_of_run if phase.phase == "window")
        return judged / self.run_ns if self.run_ns else None

    @property
    def period(self) -> str:
        """The period that all numbers are about: "counted steps", or "window" without steps."""
        return "window" if self.steps.is_window else "counted steps"


class JobRank(msgspec.Struct, frozen=True):
    """A rank of a job: own time, transfers and waiting in matched collectives, and the saving if it were usual; ns.

    `late_ns` is own time beyond the usual rank's, `holds_up_ns` the part of it on the critical path, which all wait for.
    Times are None where the job cannot be judged; `win_ns` also in jobs of more than 64 ranks. `compute_ns` and
    `communication_ns` are parts of `counted_ns`, the time of its counted steps on its GPU; None without a ledger.
    `recorded_ns` is the length of its trace. `is_usual`: it has the median own time of the ranks that nobody waits for.
    `dp` is its copy of the model.
    """

    trace_id: int
    device: int | None
    rank: int
    rank_source: str
    host: str | None
    stage: int | None
    clock_offset_ns: int | None
    own_ns: int | None
    transfer_ns: int | None
    wait_ns: int | None
    late_ns: int | None
    holds_up_ns: int | None
    late_count: int | None
    win_ns: int | None
    compute_ns: int | None
    communication_ns: int | None
    counted_ns: int | None
    recorded_ns: int | None
    is_usual: bool = False
    dp: int | None = None


class JobCollective(msgspec.Struct, frozen=True):
    """Matched collectives of one kind, in `groups` groups of `ranks` ranks.

    `best_ns`, `typical_ns` (the median) and `longest_ns` are times of a rank that waits for nobody, ns; `transfer_bandwidth`
    is the median bus bandwidth over such times, GB/s. `transfer_ns` and `wait_ns` are sums over all ranks, ns. `level`:
    within a host or between hosts; None when unknown.
    """

    op: str
    bytes: int | None
    ranks: int
    level: str | None
    groups: int
    count: int
    best_ns: int
    typical_ns: float
    longest_ns: int
    transfer_bandwidth: float | None
    transfer_ns: int
    wait_ns: int


class LateOnAxis(msgspec.Struct, frozen=True):
    """A rank that clearly came last to `times` collectives on an axis, by `late_by_ns` in all against the second last."""

    rank: int
    times: int
    late_by_ns: int


class JobAxis(msgspec.Struct, frozen=True):
    """The collectives of a job along one axis of parallelism, in `groups` groups of `fewest` to `most` ranks; None: no axis told.

    `source` says what told the axis. Times are sums over its `ranks` ranks, ns: `transfer_ns` and `wait_ns` add up to `dur_ns`,
    and are None where the job cannot be judged; `wait_exposed_ns` is the least of the waits without compute beside them.
    `bus_gb_per_s` is the bus bandwidth without waiting. `slowest` are the ranks of the group whose ranks spend most time in it,
    `slowest_ns` and `slowest_wait_ns` a mean of these; None where there is one group.
    """

    axis: str | None
    source: str | None
    groups: int
    fewest: int | None
    most: int | None
    ranks: int
    collectives: int
    bytes: int | None
    dur_ns: int
    exposed_ns: int
    transfer_ns: int | None
    wait_ns: int | None
    wait_exposed_ns: int | None
    bus_gb_per_s: float | None
    slowest: tuple[int, ...] = ()
    slowest_ns: int | None = None
    slowest_wait_ns: int | None = None
    late: tuple[LateOnAxis, ...] = ()


def make_axis_of_job(*values: Any) -> JobAxis:
    """Return the axis of a row of job_axis.sql."""
    *before, slowest, slowest_ns, slowest_wait_ns, late = values
    ranks = [LateOnAxis(rank["rank"], rank["times"], rank["late_by"]) for rank in late or ()]
    of_group: Sequence[Any] = (tuple(slowest or ()), slowest_ns, slowest_wait_ns)
    return JobAxis(*[*before, *of_group, tuple(ranks)])


class GroupWait(msgspec.Struct, frozen=True):
    """The time (ns) that a rank, or the one of its block that waits most, waits for others in a group.

    `first_unit` is the lowest of the group's ranks, as job_rank.unit; it is None for all groups of an axis together.
    """

    rank: int
    axis: str | None
    first_unit: int | None
    group_name: str | None
    wait_ns: int


class RankPair(msgspec.Struct, frozen=True):
    """Two ranks (or blocks of ranks, by the lowest) that communicate: bytes, transfers, and what `rank` waits for `other`; ns."""

    rank: int
    other: int
    bytes: int | None
    transfer_ns: int | None
    wait_ns: int


class StageBubble(msgspec.Struct, frozen=True):
    """The exposed waits (ns, over all steps) of a pipeline's stage for other stages, a mean of its ranks; a share of the job.

    `share_of_equal` is the share of a pipeline of equal stages with as many micro-batches that is not interleaved.
    """

    stage: int
    ranks: int
    micro_batches: int | None
    wait_ns: int
    share: float
    share_of_equal: float | None


class JobPathPart(msgspec.Struct, frozen=True):
    """A part of the job's critical path, ns over all steps: own time of `rank` in a category of the ledger, or another `kind`.

    `kind` is as in job_path; all transfers are one part, without a rank. `category` is None where the ledger does not
    tell. `parts` is how many parts there are; at most 16 are kept.
    """

    kind: str
    rank: int | None
    category: str | None
    dur_ns: int
    parts: int


class LatePart(msgspec.Struct, frozen=True):
    """A part of a job, ranks that no process group connects to the others, and its `late` ranks in the order to fix them.

    Times are ns over all steps: `adds_ns` is what each late rank saves its part if those before it are fixed, `saved_ns` the sum.
    """

    ranks: Sequence[int]
    late: Sequence[int]
    adds_ns: Sequence[int]
    saved_ns: int


class RankLoad(msgspec.Struct, frozen=True):
    """The bytes and rows that all-to-alls along an axis bring to a rank, and its load: their share of the mean of its group.

    All-to-alls that bring tokens back are not counted. `most` is the largest load in one of them. `rows` is None where the
    source does not tell them.
    """

    axis: str | None
    rank: int
    exchanges: int
    rows: int | None
    received_bytes: int
    load: float
    most: float


class LayerLoad(msgspec.Struct, frozen=True):
    """The load of a rank (or of the most loaded of its block) in the all-to-all at a place of a step."""

    rank: int
    place: int
    load: float


class ExchangedBytes(msgspec.Struct, frozen=True):
    """The bytes from a rank, or a block of ranks, to another in all-to-alls, over all steps."""

    rank: int
    other: int
    bytes: int


class Lateness(msgspec.Struct, frozen=True):
    """The time (ns) by which a rank worked longer than the usual rank before collectives, in column `place` of `places`.

    A column is a step, or one or several collectives in a job of one step.
    """

    rank: int
    place: int
    places: int
    is_step: bool
    late_by: int


class WorstArrival(msgspec.Struct, frozen=True):
    """A rank in the collective with the latest arrival: its own time, then waiting, then transfer, ns.

    The collective ends on all ranks at once.
    """

    rank: int
    op: str
    bytes: int | None
    step: int | None
    own: int
    wait: int
    transfer: int


class Straggler(msgspec.Struct, frozen=True):
    """A rank, host or stage that makes others wait, with its savings in ns: `win_ns` if it alone is fixed.

    `adds_ns` is what it saves after the stragglers before it are fixed. `cause` is the category with most time beyond
    the usual rank's, `operator` the call that took longest beyond the same call on `usual_rank`. `trace_id` is the
    trace of the first of its `ranks`.
    """

    kind: str
    name: str
    trace_id: int
    ranks: Sequence[int]
    adds_ns: int
    win_ns: int
    late_steps_share: float | None
    cause: str | None
    cause_ns: int | None
    operator: str | None
    operator_dur_ns: int | None
    usual_operator_dur_ns: int | None
    usual_rank: int | None


class Job(msgspec.Struct, frozen=True):
    """Several ranks of one program, recorded at the same time; a row of the table job. Times in ns, over all `steps`.

    `dur_ns` is the sum of `late_start_ns`, `transfer_ns`, `late_ns` (time beyond the usual on the critical path) and
    usual work. `wait_share` is the share of waiting in the time of matched collectives during which ranks do no work of
    their own. `path` is who is on the critical path. `lateness`, `worst`, `group_waits`, `pairs` and `over_time` are
    drawn. `findings` are those of the job's rules, `not_applicable` the rules that cannot tell, `failed` those with an error.
    their own. `lateness`, `worst`, `group_waits`, `pairs`, `layer_loads`, `exchanged` and `over_time` are drawn.
    `findings` are those of the job's rules, `not_applicable` the rules that cannot tell, `failed` those with an error.
    """

    job: int
    time_window: int
    windows: int
    name: str | None
    world_size: int | None
    ranks: int
    hosts: int | None
    absent: int | None
    short_ranks: int
    steps: int
    matched_share: float | None
    mismatched: int
    clock_residual_ns: int | None
    claim_limit_ns: int | None
    replay_error: float | None
    dur_ns: int | None
    ideal_ns: int | None
    slowdown: float | None
    transfer_ns: int | None
    late_start_ns: int | None
    late_ns: int | None
    wait_share: float | None
    pattern: str | None
    cannot_tell: str | None
    wait_absent_ns: int | None
    members: tuple[JobRank, ...]
    stragglers: tuple[Straggler, ...]
    collectives: tuple[JobCollective, ...] = ()
    lateness: tuple[Lateness, ...] = ()
    worst: tuple[WorstArrival, ...] = ()
    axes: tuple[JobAxis, ...] = ()
    group_waits: tuple[GroupWait, ...] = ()
    pairs: tuple[RankPair, ...] = ()
    bubble: tuple[StageBubble, ...] = ()
    path: tuple[JobPathPart, ...] = ()
    late_parts: tuple[LatePart, ...] = ()
    loads: tuple[RankLoad, ...] = ()
    layer_loads: tuple[LayerLoad, ...] = ()
    exchanged: tuple[ExchangedBytes, ...] = ()
    findings: tuple[JobFinding, ...] = ()
    not_applicable: tuple[NotApplicable, ...] = ()
    failed: tuple[Failed, ...] = ()
    over_time: Timeline | None = None


class Report(msgspec.Struct, frozen=True):
    """The traces of one database, by trace_id, and their jobs; `query` is the SQL text that lists the traces.

    `source` is the path of their file or database, as it was given; "" if there were several.
    """

    traces: tuple[TraceReport, ...]
    query: str
    jobs: tuple[Job, ...] = ()
    source: str = ""
