"""A capture twice as long, with twice the work, or with a second process: what is measured grows as it must."""

from __future__ import annotations

import re

import pytest
from families import FAMILIES, SHARED, find_trace, report_unchanged
from reports import compare_reports, pick_facts, report_json, scale_facts

# What counts the slices of the host, and those of the added process are some.
_OF_HOST_SLICES = re.compile(r"\.(trace\.cpu_slices\.annotation|triage\.host_slices|quality\[\d+\]\.reason): ")

# Which rules are asked, where the program that is judged has no range and the process beside it has some.
_OF_RANGES = re.compile(r"\.(clean|not_applicable|quality\[\d+\]\.needs): ")
# A child may end 1 us after its parent, as each time is rounded; where all takes twice as long it is 2 us, and overlaps it.
_WHOLE_MICROSECONDS = {"traces/torch/sidnb13_h100_transformer.pt.trace.json"}


def list_cases(amount):
    for name, family in FAMILIES.items():
        for trace in (family.fixture, *family.real) if amount in family.amounts else ():
            missing = trace in family.real and not (SHARED / trace).exists()
            marks = [pytest.mark.skip(reason="the folder shared is not beside the checkout")] if missing else []
            yield pytest.param(name, trace, marks=marks, id=trace.split("/")[-1])


def parametrize_traces(amount):
    return pytest.mark.parametrize(("name", "trace"), [*list_cases(amount)])


@pytest.fixture(scope="session")
def traces(tmp_path_factory):
    """Return the folder of made-up traces."""
    return tmp_path_factory.mktemp("traces")


@pytest.fixture
def report_both(traces, tmp_path):
    """Return a function that reports (a trace as it is, the trace with an amount changed)."""

    def report(name, trace, amount):
        source = find_trace(trace, traces)
        family = FAMILIES[name]
        return report_unchanged(source), report_json(family.write(source, tmp_path, (family.amounts[amount],), ""))

    return report


@pytest.mark.slow
@parametrize_traces("twice as long")
def test_all_takes_twice_as_long(name, trace, report_both):
    before, after = map(pick_facts, report_both(name, trace, "twice as long"))
    if trace in _WHOLE_MICROSECONDS:
        for fact in ("host_ledger", "gaps"):
            del before[fact], after[fact]
    assert compare_reports(scale_facts(after, 1), scale_facts(before, 2), rounded_by=1) == []


@pytest.mark.slow
@parametrize_traces("once more, later")
def test_once_more_later(name, trace, report_both):
    before, after = map(count_work, report_both(name, trace, "once more, later"))
    assert after == {key: 2 * count for key, count in before.items()}


def count_work(report):
    """Return how much was recorded, by kind: slices, calls, and the ns that GPUs were busy."""
    (trace,) = report["traces"]
    sums = {
        f"{table} {kind}": count
        for table in ("cpu_slices", "gpu_slices")
        for kind, count in trace["trace"][table].items()
    }
    sums |= {f"device {row['device']}": row["slices"] for row in trace["devices"]}
    sums |= {key: trace["triage"][key] for key in ("device_calls", "launch_calls", "kernels", "host_slices")}
    return sums | {"busy": sum(phase["gpu_busy_ns"] or 0 for phase in trace["phases_of_run"])}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "trace"), [("chrome", FAMILIES["chrome"].fixture), ("nsys", FAMILIES["nsys"].fixture)]
)
def test_steps_once_more(name, trace, report_both):
    before, after = report_both(name, trace, "once more, later")
    assert after["traces"][0]["steps"]["counted"] == 2 * before["traces"][0]["steps"]["counted"]
    # The pause between the two lies in a step, as steps last until the next begins.
    pause = {"idle_unattributed"}
    per_step = [
        {row["category"]: row["per_step_ns"] for row in report["traces"][0]["ledger"] if row["category"] not in pause}
        for report in (before, after)
    ]
    assert per_step[1] == pytest.approx(per_step[0], abs=1)


@pytest.mark.slow
@parametrize_traces("a process without a GPU")
def test_a_process_without_a_gpu(name, trace, report_both):
    before, after = report_both(name, trace, "a process without a GPU")
    allowed = [_OF_HOST_SLICES] + [_OF_RANGES] * ("annotation" not in before["traces"][0]["trace"]["cpu_slices"])
    differences = compare_reports(after, before)
    assert [line for line in differences if not any(part.search(line) for part in allowed)] == []


@pytest.mark.slow
@parametrize_traces("a process with a GPU")
def test_a_process_with_a_gpu(name, trace, report_both):
    before, after = (list_by_device(report) for report in report_both(name, trace, "a process with a GPU"))
    assert {device: after[device] for device in before} == before
    assert [rows for device, rows in after.items() if device not in before] == list(before.values())


def list_by_device(report):
    """Return the facts that stand for one GPU alone, by device."""
    (trace,) = report["traces"]
    lists = {"ledger": trace["ledger"], "fill": trace["kernels"]["fill"], "copies": trace["copies"]["totals"]}
    lists["communication"] = trace["communication"]["totals"]
    by_device = {row["device"]: {} for row in trace["ledger"]}
    for name, rows in lists.items():
        for row in rows:
            if row["device"] in by_device:
                by_device[row["device"]].setdefault(name, []).append({key: row[key] for key in row if key != "device"})
    return by_device
