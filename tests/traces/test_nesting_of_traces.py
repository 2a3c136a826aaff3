"""What surrounds a host slice, found a second time with a plain sweep over each thread.

Ranges need not nest in everything beneath them: with Python stacks recorded, a range opens inside the frame of
`_record_function_enter_new` and outlasts it by far. What it covers is still inside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from trace_files import every_trace

SLICES = """
    select child.thread_id, child.ts, child.dur, child.kind, around.ts, around.dur
    from cpu_slice as child left join cpu_slice as around on around.slice_id = child.{}
    where child.depth is not null order by child.thread_id, child.ts, child.dur desc
"""


class Slice(NamedTuple):
    thread: int
    ts: int
    dur: int
    kind: str
    # The slice said to be around this one.
    around_ts: int | None
    around_dur: int | None

    @property
    def end(self) -> int:
        return self.ts + self.dur


@every_trace
@pytest.mark.parametrize(("kind", "column"), [("annotation", "annotation_id"), ("op", "operator_id")])
def test_a_slice_names_the_innermost_one_that_covers_it(path, kind, column, databases):
    slices = [Slice(*row) for row in databases(path).execute(SLICES.format(column)).fetchall()]
    wrong = [
        (found, covering) for found, covering in with_innermost(slices, kind) if not has_same_name(found, covering)
    ]
    assert not wrong, f"{len(wrong)} of {len(slices)} slices do not name what covers them, e.g. {wrong[:2]}"


def with_innermost(slices: list[Slice], kind: str) -> Iterator[tuple[Slice, Slice]]:
    """Each slice with the last opened one of the kind around it, where that one covers all of it.

    A slice that outlasts the one it starts in (whole microseconds) is left out, and so is one of the same extent.
    """
    thread, still_open = None, []
    for found in slices:
        still_open = [each for each in still_open if each.end > found.ts] if found.thread == thread else []
        thread = found.thread
        if still_open and still_open[-1].end >= found.end and still_open[-1][:3] != found[:3]:
            yield found, still_open[-1]
        if found.kind == kind:
            still_open.append(found)


def has_same_name(found: Slice, covering: Slice) -> bool:
    return (found.around_ts, found.around_dur) == (covering.ts, covering.dur)
