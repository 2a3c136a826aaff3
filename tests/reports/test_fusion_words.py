"""What reports say of sequences of memory-bound kernels that one kernel could replace."""

from __future__ import annotations

from msgspec.structs import replace
from test_loads import lines_of, with_topics

from traceq.reports.sections.fusion import list_fusions, shorten_sequence
from traceq.reports.topics.kernels import FusionCandidate

MIB = 1 << 20


def fusions_of(*candidates):
    trace = with_topics(kernels={"fusion": candidates})
    return lines_of(list_fusions(replace(trace, queries={**trace.queries, "fusion": "Q"})))


def test_sequences_with_what_would_not_move():
    bounded = FusionCandidate("mul → add → silu", 3, 40, 120, 9_000_000, 64 * MIB, 128 * MIB, 1_000_000, 2_000_000)
    unknown = FusionCandidate("exp → sum", 2, 20, 40, 4_000_000, None, None, None, None)
    rows = {line.split("  ")[0]: line.split() for line in fusions_of(bounded, unknown)}
    assert " ".join(rows["mul → add → silu"]).endswith("120 9.000 ms 64 MiB to 128 MiB 1.000 ms to 2.000 ms")
    assert rows["exp → sum"][-2:] == ["-", "-"]


def test_without_shapes_the_report_says_so():
    unknown = FusionCandidate("exp → sum", 2, 20, 40, 4_000_000, None, None, None, None)
    assert "What would not move: cannot tell, because the trace lacks shapes" in " ".join(fusions_of(unknown))
    assert fusions_of() == []


def test_long_sequences_are_cut():
    assert shorten_sequence("a → b → c → d → e → f → g") == "a → b → c → d → e → f → g"
    assert shorten_sequence("a → b → c → d → e → f → g → h") == "a → b → c → d → e → f → 2 more"
