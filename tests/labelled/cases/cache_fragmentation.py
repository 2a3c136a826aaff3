from __future__ import annotations

from labelled.memory_history import events, segment

MIB = 1 << 20
BLOCKS = f"{500 * MIB} {500 * MIB} used main\n{500 * MIB} 0 free -"


def history(trace, second):
    """Two segments of 500 MiB; the second is asked for while `second` MiB are in use, and filled by half."""
    events(
        trace,
        f"""
        1 + 0 {500 * MIB} main
        2 alloc 0 {second * MIB} main
        3 + {500 * MIB} {500 * MIB} main
        4 alloc {500 * MIB} {500 * MIB} main
        """,
    )


def found(trace):
    """200 MiB in pieces of the first segment fit nothing."""
    history(trace, second=200)
    segment(trace, 0, 0, f"{200 * MIB} {200 * MIB} used main\n{300 * MIB} 0 free -")
    segment(trace, 1, 500 * MIB, f"{500 * MIB} {500 * MIB} used main")


def found_with_expandable_segments(trace):
    history(trace, second=200)
    segment(trace, 0, 0, f"{200 * MIB} {200 * MIB} used main\n{300 * MIB} 0 free -", is_expandable=True, pool="1.0")
    segment(trace, 1, 500 * MIB, f"{500 * MIB} {500 * MIB} used main")


def clean(trace):
    """Most of the first segment is used when the second is asked for."""
    history(trace, second=450)
    segment(trace, 0, 0, f"{450 * MIB} {450 * MIB} used main\n{50 * MIB} 0 free -")
    segment(trace, 1, 500 * MIB, f"{500 * MIB} {500 * MIB} used main")


def clean_cache(trace):
    """Full once, and empty at the end: that is a cache."""
    events(trace, f"1 + 0 {500 * MIB} main\n2 alloc 0 {500 * MIB} main\n3 gone 0 {500 * MIB} main")
    segment(trace, 0, 0, f"{500 * MIB} 0 free -")


def cannot_tell(trace):
    """More is in use than is reserved."""
    events(trace, f"1 alloc {4 << 40} {900 * MIB} main")
    segment(trace, 0, 0, BLOCKS.splitlines()[0])
