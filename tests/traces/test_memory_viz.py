"""Figures of memory snapshots beside those of PyTorch's own functions on the same files."""

from __future__ import annotations

import re
import sys
from collections import Counter
from copy import deepcopy
from pathlib import Path

import lazy_import
import pytest
from trace_files import SHARED

import traceq
from traceq.app.compare_memory import compare_memory

sys.path.append(str(Path(__file__).parents[1] / "truth"))

from raw_memory import load

viz = lazy_import.module("torch.cuda._memory_viz")

FOLDER = SHARED / "judged" / "memory"
PAIR = ("cs336_mem_fwd_200", "cs336_mem_fwd_200_mixed")
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the folder shared/judged is not beside the checkout")


@pytest.fixture(scope="module")
def snapshots():
    return {name: load(FOLDER / f"{name}.pickle") for name in PAIR}


@pytest.fixture(scope="module")
def compared():
    return compare_memory(*(FOLDER / f"{name}.pickle" for name in PAIR)).content


def query_snapshot(name, query):
    with traceq.open(FOLDER / f"{name}.pickle") as trace:
        return trace.sql(query).fetchall()


def snapshot_of(side):
    return dict(zip(("base", "new"), PAIR, strict=True))[side]


def list_held(snapshot, until):
    """What PyTorch says is not freed yet after the first events: allocations by the program's own innermost line."""
    part = deepcopy(snapshot)
    part["device_traces"] = [part["device_traces"][0][:until]]
    (left,) = viz.filter_alloc_free_pairs(part)["device_traces"]
    sizes: Counter[str] = Counter()
    for event in left:
        if event["action"] == "alloc":
            own = (each for each in viz._frames_fmt(event["frames"], full_filename=True) if is_own(each))
            file, line, name = next(own).rsplit("/", 1)[-1].split(":", 2)
            sizes[f"{file}:{line} {name}"] += event["size"]
    return sizes


def is_own(frame):
    return re.match(r"[^:]*\.py:", frame) and not re.search(r"/site-packages/|/lib/python3", frame)


@pytest.mark.sample(2)
@pytest.mark.parametrize("side", ["base", "new"])
def test_peak_and_owners(snapshots, compared, side):
    """Before, at and after the event that reaches the peak; and at every hundredth event: never more."""
    snapshot = snapshots[snapshot_of(side)]
    found = getattr(compared, side)
    ((number,),) = query_snapshot(snapshot_of(side), "select number from memory_peak")
    held = list_held(snapshot, number + 1)
    assert sum(held.values()) == found.peak.peak_bytes
    assert dict(held) == dict(found.holders)
    for until in {number, number + 2, *range(0, len(snapshot["device_traces"][0]), 100)}:
        assert sum(list_held(snapshot, until).values()) <= found.peak.peak_bytes


def test_difference_and_its_owners(snapshots, compared):
    ends = [query_snapshot(name, "select number + 1 from memory_peak")[0][0] for name in PAIR]
    base, new = (list_held(snapshots[name], end) for name, end in zip(PAIR, ends, strict=True))
    assert compared.delta_bytes == sum(new.values()) - sum(base.values()) == -186_104_320
    assert sum(each.delta_bytes for each in compared.owners) == compared.delta_bytes
    assert sum(each.delta_bytes for each in compared.categories) == compared.delta_bytes
    assert {each.name: each.delta_bytes for each in compared.owners} == {
        name: new[name] - base[name] for name in {*base, *new}
    }


@pytest.mark.parametrize("side", ["base", "new"])
def test_the_end_as_segsum_says_it(snapshots, compared, side):
    snapshot = snapshots[snapshot_of(side)]
    found = getattr(compared, side)
    text = viz.segsum(snapshot)
    said = dict(re.findall(r"^(segments|total_reserved|total_allocated): (.*)$", text, re.MULTILINE))
    assert said["segments"] == str(len(found.segments))
    assert said["total_reserved"] == str(viz.Bytes(found.peak.reserved_at_end))
    assert said["total_allocated"] == str(viz.Bytes(found.peak.requested_at_end))
    assert found.peak.bytes_at_end == sum(map(viz.calc_active, snapshot["segments"]))


def test_memory_at_the_end_by_stack(snapshots):
    """torch.cuda._memory_viz.memory() gives a line for each block: their sums are those of allocator_block."""
    for name in PAIR:
        lines = viz.memory(snapshots[name], format_flamegraph=str).splitlines()
        sizes: Counter[str] = Counter()
        for line in lines:
            stack, _, size = line.rpartition(" ")
            sizes["gaps" if stack.endswith("<gaps>") else stack.split(";")[1]] += int(size)
        query = """
            select
                sum(requested_bytes) filter (state = 'active_allocated'),
                sum(requested_bytes) filter (state = 'inactive'),
                sum(bytes - requested_bytes)
            from allocator_block
        """
        ((active, inactive, gaps),) = query_snapshot(name, query)
        assert sizes == {"active_allocated": active, "inactive": inactive, "gaps": gaps}


def test_segments_that_only_one_has(snapshots, compared, capsys):
    """As torch.cuda._memory_viz.compare() prints them."""
    before, after = (snapshots[name]["segments"] for name in PAIR)
    viz.compare(before, after, format_flamegraph=str)
    said = dict(re.findall(r"^(only_before|only_after) = \[(.*)\]$", capsys.readouterr().out, re.MULTILINE))
    for name, addresses in (("only_before", compared.segments_only_base), ("only_after", compared.segments_only_new)):
        assert sorted(map(int, filter(None, said[name].split(", ")))) == list(addresses)
