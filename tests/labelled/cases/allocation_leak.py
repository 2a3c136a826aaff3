from __future__ import annotations

from labelled.memory_history import events, segment

MIB = 1 << 20


def rounds(trace, count, kept, lines=""):
    """Rounds of forward and backward; of the memory of `kept(round)` bytes that main() asks for nothing is freed."""
    text = [f"0 alloc 1 {MIB} init"]
    for number in range(count):
        at = 10 * (number + 1)
        text += [
            f"{at} alloc 2 {MIB} forward",
            f"{at + 1} gone 2 {MIB} backward",
            f"{at + 2} alloc 3 {MIB} zero",
            f"{at + 2} gone 3 {MIB} zero",
        ]
        if kept(number):
            text.append(f"{at + 1} alloc {100 + number} {kept(number)} main")
            segment(trace, number, 100 + number, f"{kept(number)} {kept(number)} used main")
    events(trace, "\n".join(text) + lines)


def found(trace):
    """4 MiB of each round are kept."""
    rounds(trace, 6, lambda _: 4 * MIB)


def found_in_marked_steps(trace):
    """Marks tell the steps, where stacks do not."""
    text = []
    for step in range(5):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.kernel("gemm", 1000 * step + 10, 900, launched=(1000 * step + 1, 5))
        text.append(f"{1000 * step + 500} alloc {100 + step} {2 * MIB} main")
        segment(trace, step, 100 + step, f"{2 * MIB} {2 * MIB} used main")
    events(trace, "\n".join(text))


def clean(trace):
    """Kept in the first rounds only: a cache that is full."""
    rounds(trace, 8, lambda number: 4 * MIB * (number < 3))


def clean_small(trace):
    """A few numbers of each round."""
    rounds(trace, 6, lambda _: 512)


def clean_model(trace):
    """Many layers are made at once, and kept: not one a round."""
    rounds(trace, 6, lambda _: 0, "\n" + "\n".join(f"90 alloc {number} {4 * MIB} main" for number in range(200, 206)))


def cannot_tell(trace):
    """Two rounds are no trend."""
    rounds(trace, 2, lambda _: 4 * MIB)


def cannot_tell_rounds(trace):
    """Nothing tells steps apart."""
    events(trace, "\n".join(f"{number} alloc {number} {4 * MIB} main" for number in range(6)))
