"""The words, pictures and JSON of a comparison, whatever the trace calls things."""

from __future__ import annotations

import json
import re

import pytest
from handmade_runs import MS, item, noisy, run
from msgspec.structs import replace

from traceq.analysis.categories import in_words
from traceq.common.units import change, change_share
from traceq.reports.charts import waterfall
from traceq.reports.comparison.comparison import compose_comparison
from traceq.reports.drawing import Rect
from traceq.reports.renderers.comparison_to_json import comparison_to_json
from traceq.reports.renderers.to_html import html_of
from traceq.reports.renderers.to_markdown import blocks_to_markdown
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.compare.compare import compare
from traceq.runs.compare.comparison import Cause
from traceq.runs.compare.known_noise import KnownNoise

pytestmark = pytest.mark.usefixtures("fewer_draws")

NONE = KnownNoise(0)
EVIL = "]]> <script>alert(1)</script>&amp;\x00\x1b[31m\u202e\ufffe \"'`|\n@octocat ${{ github.token }} " + "x" * 100_000


def text(comparison, top=10, width=100):
    return blocks_to_text(compose_comparison(comparison, top), width, colour=False)


def made(**facts):
    """Steps that do not differ, so that no random number is in the text."""
    base = run(
        *[100 * MS] * 12,
        name="base.json",
        ledger={"idle_data": 20 * MS},
        items=[
            item("void gemm<128>(float*)", 60 * MS, 3, shape="8x1x1 of 256x1x1", operator="aten::mm", steps=12),
            item("cudnn_conv", 10 * MS, 1, operator="aten::conv2d", steps=12),
            item("gone", 5 * MS, 1, steps=12),
            item("enumerate(DataLoader)#_Single.__next__", 20 * MS, 1, category="idle_data", steps=12),
        ],
    )
    after = run(
        *[110 * MS] * 12,
        name="new.json",
        ledger={"idle_data": 25 * MS},
        items=[
            item("void gemm<128>(float*)", 62 * MS, 3, shape="8x1x1 of 256x1x1", operator="aten::mm", steps=12),
            item("cublas_conv", 13 * MS, 2, operator="aten::conv2d", steps=12),
            item("enumerate(DataLoader)#_Single.__next__", 25 * MS, 1, category="idle_data", steps=12),
        ],
        **facts,
    )
    return [base], [after]


def test_a_regression_in_text(golden):
    golden.check("regression.txt", text(compare(*made(), noise=NONE)))


def test_a_regression_in_a_narrow_terminal():
    lines = text(compare(*made(), noise=NONE), width=60).splitlines()
    words = [line for line in lines if not line.startswith(("-", "=")) and "  " not in line]
    assert all(len(line) <= 60 for line in words)


def test_without_a_verdict_the_reason_stands_first(golden):
    golden.check(
        "other_gpu.md",
        blocks_to_markdown(compose_comparison(compare(*made(device_name="NVIDIA A100"), noise=NONE), 10)),
    )


@pytest.mark.parametrize(
    ("verdict", "box"),
    [
        ("regression", "problem"),
        ("likely regression", "look-into"),
        ("cannot tell", "cannot-tell"),
        ("no change", "healthy"),
        ("likely improvement", "healthy"),
    ],
)
def test_the_box_of_a_verdict_is_what_the_verdict_says(verdict, box):
    """A red box "To fix" stood around "Cannot tell" (D16)."""
    page = html_of(compose_comparison(replace(compare(*made(), noise=NONE), verdict=verdict), 10))
    assert re.findall(r'<section class="verdict ([\w-]+)"', page) == [box]
    assert "To fix" not in page


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        ({"device_name": "NVIDIA A100"}, "traceq compare 'of base.duckdb' new.json --anyway"),
        ({}, "traceq record --skip 50 --steps 20 -- PROGRAM"),
    ],
)
def test_without_a_verdict_the_command_that_would_give_one_is_printed(facts, command):
    (base,), new = made(**facts)
    found = compare([replace(base, source="of base.duckdb")], new, noise=NONE)
    lines = text(replace(found, verdict="cannot tell")).splitlines()
    assert any(line.endswith(command) for line in lines)


def test_a_comparison_has_headings_as_a_report_has():
    """Titles were underlined with =, which those of the report are not (D31)."""
    assert "===" not in text(compare(*made(), noise=NONE))


