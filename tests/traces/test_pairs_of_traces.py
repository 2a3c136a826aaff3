"""Pairs of real traces: the verdict that an expert would give (docs/blind/pairs.md), and no false word beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from trace_files import SHARED, TRACES

from traceq.reports.comparison.comparison import compose_comparison
from traceq.reports.comparison.ticket import compose_ticket
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.compare.compare import compare
from traceq.runs.compare.comparison import CHANGED, Comparison
from traceq.runs.read import read_runs

PAIRS = Path(__file__).resolve().parents[2] / "docs" / "blind" / "pairs.md"

TORCH, JUDGED3 = TRACES / "torch", SHARED / "judged3" / "torch"
BATCH_1, BATCH_2 = (SHARED / "blind" / f"batch{number}" / "torch" for number in (1, 2))
NSYS, MEGATRON = SHARED / "judged3" / "nsys", SHARED / "judged" / "torch" / "megatron_tp8"
SWITCHMOE = "switchmoe_100Kpar_{}.json.gz"
FILES = {
    1: (TORCH / "kineto_resnet50_w0.v19.pt.trace.json.gz", TORCH / "kineto_resnet50_w4.v19.pt.trace.json.gz"),
    2: (TORCH / "kineto_resnet50_w0.array.pt.trace.json.gz", TORCH / "kineto_resnet50_w4.array.pt.trace.json.gz"),
    3: (TORCH / "kineto_resnet50_w4.v19.pt.trace.json.gz", TORCH / "kineto_resnet50_w0.v19.pt.trace.json.gz"),
    4: (BATCH_1 / "kineto_resnet50_w0.v181.pt.trace.json.gz", BATCH_1 / "kineto_resnet50_w4.v181.pt.trace.json.gz"),
    5: (BATCH_2 / "kineto_autograd_api_w0.pt.trace.json.gz", BATCH_2 / "kineto_autograd_api_w4.json.gz"),
    6: (BATCH_2 / "tracelens_xdit_flux_aiter.json.gz", BATCH_2 / "tracelens_xdit_flux_sage.json.gz"),
    7: (JUDGED3 / "part_bs2.json.gz", JUDGED3 / "part_bs64.json.gz"),
    8: (JUDGED3 / "part_bs64.json.gz", JUDGED3 / "part_bs128.json.gz"),
    9: (JUDGED3 / SWITCHMOE.format("4batch_seq128"), JUDGED3 / SWITCHMOE.format("4batch_seq128_2")),
    10: (JUDGED3 / SWITCHMOE.format("4batch_seq128"), JUDGED3 / SWITCHMOE.format("8batch_seq1024")),
    11: (JUDGED3 / "part_train_bs16_win3.pt.trace.json.gz", JUDGED3 / "part_train_bs16_win4.pt.trace.json.gz"),
    12: (JUDGED3 / "part_train_bs16_win3.pt.trace.json.gz", JUDGED3 / "part_train_bs128_win2.pt.trace.json.gz"),
    13: (JUDGED3 / "hta_trace_compare_base.json.gz", JUDGED3 / "hta_trace_compare_test.json.gz"),
    14: (JUDGED3 / "tl_cmp06_conv_slow_mi300.json", JUDGED3 / "tl_cmp06_conv_fast_h100.json"),
    15: (JUDGED3 / "sglang_qwen3_30b_a3b_decode_b300.json.gz", JUDGED3 / "sglang_qwen3_30b_a3b_decode_mi300.json.gz"),
    16: (JUDGED3 / "sglang_deepseek_r1_decode_b300.json.gz", JUDGED3 / "sglang_deepseek_r1_decode_mi300.json.gz"),
    17: (JUDGED3 / "tl_bert_small_h100.json.gz", JUDGED3 / "tl_bert_small_mi300.json.gz"),
    18: (NSYS / "rodinia_gauss_orig_r2.sqlite.gz", NSYS / "rodinia_gauss_ver1_r3.sqlite"),
    19: (NSYS / "rodinia_gauss_ver1_r3.sqlite", NSYS / "rodinia_gauss_ver2_r5.sqlite"),
    20: (MEGATRON / "megatron_tp8_rank4.json.gz", MEGATRON / "megatron_tp8_rank5.json.gz"),
}
# What the sentence must begin with, where the table asks for that.
SAID_FIRST = {
    **dict.fromkeys((6, 7, 8, 10, 12), "input shapes: "),
    **dict.fromkeys((14, 15, 16, 17), "another GPU: "),
    9: "most of the difference is one-off work",
    13: "the last steps end differently",
}
ROW = re.compile(r"^\| (\d+) \| [^|]+ \| [^|]+ \| ([^|]+) \|", re.MULTILINE)


def read_expected() -> dict[int, str]:
    """The verdicts of the table, by the number of the pair."""
    return {int(number): verdict.strip() for number, verdict in ROW.findall(PAIRS.read_text())}


def test_the_table_and_the_files_are_of_the_same_pairs():
    assert read_expected().keys() == FILES.keys()


@pytest.fixture(scope="module")
def compared(databases):
    """compared(number): the comparison of a pair; skips where its files are not beside the checkout."""
    runs = {}

    def run(path):
        if path not in runs:
            (runs[path],) = read_runs(databases(path), path.name).values()
        return [runs[path]]

    def pair(number):
        base, new = FILES[number]
        if not base.exists() or not new.exists():
            pytest.skip("not beside the checkout")
        return compare(run(base), run(new))

    return pair


def is_right(found: Comparison, verdict: str) -> bool:
    kind, _, alternative = verdict.partition(", or ")
    if kind == "not comparable":
        return found.verdict == "cannot tell" and not found.comparable
    if kind.startswith("none"):
        return found.verdict not in CHANGED
    return found.verdict in {kind, f"{alternative} {kind}".strip()}


@pytest.mark.slow
@pytest.mark.parametrize("number", FILES)
def test_the_verdict_is_that_of_an_expert(number, compared):
    found = compared(number)
    assert is_right(found, read_expected()[number]), (found.verdict, found.reasons)
    assert found.reasons[0].startswith(SAID_FIRST.get(number, "")), found.reasons


@pytest.mark.slow
@pytest.mark.parametrize("number", FILES)
def test_no_word_beside_it_is_false(number, compared):
    found = compared(number)
    for words in (blocks_to_text(compose_comparison(found, 10), 200), blocks_to_text(compose_ticket(found), 200)):
        if number in SAID_FIRST and SAID_FIRST[number].startswith("another GPU"):
            assert "not run the same program" not in words
        if number == 13:
            assert "19" not in words
        if "its own noise" in words:
            assert any(cause.interval_ns is not None for cause in found.causes)
        assert "left out as warm-up" not in words


@pytest.mark.slow
def test_the_causes_are_those_of_the_table(compared):
    assert compared(4).named[0].category == "idle_data"
    loading = compared(11).named[0]
    assert (loading.category, loading.part.name, loading.how) == ("idle_launch", "delta_r2", "vanished")
    (compute,) = [cause for cause in compared(11).causes if cause.category == "compute"]
    assert abs(compute.delta_ns) < 10_000
    fan2 = compared(19).named[0]
    assert (fan2.category, fan2.part.name.partition("(")[0]) == ("compute", "Fan2")
    assert -0.08 < compared(19).change.share < -0.07


@pytest.mark.slow
@pytest.mark.parametrize("number", [15, 16])
def test_kernels_of_other_makers_are_paired_by_role(number, compared):
    (compute,) = [cause for cause in compared(number).causes if cause.category == "compute"]
    roles = {part.role for part in compute.parts if part.kind == "same role"}
    assert {"matrix products", "attention", "norms"} <= roles
    alone = sum(part.base_ns + part.new_ns for part in compute.parts if part.kind in ("new", "vanished"))
    assert alone < 0.15 * (compute.base_ns + compute.new_ns)
