"""Labels of memory snapshots: true of the raw file, equal to the tables, and the first line of the report."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from raw_memory import LABELS, SHARED, count_facts, load

import traceq
from traceq.reports.sections.verdict import write_verdict

NAMES = sorted(path.stem for path in LABELS.glob("*.json"))
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the public traces are not here")


def label(name):
    return json.loads((LABELS / f"{name}.json").read_text("utf-8"))


@pytest.fixture(scope="module", params=NAMES)
def told(request, tmp_path_factory):
    """A label, its file read by Python alone, and the database of it."""
    known = label(request.param)
    path = SHARED / known["trace"]
    database = tmp_path_factory.mktemp("snapshot") / "snapshot.duckdb"
    traceq.ingest(path, database)
    return known, load(path), database


def query_memory(database, query):
    with traceq.open(database) as trace:
        return trace.sql(query).fetchall()


@needs_shared
def test_there_is_a_label_for_every_snapshot():
    assert sorted(path.stem for path in (SHARED / "judged" / "memory").glob("*.pickle")) == NAMES


@needs_shared
def test_a_label_says_what_the_raw_file_says(told):
    known, snapshot, _ = told
    assert known["facts"] == count_facts(snapshot)


@needs_shared
def test_tables_hold_every_event_block_and_frame(told):
    _, snapshot, database = told
    (history,) = snapshot["device_traces"]
    events = query_memory(
        database, "select action, ts, address, bytes, stream, stack_id from allocator_event order by number"
    )
    assert [event[:5] for event in events] == [
        (each["action"], each["time_us"] * 1000, each["addr"], each["size"], each["stream"]) for each in history
    ]
    stacks: dict[int, list[tuple[str, str, int]]] = {}
    frames = "select stack_id, file, name, line from allocator_stack order by stack_id, depth"
    for stack_id, *frame in query_memory(database, frames):
        stacks.setdefault(stack_id, []).append(tuple(frame))
    # names of C++ are cut
    raw = [[(f["filename"], f["name"][:500], f["line"]) for f in each["frames"]] for each in history]
    assert [stacks.get(event[5], []) for event in events] == raw
    blocks = query_memory(
        database, "select address, bytes, requested_bytes, state from allocator_block order by address"
    )
    assert blocks == sorted(
        (block["address"], block["size"], block["requested_size"], block["state"])
        for segment in snapshot["segments"]
        for block in segment["blocks"]
    )


@needs_shared
def test_tables_equal_the_independent_reading(told):
    known, _, database = told
    raw = known["facts"]
    counts = query_memory(database, "select action, count(*) from allocator_event group by action")
    assert dict(counts) == raw["actions"]
    peak = raw["peak"]
    columns = "number, ts, bytes, older, at_end, requested_at_end, bytes_at_end, reserved_at_end"
    assert query_memory(database, f"select {columns} from memory_peak") == [
        (
            peak["event"],
            peak["time_us"] * 1000,
            peak["bytes"],
            raw["older"],
            raw["blocks"]["active_allocated"],
            raw["end"]["requested"],
            raw["end"]["blocks"],
            raw["end"]["reserved"],
        )
    ]
    held = query_memory(database, "select count(*), sum(requested_bytes) from allocation where at_peak")
    assert held == [(peak["allocations"], peak["bytes"])]
    owners: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for owner, size, count in query_memory(database, "select owner, bytes, allocations from memory_holder"):
        owners[owner] += size
        numbers[owner] += count
    assert [[name, size, numbers[name]] for name, size in owners.most_common(3)] == peak["owners"]


@needs_shared
def test_identities_hold(told):
    _, _, database = told
    assert traceq.doctor(database).broken == []


@needs_shared
def test_the_first_line_and_the_findings_are_those_of_the_label(told):
    known, _, database = told
    (report,) = traceq.report(database).content.traces
    assert "".join(write_verdict(report).spans) == known["first_line"]
    found = {each.rule for each in report.observations}
    assert set(known["findings"]["must"]) <= found
    assert not set(known["findings"]["must_not"]) & found
    if known["category"] is not None:
        first = next(each for each in report.topics.memory.holders)
        assert (first.owner, first.category) == (known["owner"], known["category"])


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("name", ["wedson_medium_ctx128_train", "wedson_medium_ctx128_infer"])
def test_a_history_is_as_long_as_the_raw_file_says(name):
    """Also where annotations cover a part of it only."""
    path = SHARED / "judged3" / "memory" / f"{name}.pickle"
    (history,) = load(path)["device_traces"]
    (report,) = traceq.report(path).content.traces
    (peak,) = report.topics.memory.snapshot
    assert peak.history_ns == 1000 * (history[-1]["time_us"] - history[0]["time_us"])
    assert peak.after_ns < peak.history_ns