def test_a_copy_that_became_pinned_is_said_to_be_the_same():
    def copying(ms, shape, name):
        return run(
            *[(20 + ms) * MS] * 12,
            ledger={"copy_h2d": ms * MS},
            items=[item("h2d", ms * MS, 1, category="copy_h2d", shape=shape, steps=12)],
            name=name,
        )

    words = text(compare([copying(40, "4096 B pageable", "a")], [copying(10, "4096 B", "b")], noise=NONE))
    assert "mostly h2d: the same copy, pinned memory now, -30.00 ms." in " ".join(words.split())
    assert "the same copy, pageable memory now" in text(
        compare([copying(10, "4096 B", "a")], [copying(40, "4096 B pageable", "b")], noise=NONE)
    )
    assert "other launch shape or size" not in words


def test_why_steps_were_left_out_is_said():
    steps = run(*[100 * MS] * 14, name="a").steps
    left = {0: "warm-up: leading step", 1: "warm-up: leading step", 13: "incomplete: the last step"}
    base = replace(run(name="a"), steps=tuple(replace(step, excluded=left.get(step.step)) for step in steps))
    remarks = compare([base], [run(*[100 * MS] * 12, name="b")]).remarks
    assert "base: 2 steps left out (warm-up: leading step)" in remarks
    assert "base: 1 step left out (incomplete: the last step)" in remarks


def test_where_the_mean_says_otherwise_it_is_said():
    durations = noisy(100 * MS, 40, 0.005, 2)
    slow = [round(1.2 * dur) if number % 5 == 4 else dur for number, dur in enumerate(durations)]
    words = " ".join(text(compare([run(*noisy(100 * MS, 40, 0.005, 1), name="a")], [run(*slow, name="b")])).split())
    assert "The mean of all steps changed, but the other did not: +3.9" in words
    assert "--by mean shows what they are made of." in words


def test_the_box_on_a_page_is_that_of_the_verdict():
    base, slower = [run(*noisy(100 * MS), name="a.json")], [run(*noisy(110 * MS), name="b.json")]
    cases = {
        "problem": compare(base, slower),
        "healthy": compare(slower, base),
        "cannot-tell": compare(base, [run(*noisy(110 * MS), name="c.json", device_name="NVIDIA A100")]),
    }
    for outcome, found in cases.items():
        page = html_of(compose_comparison(found, 10))
        assert f'class="verdict {outcome}"' in page, found.verdict
        assert "To fix" not in page
        assert re.search(r'class="outcome">\s*Against the base', page)


@pytest.mark.parametrize(
    "sides",
    [
        pytest.param(([], []), id="nothing"),
        pytest.param(([run(5, name="a")], []), id="no new"),
        pytest.param(([run(0, 0, 0, name="a")], [run(0, 0, name="b")]), id="steps of 0 ns"),
        pytest.param(([run(*[0] * 9, name="a")], [run(*[5] * 9, name="b")]), id="from 0 ns"),
        pytest.param(([run(*[5] * 9, name="a")], [run(*[0] * 9, name="b")]), id="to 0 ns"),
        pytest.param(([run(2**61, 2**61, name="a")], [run(1, 1, name="b")]), id="centuries"),
        pytest.param(([run(5, name="a")], [run(5, name="a")]), id="the same"),
        pytest.param(([run(*[9] * 9, ledger={}, name="a")], [run(*[12] * 9, ledger={}, name="b")]), id="no ledger"),
        pytest.param(
            ([run(*[9] * 9, ledger={"memset": 30}, name="a")], [run(*[8] * 9, name="b")]), id="crooked ledger"
        ),
    ],
)
def test_every_format_can_say_it(sides):
    found = compare(*sides)
    assert text(found)
    assert blocks_to_markdown(compose_comparison(found, 1))
    assert html_of(compose_comparison(found, 1, draws=True))
    assert json.loads(comparison_to_json(found))["verdict"] == found.verdict


@pytest.fixture(scope="module")
def hostile():
    """A name of its own for everything that a trace may name."""
    facts = {
        "file": EVIL,
        "source": EVIL,
        "device_name": EVIL,
        "producer": EVIL,
        "producer_version": EVIL,
        "settings": {"nccl_version": EVIL},
        "payload": {"samples": 5.0},
        "lost": (EVIL,),
    }
    base = run(
        *noisy(100 * MS),
        900 * MS,
        ledger={"idle_python": 6 * MS},
        items=[
            item(EVIL, 50 * MS, steps=31, shape=EVIL, operator=EVIL, phase=EVIL),
            item(EVIL, 5 * MS, steps=31, category="idle_python"),
        ],
        names=EVIL[:100].replace("{", "").replace("}", "") + "{}",
        shapes={EVIL: {"[[1]]": 5}},
        **facts,
    )
    new = run(
        *noisy(120 * MS),
        ledger={"idle_python": 16 * MS},
        items=[item(EVIL + "y", 50 * MS, steps=30, operator=EVIL)],
        shapes={EVIL: {EVIL: 5}},
        **facts | {"device_name": EVIL + "y", "settings": {"nccl_version": "2"}},
    )
    return compare([base], [new], anyway=True)


