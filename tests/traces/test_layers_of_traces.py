"""Layers of the models in the real traces: how many, how much of the time is in them, and what is missing where none are."""

from __future__ import annotations

import pytest
from trace_files import SHARED, mark_slow

from traceq.analysis.layers.layer import prepare_tables, read_steps
from traceq.analysis.layers.ordered import sum_ordered
from traceq.analysis.layers.rows import DeviceLayers, LayerKey

# Trace -> its source, layers per list, and the share of the time of compute kernels in them. Compiled programs and servers.
COVERED = {
    "judged/torch/tracelens_sglang_decode.json.gz": ("order", [36], 0.95),
    "judged/torch/tracelens_sglang_prefilldecode.json.gz": ("module", [36], 0.99),
    "judged/torch/tracelens_vllm_decode_full.json.gz": ("order", [24], 0.97),
    "judged/torch/tracelens_vllm_piecewise_graph.json.gz": ("order", [24], 0.99),
    "judged3/torch/sglang_qwen3_30b_a3b_decode_b300.json.gz": ("order", [48], 0.97),
    "judged3/torch/sglang_qwen3_30b_a3b_decode_mi300.json.gz": ("order", [48], 0.97),
    "judged3/torch/tl_xdit_flux_split_iter0.json.gz": ("order", [12, 24, 19, 38], 0.955),
    "traces/torch/megatron_tp8_rank0.json.gz": ("order", [40], 0.96),
    # a distilled model of 32 layers; the product with all tokens, which every model has behind its layers
    "judged3/torch/sglang_deepseek_r1_decode_b300.json.gz": ("order", [32], 0.94),
    # the decoder of images
    "judged3/torch/tl_xdit_flux_capture_mi300.json.gz": ("order", [12, 24, 19, 38], 0.91),
    "judged3/torch/tracelens_xdit_sd35.json.gz": ("order", [12, 32, 24, 38], 0.92),
}

# The missing fact of each other one.
UNTOLD = {
    # kernels are out of their order: layers have 12 or 15 instead of 11. The profiler seems to have given kernels of the graph
    # the names of others: 90 us, as the largest product takes, stand at the last kernel of attention
    "judged3/torch/sglang_deepseek_r1_decode_mi300.json.gz": "order of kernels",
    # recommender: no list of alike parts
    "traces/torch/hta_neg_queue_rank0.json.gz": "layers in the model",
    "judged/torch/hta_trace_diff_test.json.gz": "layers in the model",
    # one kernel, or a dozen
    "judged/torch/hta_triton_example.json.gz": "kernels",
    "judged3/torch/tl_cmp01_moe_fused_h100.json": "kernels",
    "traces/torch/tracelens_torch_compile_triton.json.gz": "kernels",
    # graphs are captured: their kernels do not run yet
    "judged/torch/tracelens_sglang_decode_capture.json.gz": "kernels",
    "judged/torch/tracelens_vllm_decode_full_capture.json.gz": "kernels",
    "judged/torch/tracelens_vllm_piecewise_capture.json.gz": "kernels",
    # graphs were not traced node by node
    "judged/nsys/cs336_a100_2_7B_compile_graph.sqlite": "kernels",
}

# Traces with names of their layers: what the order of kernels alone tells of them.
NAMED = {
    "judged/torch/tracelens_h100_timesformer.json.gz": 12,
    "judged/torch/tracelens_sglang_prefilldecode.json.gz": 36,
    "judged3/torch/switchmoe_100Kpar_4batch_seq128.json.gz": 10,
    "judged3/torch/tl_bert_small_h100.json.gz": 4,
    "judged3/torch/tl_bert_small_mi300.json.gz": 4,
    "judged3/torch/tl_timesformer_mi300.json.gz": 12,
    "judged3/torch/tracelens_h100_qwen.json.gz": 24,
    "judged3/torch/tracelens_mi300_qwen.json.gz": 24,
    "traces/torch/tracelens_h100_owlv2.json.gz": 24,
}

ROWS = """
select source, layers, sum(forward_dur + backward_dur) / sum(sum(forward_dur + backward_dur)) over () as share
from layer
group by source, list, layers
order by min(place)
"""
SUMS = """
select
    (select sum(forward_dur + backward_dur) from layer),
    (select sum(exclusive_dur) from kernel_occupancy join step as s using (trace_id, step)
     where s.excluded is null and family <> 'communication')
"""
NAMED_ROWS = "select forward_dur + backward_dur from layer where layers = $1 and device = $2 order by list, layer"

# The small ones: layers by order, kernels out of their order, a dozen kernels, layers by name.
EVERY_DAY = (
    "judged3/torch/sglang_qwen3_30b_a3b_decode_b300.json.gz",
    "judged3/torch/sglang_deepseek_r1_decode_mi300.json.gz",
    "judged3/torch/tl_cmp01_moe_fused_h100.json",
    "judged3/torch/tl_bert_small_h100.json.gz",
)

needs_traces = pytest.mark.skipif(not SHARED.exists(), reason="the folder shared is not beside the checkout")


def every(names):
    """Parametrize a test by traces, of which those that are not read every day are slow."""
    return pytest.mark.parametrize("name", mark_slow(names, EVERY_DAY))


@needs_traces
@every(COVERED)
def test_layers_have_nearly_all_time_and_add_up_to_all(databases, name):
    connection = databases(SHARED / name)
    source, layers, least = COVERED[name]
    rows = connection.execute(ROWS).fetchall()
    assert [number for _, number, _ in rows if number is not None] == layers
    assert {row[0] for row in rows} == {source}
    assert least <= sum(share for _, number, share in rows if number is not None) <= 1
    in_layers, in_kernels = connection.execute(SUMS).fetchone()
    assert in_layers == pytest.approx(in_kernels, rel=1e-9)


def test_at_least_eight_compiled_or_serving_traces_are_covered():
    assert sum(least >= 0.95 for _, _, least in COVERED.values()) >= 8


@needs_traces
@every(UNTOLD)
def test_nothing_is_guessed_where_a_fact_is_missing(databases, name):
    connection = databases(SHARED / name)
    assert connection.execute("from layer").fetchall() == []
    heavy = "select count(*) from kernel_occupancy where family in ('hipblas', 'cublas', 'cutlass', 'nvjet', 'triton')"
    ((kernels,),) = connection.execute(heavy).fetchall()
    assert UNTOLD[name] != "kernels" or kernels < 20
    notes = connection.execute("select text from import_note where code = 'layers_unknown'").fetchall()
    assert (UNTOLD[name] == "order of kernels") == (
        notes
        == [("no layers of the model: kernels repeat, but layers seem to lack some of theirs, or to be out of order",)]
    )


@needs_traces
@every(NAMED)
def test_the_order_of_kernels_tells_the_layers_that_names_tell(databases, name):
    """Compare time per layer with that by names: it is the same but for a kernel at an edge."""
    connection = databases(SHARED / name).cursor()
    paths = prepare_tables(connection)
    ((device,),) = connection.execute("select distinct device from layer").fetchall()
    found = sum_ordered(read_steps(connection, device), paths)
    assert isinstance(found, DeviceLayers)
    (number,) = (number for number, row in enumerate(found.lists) if len(row.names) == NAMED[name])
    sums = [found.sums[LayerKey(number, layer)] for layer in range(NAMED[name])]
    by_name = [dur for (dur,) in connection.execute(NAMED_ROWS, [NAMED[name], device]).fetchall()]
    assert [row.forward_dur + row.backward_dur for row in sums] == pytest.approx(by_name, rel=0.01)
