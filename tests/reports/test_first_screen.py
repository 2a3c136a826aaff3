"""The blocks of the first screen as lines of text."""

from __future__ import annotations

from traceq.reports.document import (
    Commands,
    Ledger,
    LedgerRow,
    Literal,
    RankedFinding,
    Ranking,
    Reference,
    Title,
    Verdict,
    split_code,
)
from traceq.reports.renderers.to_text import blocks_to_text

VERDICT = Verdict(
    ("Fix first: ", "Load batches in worker processes"),
    "problem",
    beside="high confidence",
    lines=(("177.6 ms -> 122.3 ms per step",), (Literal("DataLoader(num_workers=2)"),)),
)
LEDGER = Ledger(
    ("Where a step goes, GPU 0",),
    "177.6 ms per step",
    (
        LedgerRow("compute", "compute", 0.5, "88.80 ms"),
        LedgerRow("idle: data loading", "idle_data", 0.4996, "88.73 ms", (Reference("F1"), Reference("F2"))),
        LedgerRow("other", "other", 0.0004, "71.04 µs"),
    ),
)
RANKING = Ranking(
    (
        RankedFinding(
            Reference("F1"), Title("Load batches"), "55.32 ms", "31.2 %", "1.45x", "high", split_code("Use `workers`")
        ),
        RankedFinding(
            Reference("F2"), Title("Launch less often: " + "word " * 9), "2.2 ms", "1.3 %", "1.5x", "medium", ("Deed",)
        ),
    ),
    "step",
)


def lines(block, width=80):
    return blocks_to_text([block], width)


def test_a_verdict_has_its_confidence_at_the_end_of_the_line():
    assert (
        lines(VERDICT)
        == """\
Fix first: Load batches in worker processes                      high confidence
  177.6 ms -> 122.3 ms per step
  DataLoader(num_workers=2)
"""
    )


def test_where_there_is_no_room_the_confidence_has_a_line():
    assert lines(VERDICT, 46).splitlines()[:2] == ["Fix first: Load batches in worker processes", "  high confidence"]


def test_ledger_bars_have_one_scale_and_name_the_findings_that_own_them():
    assert (
        lines(LEDGER)
        == """\
Where a step goes, GPU 0                                       177.6 ms per step
  compute             ██████████████▌                 50.0 %  88.80 ms
  idle: data loading  ██████████████▌                 50.0 %  88.73 ms  <- F1 F2
  other               ▏                              < 0.1 %  71.04 µs
"""
    )


def test_a_narrow_ledger_keeps_its_numbers():
    assert (
        lines(LEDGER, 50)
        == """\
Where a step goes, GPU 0         177.6 ms per step
  compute              50.0 %  88.80 ms
  idle: data loading   50.0 %  88.73 ms  <- F1 F2
  other               < 0.1 %  71.04 µs
"""
    )


def test_a_ranking_has_a_line_of_numbers_and_one_of_deeds_for_each_finding():
    assert (
        lines(RANKING)
        == """\
What to fix                                saves   share  cumulative  confidence
F1 Load batches                         55.32 ms  31.2 %       1.45x  high
   Use workers
F2 Launch less often: word word word
   word word word word word word          2.2 ms   1.3 %        1.5x  medium
   Deed
"""
    )


def test_a_narrow_ranking_has_a_line_for_each_part():
    assert lines(RANKING, 44).splitlines()[:4] == [
        "What to fix",
        "F1 Load batches",
        "   55.32 ms (31.2 %), high confidence",
        "   Use workers",
    ]


def test_commands_are_never_cut():
    command = "traceq report " + "x" * 200
    assert lines(Commands("Next", (("evidence", command),)), 60) == f"Next:\n  evidence  {command}\n"


def test_a_long_path_stands_once_where_commands_would_be_wider_than_the_page():
    path = "'/home/me/it is/" + "x" * 60 + "'"
    rows = (("evidence", f"traceq report {path} -v"), ("the page", f"traceq report {path} -o report.html"))
    assert blocks_to_text([Commands("Next", rows)], 60, source=path) == (
        f"Next:\n  TRACE={path}\n"
        '  evidence  traceq report "$TRACE" -v\n'
        '  the page  traceq report "$TRACE" -o report.html\n'
    )
    assert path in blocks_to_text([Commands("Next", rows)], 130, source=path).splitlines()[1]


def test_a_deed_takes_at_most_two_lines():
    row = RankedFinding(Reference("F1"), Title("T"), "1 ms", "1 %", "1x", "low", ("word " * 100,))
    assert len(lines(Ranking((row,), "step")).splitlines()) == 4
