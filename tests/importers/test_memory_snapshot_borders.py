"""Walk through the numbers of memory snapshots at the borders of 64 bits: kept, or the file is refused in one line."""

from __future__ import annotations

import copy

import pytest
from borders import BORDERS, NESTED, collect_tables
from snapshots import make_history, make_segment, make_snapshot, write_file, write_tables

from traceq.errors import TraceqError
from traceq.importers import memory_snapshot

VALUES = {
    "pickle": [*BORDERS, *NESTED],
    "sqlite": [-1, 2**31, 2**63 - 1, -(2**63), 1e30, float("inf"), 0.5, "text", None],
}


def make_usual():
    events = make_history("5 alloc 1099511627776 512 main\n6 free 1099511627776 512 -\n7 oom 99 512 main")
    marks = [{"stage": stage, "name": "a", "device": 0, "time_us": at} for stage, at in (("START", 5), ("END", 9))]
    sizes = {"allocated_size": 512, "active_size": 512, "requested_size": 500}
    segment = make_segment(1 << 40, "512 500 used main\n512 0 free -", **sizes)
    return make_snapshot(events, segments=[segment], annotations=marks)


def list_places(part, *place):
    """List the places of all numbers in a snapshot."""
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        if isinstance(value, dict | list):
            yield from list_places(value, *place, key)
        elif isinstance(value, int) and not isinstance(value, bool):
            yield (*place, key)


def put_value(snapshot, place, value):
    """Return a copy of the snapshot with the value in this place, and in no other that shares its list."""
    found = part = copy.deepcopy(snapshot)
    *outer, last = place
    for key in outer:
        part[key] = copy.copy(part[key])
        part = part[key]
    part[last] = value
    return found


def list_numbers(tables):
    return {
        number
        for table, rows in tables.items()
        if table.startswith("allocator_")
        for row in rows
        for number in row.values()
        if isinstance(number, int | float)
    }


@pytest.mark.parametrize("kind", ["pickle", "sqlite"])
def test_every_number_is_kept_or_refused(tmp_path, kind):
    usual = make_usual()
    places = {place[:: len(place) - 1]: place for place in list_places(usual)}.values()
    assert len(places) > 15
    own = list_numbers(collect_tables(memory_snapshot.read(write_file(tmp_path, usual))))
    failures = []
    read = 0
    for place in places:
        for value in VALUES[kind]:
            snapshot = put_value(usual, place, value)
            path = tmp_path / "a.sqlite"
            path.unlink(missing_ok=True)
            try:
                path = write_file(tmp_path, snapshot) if kind == "pickle" else write_tables(path, snapshot)
                tables = collect_tables(memory_snapshot.read(path))
            except TraceqError as error:
                failures += [(place, value)] if "\n" in str(error) else []
                continue
            read += 1
            # Times are ns, and a block without an address follows the one before.
            told = (value, value * 1000) if type(value) is int else (value,)
            odd = list_numbers(tables) - own - {v for v in told if isinstance(v, int | float)}
            follows = value is None and place[-1] in ("address", "time_us")
            failures += [(place, value, odd)] if odd and not follows else []
            assert sum(map(len, tables.values())) > len(usual["device_traces"][0])
    assert failures == []
    assert read > 2 * len(places)


def test_blocks_that_lie_beyond_64_bits_are_refused(tmp_path):
    segment = make_segment((1 << 63) - 600, "512 500 used main\n512 0 free -")
    for block in segment["blocks"]:
        del block["address"]
    segment["blocks"].append(segment["blocks"][1])
    with pytest.raises(TraceqError, match="beyond 64-bit addresses"):
        collect_tables(memory_snapshot.read(write_file(tmp_path, make_snapshot([], segments=[segment]))))
