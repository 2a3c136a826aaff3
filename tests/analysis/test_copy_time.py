"""What ran beside copies, and which bytes came back, against oracles that go instant by instant and copy by copy."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from oracle import category_at
from tables import a_hundred, empty_tables, insert, worlds

from traceq.analysis.order import AnalysisState, run

# activity -> the columns of gpu_slice that make it one
COLUMNS = {
    "compute": ("kernel", False, None),
    "communication": ("kernel", True, None),
    "graph": ("graph", False, None),
    "memset": ("memset", False, None),
    "copy_h2d": ("memcpy", False, "h2d"),
    "copy_d2h": ("memcpy", False, "d2h"),
    "copy_other": ("memcpy", False, "um"),
}
COPIES = ("copy_h2d", "copy_d2h", "copy_other")
TIME = st.integers(0, 40)
SLICES = st.lists(st.tuples(st.sampled_from(sorted(COLUMNS)), TIME, st.integers(0, 12)), min_size=1, max_size=12)
BOUNDARIES = st.lists(TIME, min_size=2, max_size=5, unique=True).map(sorted)
NO_CALLS = "create temp table _copy_position (slice_id bigint, position varchar)"


def fill_copy_times(devices, boundaries):
    """Slices per device and steps between the boundaries, with the times of copies: a connection to them, (slice_id,
    device, activity, ts, dur) and the steps."""
    connection = empty_tables()
    found = [(device, *each) for device, slices in enumerate(devices) for each in slices]
    slices = [(slice_id, *each) for slice_id, each in enumerate(found)]
    insert(
        connection,
        "gpu_slice",
        "slice_id device name ts dur kind is_communication copy_kind",
        [
            (slice_id, device, "Memcpy HtoD", ts, dur, *COLUMNS[activity])
            for slice_id, device, activity, ts, dur in slices
        ],
    )
    steps = list(pairwise(boundaries))
    insert(
        connection,
        "step",
        "step name source ts dur",
        [(number, "s", "annotation", ts, end - ts) for number, (ts, end) in enumerate(steps)],
    )
    run(connection, ("device_activity", "copy_call", "copy_time"), AnalysisState(1))
    return connection, slices, steps


def is_computing(slices, instant):
    return category_at(slices, instant) == "compute"


def sweep_copy(slices, category, ts, dur):
    """Return (overlapped, hidden, exposed), instant by instant."""
    overlapped = sum(is_computing(slices, instant) for instant in range(ts, ts + dur))
    exposed = sum(category_at(slices, instant) == category for instant in range(ts, ts + dur))
    return overlapped, dur - overlapped - exposed, exposed


def could_overlap(slices, steps, copies):
    """By slice_id: what compute of the rest of the step can hide, the last copy served first. `copies` are (id, end, exposed)."""
    found, taken = {}, dict.fromkeys(steps, 0)
    for slice_id, end, exposed in sorted(copies, key=lambda copy: (copy[1], copy[0]), reverse=True):
        step = next((step for step in steps if step[0] < end <= step[1]), None)
        left = sum(is_computing(slices, instant) for instant in range(end, step[1])) - taken[step] if step else 0
        found[slice_id] = min(exposed, left)
        if step:
            taken[step] += found[slice_id]
    return found


@a_hundred
@given(devices=worlds(SLICES), boundaries=BOUNDARIES)
def test_every_nanosecond_of_a_copy_is_where_the_oracle_says(devices, boundaries):
    connection, slices, steps = fill_copy_times(devices, boundaries)
    found = {
        slice_id: times
        for slice_id, *times in connection.execute(
            "select slice_id, overlapped, hidden, exposed, could_overlap from _copy_time"
        ).fetchall()
    }
    wanted = {}
    for device, there in enumerate(devices):
        copies = [each for each in slices if each[1] == device and each[2] in COPIES]
        parts = {each[0]: sweep_copy(there, *each[2:]) for each in copies}
        ends = [(slice_id, ts + dur, parts[slice_id][2]) for slice_id, _, _, ts, dur in copies]
        hidden = could_overlap(there, steps, ends)
        wanted |= {slice_id: [*part, hidden[slice_id]] for slice_id, part in parts.items()}
    assert found == wanted


@a_hundred
@given(devices=worlds(SLICES), boundaries=BOUNDARIES)
def test_totals_are_unions_and_their_exposed_part_is_the_ledgers(devices, boundaries):
    connection, slices, steps = fill_copy_times(devices, boundaries)
    connection.execute(NO_CALLS)
    run(connection, ("copy_return", "copy_overlap"), AnalysisState(1))
    rows = connection.execute(
        "select device, step, category, busy, overlapped, hidden, exposed from copy_total where busy > 0"
    ).fetchall()
    wanted = []
    for device, each in enumerate(devices):
        for number, (ts, end) in [*enumerate(steps), (None, (-1, -1))]:
            # outside all steps: what is before the first and after the last
            outside = [*range(steps[0][0]), *range(steps[-1][1], 60)]
            instants = outside if number is None else range(ts, end)
            for category in COPIES:
                running = [
                    instant for instant in instants if any(a == category and t <= instant < t + d for a, t, d in each)
                ]
                overlapped = sum(is_computing(each, instant) for instant in running)
                exposed = sum(category_at(each, instant) == category for instant in running)
                busy = len(running)
                if busy:
                    wanted.append((device, number, category, busy, overlapped, busy - overlapped - exposed, exposed))
    assert sorted(rows, key=str) == sorted(wanted, key=str)
    copies = [one for one in slices if one[2] in COPIES]
    assert connection.execute("select coalesce(sum(copies), 0), coalesce(sum(dur), 0) from copy_total").fetchone() == (
        len(copies),
        sum(dur for *_, dur in copies),
    )


ROUND_TRIPS = st.lists(
    # direction, when it is asked for, how long it takes, bytes, step
    st.tuples(
        st.sampled_from(("h2d", "d2h")), TIME, st.integers(1, 8), st.sampled_from((8, 64)), st.sampled_from((0, 1))
    ),
    min_size=1,
    max_size=14,
)


def match_copies(copies):
    """Return h2d copy -> d2h copy, both by number, played back one event after the other."""
    events = []
    for number, (direction, launched, dur, size, step) in enumerate(copies):
        at = launched + 1 + dur if direction == "d2h" else launched
        events.append((at, direction != "d2h", number, (size, step)))
    waiting, found = {}, {}
    for _, asks, number, key in sorted(events):
        queue = waiting.setdefault(key, [])
        if not asks:
            queue.append(number)
        elif queue:
            found[number] = queue.pop(0)
    return found


@a_hundred
@given(devices=worlds(ROUND_TRIPS))
def test_bytes_that_come_back_are_those_the_oracle_pairs(devices):
    connection = empty_tables()
    copies = [(device, number, *each) for device, of_one in enumerate(devices) for number, each in enumerate(of_one)]
    insert(
        connection,
        "cpu_slice",
        "thread_id dur kind name slice_id ts",
        [
            (0, 1, "runtime", "cudaMemcpyAsync", 1000 + 100 * device + number, launched)
            for device, number, _, launched, *_ in copies
        ],
    )
    insert(
        connection,
        "gpu_slice",
        "kind name is_communication device slice_id launch_id ts copy_kind dur bytes step",
        [
            ("memcpy", "Memcpy", False, device, 100 * device + number, 1000 + 100 * device + number, ts + 1, *rest)
            for device, number, direction, ts, *numbers in copies
            for rest in [(direction, *numbers)]
        ],
    )
    run(connection, ("copy_call", "copy_return"), AnalysisState(1))
    assert dict(connection.execute("from _copy_return").fetchall()) == {
        100 * device + back: 100 * device + gone
        for device, of_one in enumerate(devices)
        for back, gone in match_copies(of_one).items()
    }
