"""What is said of a what-if: likely, bounds only, nothing, longer, cannot tell; and it fits a terminal."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from traceq.reports.renderers.to_html import html_of
from traceq.reports.renderers.to_markdown import blocks_to_markdown
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.renderers.whatif_to_json import answer_to_json, choices_to_json
from traceq.reports.whatif.answer import Asked, Choices, Saved, TimePart, WhatIfAnswer, WhatIfChoice
from traceq.reports.whatif.words import compose_answer, compose_choices

MS = 1_000_000.0
HOSTILE = '<script>alert("|`\x1b[31m\n\u202e' + "x" * 10_000

LEDGER = {"compute": 120, "idle_data": 50, "copy_h2d": 20, "idle_launch": 20, "idle_sync": 2}


def parts(**times):
    return tuple(TimePart(name, dur * MS) for name, dur in times.items())


@pytest.fixture
def likely():
    return WhatIfAnswer(
        trace_id=1,
        file="rank0.json.gz",
        rank=0,
        asked=(Asked("remove", "idle_data"), Asked("scale", "kernel:*flash*", 0.5)),
        steps=12,
        recorded_ns=212 * MS,
        replayed_ns=212.4 * MS,
        after_ns=162.4 * MS,
        saved=Saved(44 * MS, 50 * MS, 52 * MS),
        error_share=0.008,
        unexplained_share=0.011,
        reason=None,
        limits=parts(compute=118, idle_launch=24, copy_h2d=20, idle_sync=0.4),
        ledger=parts(**LEDGER),
    )


@pytest.fixture
def bounds(likely):
    why = "replayed steps are 4.1 % off, more than the 3 % up to which a likely saving is told"
    return replace(likely, saved=Saved(0.0, None, 50 * MS), error_share=0.041, reason=why)


def verdict(found):
    return blocks_to_text(compose_answer(found)).splitlines()[2]


def test_golden(likely, bounds, golden):
    golden.check("whatif.txt", "\n".join(blocks_to_text(compose_answer(each)) for each in (likely, bounds)))


def test_an_answer_fits_a_terminal(likely, bounds):
    everything = replace(bounds, limits=parts(**LEDGER), ledger=parts(**LEDGER))
    for found in (likely, bounds, everything):
        lines = blocks_to_text(compose_answer(found)).splitlines()
        assert len(lines) <= 25
        assert max(map(len, lines)) <= 100


def test_a_step_that_would_be_longer(likely):
    found = replace(likely, saved=Saved(-60 * MS, -50 * MS, -40 * MS), after_ns=262.4 * MS)
    assert verdict(found) == "The step would be 50.00 ms (23.5 %) longer: 262.4 ms instead of 212.4 ms."


def test_bounds_alone_are_no_likely_saving(bounds):
    assert verdict(bounds) == "The step would be at most 50.00 ms shorter."
    assert json.loads(answer_to_json(bounds))["saved_ns"] is None


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        (Saved(0, 0, 0), "The step would last as long as it does."),
        (Saved(0, 1_000, 9 * MS), "The step would hardly change; at most it would be 9.000 ms shorter."),
    ],
)
def test_a_change_that_wins_nothing(likely, saved, said):
    assert verdict(replace(likely, saved=saved)) == said


def test_what_cannot_be_told_is_not_0(likely):
    unknown = replace(
        likely,
        replayed_ns=None,
        after_ns=None,
        saved=None,
        error_share=None,
        unexplained_share=None,
        reason="the trace has no steps with GPU work",
        limits=(),
    )
    assert verdict(unknown) == "Cannot tell: the trace has no steps with GPU work."
    content = json.loads(answer_to_json(unknown))
    assert [content[key] for key in ("saved_low_ns", "saved_ns", "saved_high_ns", "after_ns")] == [None] * 4
    assert content["amdahl"][0] == {"category": "compute", "dur_ns": 120 * MS, "step_without_ns": 92 * MS}


def test_json_says_all_of_it(likely):
    content = json.loads(answer_to_json(likely))
    assert content["asked"][1] == {"kind": "scale", "what": "kernel:*flash*", "factor": 0.5}
    assert (content["replayed_ns"], content["after_ns"], content["saved_ns"]) == (212.4 * MS, 162.4 * MS, 50 * MS)
    assert len(content["amdahl"]) == len(LEDGER)
    assert content["limits"][0] == {"name": "compute", "dur_ns": 118 * MS}


@pytest.mark.parametrize(
    "show", [blocks_to_text, blocks_to_markdown, html_of, lambda blocks: blocks_to_text(blocks, 40)]
)
def test_hostile_names(likely, show):
    text = show(compose_answer(replace(likely, file=HOSTILE, asked=(Asked("remove", f"host:{HOSTILE}"),))))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script>alert" not in text or show is not html_of


def test_choices_are_a_table_of_what_the_trace_has():
    found = Choices(
        1,
        "a.json",
        None,
        3,
        10 * MS,
        (
            WhatIfChoice(("--remove", "--scale"), "compute", "kernels", 7 * MS),
            WhatIfChoice(("--graph",), "", "at once"),
        ),
    )
    lines = blocks_to_text(compose_choices(found)).splitlines()
    assert lines[4].split() == ["what", "per", "step", "options", "meaning"]
    assert lines[6].split() == ["compute", "7.000", "ms", "--remove", "--scale", "kernels"]
    assert json.loads(choices_to_json(found))["choices"][0]["options"] == ["--remove", "--scale"]
    nothing = blocks_to_text(compose_choices(replace(found, choices=())))
    assert "Nothing can be changed: the trace has no steps that can be replayed." in nothing