@pytest.mark.parametrize(
    "rendered",
    [
        pytest.param(text, id="text"),
        pytest.param(lambda found: blocks_to_markdown(compose_comparison(found, 10)), id="md"),
        pytest.param(lambda found: html_of(compose_comparison(found, 10, draws=True)), id="html"),
    ],
)
def test_names_are_shown_as_text_and_cut(hostile, rendered):
    page = rendered(hostile)
    assert not {"\x00", "\x1b", "\u202e", "\ufffe"} & set(page)
    assert "x" * 1000 not in page
    assert len(page) < 200_000
    assert page == rendered(hostile)


def test_no_name_becomes_markup(hostile):
    assert "<script>alert" not in html_of(compose_comparison(hostile, 10, draws=True))
    outside_of_code = re.sub(r"(`+).*?\1", "", blocks_to_markdown(compose_comparison(hostile, 10)))
    assert "<script>" not in outside_of_code
    assert " @octocat" not in outside_of_code


def test_json_keeps_names_whole(hostile):
    content = json.loads(comparison_to_json(hostile))
    assert content["base"]["runs"][0]["device_name"] == EVIL


def test_the_picture_is_of_the_causes_that_changed():
    found = compare(*made())
    assert waterfall.has_data(found)
    assert waterfall.describe(found) == (
        "What the change of a step is made of, the largest first: compute +5.000 ms, idle: data loading +5.000 ms."
    )
    assert not waterfall.has_data(compare([run(5, name="a")], [run(5, name="b")]))


def test_the_picture_has_the_words_for_categories_of_gpu_and_host():
    names = ("host_data", "host_os", "copy_h2d")
    causes = tuple(Cause(name, 0, number * MS, number * MS, None, ()) for number, name in enumerate(names, 1))
    found = replace(compare(*made()), causes=causes)
    assert [each.label for each in waterfall._list_bars(found)] == [
        "data loading",
        "system calls",
        "copies to GPU",
        "in all",
    ]


def test_many_causes_are_drawn_as_the_largest_and_the_others():
    ledger = {f"idle_{number}": number * MS for number in range(1, 11)}
    found = compare([run(*[100 * MS] * 9, name="a")], [run(*[100 * MS] * 9, ledger=ledger, name="b")])
    bars = waterfall._list_bars(found)
    assert [each.label for each in bars][-3:] == ["idle 5", "others", "in all"]
    assert sum(each.size for each in bars[:-1]) == bars[-1].size == found.change.new_ns - found.change.base_ns
    assert all(each.interval is not None for each in bars[:-2])


@pytest.mark.parametrize("way", [1, -1])
def test_the_axis_of_the_change_has_zero_where_the_base_is(way):
    drawing = waterfall.draw(compare(*made()[::way]))
    (panel,) = drawing.panels
    assert panel.x.label == "change of a step (ms)"
    assert panel.x.low <= 0 <= panel.x.high
    bars = [mark for mark in panel.shapes if isinstance(mark, Rect)]
    assert bars[-1].x + (bars[-1].width if way < 0 else 0) == 0
    assert "from" in drawing.title


def test_rows_that_are_left_out_are_summed():
    def many(extra, name):
        items = [item(f"kernel_{chr(97 + number)}", (number + 1) * MS + extra, steps=9) for number in range(9)]
        return run(*[100 * MS + 9 * extra] * 5, *[101 * MS + 9 * extra] * 4, items=items, name=name)

    words = text(compare([many(0, "a")], [many(2 * MS, "b")]), top=2)
    assert "8 others" in words


def test_what_is_too_small_to_be_listed_is_no_new_kernel():
    base, new = made()
    others = replace(item("x", MS, steps=12), name=None)
    found = compare(base, [replace(new[0], items=(*new[0].items, others))])
    words = text(found)
    assert "not told apart" in words
    assert "1 new" not in words


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "cannot tell"), (0, "0 ns"), (1, "+1 ns"), (-1, "-1 ns"), (1_500, "+1.500 µs"), (-51_730_000, "-51.73 ms")],
)
def test_changes_have_a_sign(value, expected):
    assert change(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "cannot tell"), (0, "0.0 %"), (0.031, "+3.1 %"), (-0.5, "-50.0 %"), (1e-9, "+<0.1 %"), (-1e-9, "-<0.1 %")],
)
def test_shares_of_changes_have_a_sign(value, expected):
    assert change_share(value) == expected


def test_categories_without_words_keep_their_names():
    assert in_words("idle_data") == "data loading"
    assert in_words("idle_new") == "idle_new"
