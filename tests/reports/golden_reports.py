"""Two reports for the golden files. Their findings are given here, so that a new rule rewrites none of them."""

from __future__ import annotations

import handmade_traces
from msgspec import structs

from traceq.diagnosis.finding import Clean, Evidence, Failed, Finding, NotApplicable, Observation, Part, Where

_GPU = Where(1, None, 0, "NVIDIA H100 80GB HBM3")
_SUMMARY = Evidence(
    ("instances", "steps_with_it", "longest_ns", "claimed_ns"),
    ((2, 2, 480_000, 1_020_000.0),),
    "select count(*) as instances, 2 as steps_with_it, max(dur) as longest_ns, 1020000 as claimed_ns\nfrom copy",
)
_INSTANCES = Evidence(
    ("step", "ts", "dur", "name", "src_memory"),
    ((1, 10_920_000, 480_000, "Memcpy h2d", "pageable"), (2, 20_920_000, 480_000, None, "pageable")),
    "select step, ts, dur, name, src_memory\nfrom copy\nwhere name <> 'it''s | `here`' order by dur desc",
)
_LATE_COPY = Finding(
    rule="late-copy",
    finding_id="late-copy",
    title="Batches are copied too late",
    where=structs.replace(
        _GPU, stream=5, phase="data", annotation="fetch", operator="aten::to", source_line="train.py:12"
    ),
    claimed_ns=1_020_000.0,
    owned_ns=1_000_000.0,
    saving_ns=900_000.0,
    saving_low_ns=450_000.0,
    only_bounds=False,
    assumed_share=1.0,
    rule_share=1.0,
    occurrences=2,
    saving_high_ns=1_000_000.0,
    expected_step_ns=9_100_000.0,
    confidence="high",
    confidence_reason="every copy was recorded with the call that issued it",
    summary=_SUMMARY,
    instances=_INSTANCES,
    fix="Copy the next batch while this one is computed.",
    wrong_if="the batch is only known when the step begins.",
    references=("https://docs.example.org/copies",),
    parts=(
        Part(
            rule="pageable",
            finding_id="pageable",
            title="Copies from pageable memory",
            saving_ns=400_000.0,
            confidence="medium",
            fix="Pin the memory: DataLoader(pin_memory=True).",
            evidence=_SUMMARY,
        ),
    ),
)
_IDLE = structs.replace(
    _LATE_COPY,
    rule="idle",
    finding_id="idle",
    summary=Evidence(
        _SUMMARY.columns,
        ((2, 2, 200_000, 300_000.0),),
        "select 2 as instances, 2 as steps_with_it, 200000 as longest_ns, 300000 as claimed_ns",
    ),
    title="The GPU waits for the host",
    where=_GPU,
    claimed_ns=300_000.0,
    owned_ns=300_000.0,
    saving_ns=200_000.0,
    saving_low_ns=0.0,
    saving_high_ns=300_000.0,
    expected_step_ns=9_800_000.0,
    confidence="low",
    confidence_reason="what the host did is not known",
    fix="Launch earlier.",
    references=(),
    parts=(),
)
_FEW = Observation(
    rule="few",
    finding_id="few",
    title="Few steps were recorded",
    where=_GPU,
    text="2 counted steps: medians of so few say little.",
    evidence=_SUMMARY,
    fix="Record ten steps or more.",
    references=("https://docs.example.org/steps",),
)
_BESIDE = {
    "observations": (_FEW,),
    "small": ("slow-kernel",),
    "clean": (Clean("compiling", "The program compiles", "not found, or below 1 % of the step"),),
    "not_applicable": (NotApplicable("storage", "Storage is slow", "no system calls; --trace=osrt brings them"),),
    "failed": (Failed("broken", "A rule that broke", "KeyError: 'step'"),),
}


def one_trace():
    """A trace with something in every section, and with every way in which a rule can end."""
    made = handmade_traces.report(handmade_traces.complete(), rules=[], scope="drawing")
    (trace,) = made.traces
    found = {**_BESIDE, "findings": (_LATE_COPY, _IDLE), "findings_left_out": 1}
    return structs.replace(made, traces=(structs.replace(trace, **found),))


def two_traces():
    """One trace with a finding, and one without a GPU, in which nothing was found."""
    made = handmade_traces.report(handmade_traces.training(), handmade_traces.on_host_only(), rules=[], scope="drawing")
    first, second = made.traces
    found = (structs.replace(_LATE_COPY, finding_id="late-copy@rank3"),)
    traces = (structs.replace(first, findings=found), structs.replace(second, clean=_BESIDE["clean"]))
    return structs.replace(made, traces=traces)
