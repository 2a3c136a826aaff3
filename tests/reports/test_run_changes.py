"""The words on where the steps of a run changed."""

from __future__ import annotations

from msgspec.structs import replace

from traceq.reports.document import Items, Paragraph
from traceq.reports.sections.run_changes import describe_changes, say_change
from traceq.runs.run_change import RunChange

S = 1_000_000_000
MONDAY = 1_767_621_900 * S  # 2026-01-05 14:05 UTC

LEVEL = RunChange(
    0, "step_time", "level", 1, 4_310, 4_290, 4_330, MONDAY, None, None, None, None, None, 1.234 * S, 1.334 * S, "ns",
    1.081, 1.074, 1.089, is_local=False,
)  # fmt: skip
WINDOW = replace(
    LEVEL,
    kind="window",
    until_attempt=1,
    until_step=5_019,
    until_low=5_010,
    until_high=5_025,
    until_at_ns=MONDAY + 900 * S,
)
SLOPE = replace(WINDOW, kind="slope", step_low=None, step_high=None, until_low=None, until_high=None)


def test_a_level_says_since_when_and_how_much_with_bounds():
    assert say_change(LEVEL) == (
        "Since step 4,310 (4,290 to 4,330), Mon 2026-01-05 14:05 UTC: 8.1 % slower (7.4 to 8.9 %), 1.234 s to 1.334 s."
    )


def test_a_window_says_until_when_and_what_it_cost():
    assert say_change(WINDOW) == (
        "From step 4,310 (4,290 to 4,330), Mon 2026-01-05 14:05 UTC until step 5,019 (5,010 to 5,025), Mon 2026-01-05 14:20 UTC:"
        " 8.1 % slower (7.4 to 8.9 %), 1.234 s to 1.334 s; that cost 1 min 11 s."
    )


def test_a_slope_has_no_bounds_of_steps():
    assert say_change(SLOPE) == (
        "From step 4,310, Mon 2026-01-05 14:05 UTC to step 5,019, Mon 2026-01-05 14:20 UTC: steadily 8.1 % slower (7.4 to 8.9 %)"
        " in all, 1.234 s to 1.334 s."
    )


def test_without_times_and_of_a_zone_that_is_not_known():
    assert say_change(replace(LEVEL, at_ns=None)).startswith("Since step 4,310 (4,290 to 4,330): ")
    assert say_change(replace(LEVEL, is_local=True)).startswith(
        "Since step 4,310 (4,290 to 4,330), Mon 2026-01-05 14:05: "
    )


def test_faster_less_throughput_and_more_memory():
    faster = replace(LEVEL, before=2.0 * S, after=1.8 * S, ratio=0.9, ratio_low=0.88, ratio_high=0.92)
    assert say_change(faster).endswith(": 10.0 % faster (8.0 to 12.0 %), 2.000 s to 1.800 s.")
    rate = replace(faster, quantity="throughput", unit="tokens/s", before=1_000.0, after=900.0)
    assert say_change(rate).endswith(": 10.0 % less throughput (8.0 to 12.0 %), 1,000 tokens/s to 900 tokens/s.")
    memory = replace(LEVEL, quantity="memory", unit="bytes", before=60 * 2.0**30, after=66 * 2.0**30)
    assert say_change(memory).endswith(": 8.1 % more memory (7.4 to 8.9 %), 60.0 GiB to 66.0 GiB.")


def test_an_interval_with_both_signs():
    unsure = replace(LEVEL, ratio=1.02, ratio_low=0.995, ratio_high=1.046)
    assert "2.0 % slower (-0.5 % to +4.6 %)" in say_change(unsure)


def test_attempts_are_named_where_there_are_several():
    later = replace(WINDOW, until_attempt=2, until_step=4_300, until_low=4_290, until_high=4_310)
    (items,) = describe_changes([later])
    ((text,),) = items.items
    assert "step 4,310 of attempt 1 (4,290 to 4,330)" in text
    assert "until step 4,300 of attempt 2 (4,290 to 4,310)" in text
    # steps between two attempts cannot be counted by their numbers
    assert "cost" not in text


def test_throughput_that_changes_with_the_step_is_said_once():
    mirrored = replace(WINDOW, quantity="throughput", unit="tokens/s", before=1_081.0, after=1_000.0, ratio=1 / 1.08)
    assert list(describe_changes([WINDOW, mirrored])) == [Items(((say_change(WINDOW),),))]
    elsewhere = replace(mirrored, step=9_000, step_low=8_990, step_high=9_010)
    assert len(next(describe_changes([WINDOW, elsewhere])).items) == 2


def test_of_many_changes_the_first_are_said_and_the_rest_counted():
    many = [replace(LEVEL, step=step, step_low=step, step_high=step) for step in range(100, 1_100, 100)]
    items, more = describe_changes(many, most=3)
    assert (len(items.items), more) == (3, Paragraph(("7 more changes: table run_change.",)))
    assert list(describe_changes([])) == []
