"""Where the time of each device went, against a second reckoning from the files themselves."""

from __future__ import annotations

from collections import Counter, defaultdict

from agreement import assert_same_values
from raw_slices import DeviceSlice, list_intervals, measure_union
from sweep import categorize_slice, sweep_ledger
from trace_files import every_trace, read_raw

IS_COMMUNICATION = "select distinct name, ts, device, stream from gpu_slice where is_communication"
ANY = "compute + communication + copy_h2d + copy_d2h + copy_other + memset + graph > 0"
KIND_OF_COLUMN = {
    "compute + communication": "kernel",
    "copy_h2d + copy_d2h + copy_other": "memcpy",
    "memset": "memset",
}


def by_device(path) -> dict[int, list[DeviceSlice]]:
    found = defaultdict(list)
    for row in read_raw(path).device:
        found[row.device].append(row)
    return found


@every_trace
def test_busy_time_of_each_device_is_the_union_of_its_slices(path, databases):
    query = f"select device, sum(dur) from device_activity where {ANY} group by device"
    expected = {device: measure_union(list_intervals(rows)) for device, rows in by_device(path).items()}
    assert_same_values(dict(databases(path).execute(query).fetchall()), expected)


@every_trace
def test_time_of_each_kind_is_the_union_of_its_slices(path, databases):
    """Peer-to-peer copies inside a communication range would count as communication: no file here has any."""
    for columns, kind in KIND_OF_COLUMN.items():
        query = f"select device, sum(dur) from device_activity where {columns} > 0 group by device"
        unions = {
            device: measure_union(list_intervals(row for row in rows if row.kind == kind))
            for device, rows in by_device(path).items()
        }
        expected = {device: union for device, union in unions.items() if union}
        assert_same_values(dict(databases(path).execute(query).fetchall()), expected)


@every_trace
def test_device_time_is_the_sum_over_its_slices_when_counted_as_often_as_they_run(path, databases):
    query = f"select device, sum(dur * ({ANY.removesuffix(' > 0')})) from device_activity group by device"
    expected = Counter()
    for row in read_raw(path).device:
        expected[row.device] += row.dur
    found = dict(databases(path).execute(query).fetchall())
    assert_same_values({device: found[device] for device in expected}, expected)


@every_trace
def test_the_ledger_of_every_step_is_that_of_a_second_reckoning(path, databases):
    database = databases(path)
    communication = set(database.execute(IS_COMMUNICATION).fetchall())
    windows = database.execute("select step, ts, ts_end from step").fetchall()
    expected = {}
    for device, rows in by_device(path).items():
        named = [
            (row, categorize_slice(row, is_communication=(row.name, row.ts, device, row.stream) in communication))
            for row in rows
        ]
        for step, start, end in windows:
            expected |= {(device, step, name): time for name, time in sweep_ledger(named, (start, end)).items()}
    query = """
        select device, step, if(starts_with(category, 'idle_'), 'idle', category) as name, sum(dur)::bigint
        from time_ledger group by all
    """
    found = {(device, step, name): dur for device, step, name, dur in database.execute(query).fetchall()}
    assert_same_values({key: dur for key, dur in found.items() if key[0] in by_device(path)}, expected)
