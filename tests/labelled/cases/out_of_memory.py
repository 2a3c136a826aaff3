from __future__ import annotations

from labelled.memory_history import events, segment

MIB = 1 << 20

# Two segments of 500 MiB of the four that the device has, and what is there at the end, as nothing comes after the failure.
HALF = f"{200 * MIB} {200 * MIB} used forward\n{300 * MIB} 0 free -"
FULL = f"{500 * MIB} {500 * MIB} used init"


def history(trace, asked, free, second=500, after=""):
    """400 or 700 MiB in use, and a request that fails while `free` MiB are left."""
    events(
        trace,
        f"""
        1 + 0 {500 * MIB} main
        2 alloc 0 {200 * MIB} forward
        3 + {500 * MIB} {500 * MIB} main
        4 alloc {500 * MIB} {second * MIB} init
        9 oom {free * MIB} {asked * MIB} loss
        {after}
        """,
    )


def held(trace, first=HALF, second=FULL, **more):
    segment(trace, 0, 0, first, **more)
    segment(trace, 1, 500 * MIB, second, **more)


def found_fragmented(trace):
    """300 MiB idle in one piece, 400 asked for and 200 free: with segments that grow it would have fitted."""
    history(trace, asked=400, free=200)
    held(trace)


def found_fragmented_with_expandable_segments(trace):
    history(trace, asked=400, free=200)
    held(trace, is_expandable=True)


def found_fragmented_before_a_release(trace):
    """The snapshot was taken after a tensor had been released: what lay idle before can be told."""
    history(trace, asked=400, free=200, after=f"10 gone 0 {200 * MIB} main")
    held(trace, first=f"{500 * MIB} 0 free -")


def found_full(trace):
    """300 MiB idle would not have helped."""
    history(trace, asked=900, free=200)
    held(trace)


def found_full_of_older_memory(trace):
    """Nearly all was allocated before the history."""
    events(trace, f"9 oom {100 * MIB} {200 * MIB} -")
    segment(trace, 0, 0, f"{900 * MIB} {900 * MIB} used -")


def found_on_a_gpu_of_others(trace):
    """The GPU has 4,000 MiB, of which this process and what is free are 1,200."""
    trace.add("device", device=0, name="GPU", source="trace", memory_bytes=4000 * MIB)
    history(trace, asked=900, free=200)
    held(trace)


def found_for_another_stream(trace):
    """The idle memory belongs to another stream."""
    history(trace, asked=400, free=200)
    held(trace, stream=7)


def found_by_a_limit(trace):
    """The device had enough."""
    history(trace, asked=400, free=3000)
    held(trace)


def found_with_two_devices(trace):
    history(trace, asked=900, free=200)
    events(trace, f"7 oom {2 * MIB} {12 * MIB} main\n8 oom {2 * MIB} {12 * MIB} main", device=1)
    held(trace)


def found_without_times(trace):
    events(trace, f"- + 0 {500 * MIB} main\n- alloc 0 {200 * MIB} forward\n- oom {200 * MIB} {400 * MIB} main")
    segment(trace, 0, 0, HALF)


def found_where_segments_contradict_events(trace):
    """More is in use than is reserved: what lay idle is not known."""
    events(trace, f"1 alloc {4 << 40} {900 * MIB} main\n2 oom {2 * MIB} {12 * MIB} main")
    segment(trace, 0, 0, FULL)


def clean(trace):
    """The device is as full, and no allocation failed."""
    events(trace, f"1 + 0 {500 * MIB} main\n2 alloc 0 {200 * MIB} forward")
    segment(trace, 0, 0, HALF)


def cannot_tell(trace):
    trace.kernel("gemm", 10, 20, launched=(2, 5))
