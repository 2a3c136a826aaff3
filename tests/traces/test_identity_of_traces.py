"""Ten real traces tell the same in another order, at another time and beside a second process."""

from __future__ import annotations

import pytest
from tables import filled_as_by_ingest, put_together
from trace_files import NSYS, TORCH, strip_container
from transformations import OTHER_DEVICES, after, backwards, doubled, scaled, shifted, started_later, unchanged

from traceq import importers
from traceq.diagnosis.judge import judge
from traceq.diagnosis.query import all_thresholds

TEN = (
    "hta_amd_mi250_train",
    "hta_ns_resolution_rank0",
    "kineto_2026_before_fix_trace",
    "kineto_resnet50_w4.v19.pt.trace",
    "megatron_tp8_rank0",
    "sidnb13_h100_transformer.pt.trace",
    "cestwc_report11",
    "nsysai_mfu_2gpu_before",
    "pipit_saxpy_mpi",
    "testcuda_4streams_report1",
)
EVERY_DAY = ("hta_amd_mi250_train", "kineto_2026_before_fix_trace")
CHOSEN = [
    pytest.param(path, id=strip_container(path), marks=[] if strip_container(path) in EVERY_DAY else [pytest.mark.slow])
    for path in [*NSYS, *TORCH]
    if strip_container(path) in TEN
]
LATER = 10**15
SECOND_NS = 10**9

QUERIES = {
    "capture": "select kind, reason from triage",
    "step": "select step, name, source, ts as at, dur, excluded from step",
    "ledger": "select device, step, category, dur from time_ledger",
    "host": "select step, category, phase, dur from host_ledger",
    "gap": "select device, step, ts as at, dur, cause from idle_gap",
    "path": "select kind, cause, name, count(*) as segments, sum(dur) as dur from critical_path group by all",
}


def judge_changed(path, change=unchanged, *, first=0):
    """Analyse and judge a trace after `change`; return rows of the first process by query, times less `first` ns."""
    (importer,) = (one for one in importers.IMPORTERS if one.sniff(path))
    batches = [(table, new) for table, batch in importer.read(path) for new in change(table, batch) if new.num_rows]
    if change is backwards:
        batches.reverse()
    with put_together([filled_as_by_ingest(batches, importer.NAME)]) as connection:
        found = {}
        for name, query in QUERIES.items():
            rows = connection.sql(f"from ({query}) order by all").to_arrow_table().to_pylist()
            found[name] = [
                row | ({"at": row["at"] - first} if "at" in row else {})
                for row in rows
                if (row.get("device") or 0) < OTHER_DEVICES
            ]
        (judged,) = judge(connection)
        found["findings"] = [(each.rule, each.saving_ns, each.owned_ns, each.confidence) for each in judged.findings]
    return found


def leave_out(found, *names):
    return {name: rows for name, rows in found.items() if name not in names}


@pytest.fixture(scope="module")
def plain():
    """Return the unchanged results of a trace, computed once for all tests."""
    known = {}
    return lambda path: known.get(path) or known.setdefault(path, judge_changed(path))


@pytest.mark.parametrize("path", CHOSEN)
def test_the_order_of_rows_says_nothing(path, plain):
    assert judge_changed(path, backwards) == plain(path)


@pytest.mark.parametrize("path", CHOSEN)
def test_when_a_program_ran_says_nothing(path, plain):
    assert judge_changed(path, shifted(LATER), first=LATER) == plain(path)


# What one process saves is replayed with all processes: the other one's work goes on as it did, and the capture lasts for that.
@pytest.mark.parametrize("path", CHOSEN)
def test_another_process_on_other_gpus_says_nothing_of_the_first(path, plain):
    beside, alone = judge_changed(path, doubled), plain(path)
    assert leave_out(beside, "path", "findings") == leave_out(alone, "path", "findings")
    assert [(rule, owned, sure) for rule, _, owned, sure in beside["findings"]] == [
        (rule, owned, sure) for rule, _, owned, sure in alone["findings"]
    ]
    for (rule, saving, *_), (_, expected, *_) in zip(beside["findings"], alone["findings"], strict=True):
        assert saving == pytest.approx(expected, rel=0.05), rule


@pytest.mark.parametrize("path", CHOSEN)
def test_a_second_of_nothing_before_the_program_moves_no_border(path, plain):
    later = after(unchanged, started_later(SECOND_NS))
    assert judge_changed(path, later, first=SECOND_NS)["step"] == plain(path)["step"]


# Thresholds of so much and more are times in ns, those of sizes aside: they are doubled with the times.
TIMES = 1000
# What these hold against is a link, whose speed stays what it is.
AGAINST_A_LINK = {"late-input-copy", "low-copy-bandwidth", "pageable-copy"}
# Savings are off by so much where times of analyses that are no thresholds of rules decide what a gap is.
NEAR, NEAR_OF_GAPS = 0.03, {"cestwc_report11": 0.1}


@pytest.mark.parametrize("path", CHOSEN)
def test_a_program_that_takes_twice_as_long_wins_twice_as_much(path):
    once, twice = (find_savings(path, factor) for factor in (1, 2))
    near = NEAR_OF_GAPS.get(strip_container(path), NEAR)
    compared = (once.keys() | twice.keys()) - AGAINST_A_LINK
    assert {rule: twice.get(rule) for rule in compared} == {
        rule: pytest.approx(2 * once.get(rule, 0), rel=near) for rule in compared
    }


def find_savings(path, factor):
    """The likely saving by rule of a trace whose times, and those among the thresholds of rules, are `factor` times as long."""
    (importer,) = (one for one in importers.IMPORTERS if one.sniff(path))
    change = scaled(factor)
    batches = [(table, new) for table, batch in importer.read(path) for new in change(table, batch) if new.num_rows]
    times = {each.key: float(factor) for each in all_thresholds() if each.value >= TIMES and "bytes" not in each.name}
    with put_together([filled_as_by_ingest(batches, importer.NAME)]) as connection:
        (judged,) = judge(connection, scaled=times)
        return {each.rule: each.saving_ns for each in judged.findings}
