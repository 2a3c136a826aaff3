"""Layers in real traces against the models that ran: their published numbers of layers, and kernels read from the raw JSON.

Of each kernel only this is read here: whether it is a product (P), attention (A), or something else. A model has so many layers
of so many products before and after attention. What lies in one of these must lie in that of the table, with all of its time.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import pytest
from raw_chrome import load, to_nanoseconds
from trace_files import SHARED, mark_slow


class Layers(NamedTuple):
    """A list of layers: the products and attention of one, and how many there are."""

    letters: str
    layers: int


# Projections before attention, output and feed-forward behind it; in T5 scores and values are products of their own.
CLIP_L, T5_XXL = Layers("PPPAPPP", 12), Layers("PPPPAPPPPP", 24)
QWEN3_8B, LLAMA_8B = Layers("PAPPP", 36), Layers("PAPPP", 32)
# a router, and two products of experts
QWEN3_30B_A3B, GPT_OSS_20B = Layers("PAPPPP", 48), Layers("PAPPPP", 24)
# modulation and projections of image and text; both in one in the later blocks
FLUX_1 = Layers("PPPPPPPPAPPPPPP", 19), Layers("PPPAPPP", 38)
# as T5
MEGATRON = Layers("PPAPPPP", 40)

# Trace -> lists in the order in which they run. Numbers are those of the models' config.json (num_hidden_layers, num_layers,
# num_single_layers); Megatron's is how many products have the recorded shape of its projection (4096 to 3 x 512). The trace that
# is named after DeepSeek R1 has norms of 4096 elements and heads of 128: its distillation to Llama 8B, with 32 layers.
MODELS = {
    "judged/torch/tracelens_sglang_decode.json.gz": [QWEN3_8B],
    "judged/torch/tracelens_sglang_prefilldecode.json.gz": [QWEN3_8B],
    "judged/torch/tracelens_vllm_decode_full.json.gz": [GPT_OSS_20B],
    "judged/torch/tracelens_vllm_piecewise_graph.json.gz": [GPT_OSS_20B],
    "judged3/torch/sglang_deepseek_r1_decode_b300.json.gz": [LLAMA_8B],
    "judged3/torch/sglang_qwen3_30b_a3b_decode_b300.json.gz": [QWEN3_30B_A3B],
    "judged3/torch/sglang_qwen3_30b_a3b_decode_mi300.json.gz": [QWEN3_30B_A3B],
    "judged3/torch/tl_xdit_flux_capture_mi300.json.gz": [CLIP_L, T5_XXL, *FLUX_1],
    "judged3/torch/tl_xdit_flux_split_iter0.json.gz": [CLIP_L, T5_XXL, *FLUX_1 * 4],
    "traces/torch/megatron_tp8_rank0.json.gz": [MEGATRON],
}
EVERY_DAY = ("sglang_deepseek_r1_decode_b300", "sglang_qwen3_30b_a3b_decode_b300", "megatron_tp8_rank0")

PRODUCT = re.compile(r"Cijk_|nvjet|gemm|_matmul_ogs|^bmm_|cutlass_80_tensorop")
ATTENTION = re.compile(
    r"paged_attention_ll4mi_QKV|FmhaBatchPrefill|^fmhaSm100|^aiter::fmha_fwd|^attn_fwd|kernel_unified_attention"
    r"|softmax_warp_forward"
)
LAYERS = """
select list, layers, min(place) as place, list(calls order by layer), list(forward_dur order by layer)
from layer
where list is not null
group by list, layers
order by place
"""
INSIDE = "select sum(forward_dur) from layer where list is not null"


class Kernel(NamedTuple):
    """A compute kernel: P, A or nothing, and its time in ns; kernels that run at the same time share it."""

    letter: str
    dur: float


def read_kernels(path):
    """Return the compute kernels of a trace in the order of launches, those of a graph in that of their starts."""
    events = load(path)["traceEvents"]
    calls = {
        event["args"]["correlation"]: event["ts"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})
    }
    kernels = [event for event in events if event.get("cat") == "kernel"]
    kernels.sort(key=lambda event: (calls[event["args"]["correlation"]], event["ts"]))
    starts = [to_nanoseconds(event["ts"]) for event in kernels]
    durs = share_time(
        [(start, start + to_nanoseconds(event["dur"])) for start, event in zip(starts, kernels, strict=True)]
    )
    return [
        Kernel(letter_of(event["name"]), dur)
        for event, dur in zip(kernels, durs, strict=True)
        if "nccl" not in event["name"]
    ]


def share_time(spans):
    """Return the time of each span, of every moment the part that falls to one of those that run."""
    durs, running, before = [0.0] * len(spans), set(), 0
    changes = sorted(
        (time, is_start, span) for span, times in enumerate(spans) for is_start, time in ((1, times[0]), (0, times[1]))
    )
    for time, is_start, span in changes:
        for other in running:
            durs[other] += (time - before) / len(running)
        before = time
        running = running | {span} if is_start else running - {span}
    return durs


def letter_of(name):
    """Return what a kernel is by its name."""
    if ATTENTION.search(name):
        return "A"
    return "P" if PRODUCT.search(name) else ""


def find_runs(kernels, parts):
    """Yield for each of these lists in turn the kernels of every layer: products and attention, and all of the run."""
    lettered = [place for place, kernel in enumerate(kernels) if kernel.letter]
    letters, end = "".join(kernel.letter for kernel in kernels), 0
    for part in parts:
        run = re.compile(f"(?:{part.letters}){{{part.layers}}}").search(letters, end)
        assert run is not None, part
        places, end = lettered[run.start() : run.end()], run.end()
        size = len(part.letters)
        heavy = [[kernels[place] for place in places[first : first + size]] for first in range(0, len(places), size)]
        yield part, heavy, kernels[places[0] : places[-1] + 1]


def total(kernels):
    """Return the time of kernels, ns."""
    return sum(kernel.dur for kernel in kernels)


@pytest.mark.skipif(not SHARED.exists(), reason="the folder shared is not beside the checkout")
@pytest.mark.parametrize("name", mark_slow(MODELS, EVERY_DAY))
def test_layers_are_those_of_the_model_with_all_their_products(databases, name):
    kernels, connection = read_kernels(SHARED / name), databases(SHARED / name)
    runs = list(find_runs(kernels, MODELS[name]))
    times = Counter(MODELS[name])
    found = connection.execute(LAYERS).fetchall()
    assert [(layers, set(calls)) for _, layers, _, calls, _ in found] == [
        (part.layers, {times[part]}) for part in times
    ]
    for part, (*_, durs) in zip(times, found, strict=True):
        least = [
            sum(map(total, layer)) for layer in zip(*(heavy for run, heavy, _ in runs if run == part), strict=True)
        ]
        # a compiler puts products of what follows into the last layer
        assert [
            number
            for number, dur in enumerate(durs)
            if dur < least[number] * (0.999 if number + 1 < part.layers else 0.95)
        ] == []
    # from the first product of the first layer to the last of the last: a norm at an edge more or less
    ((inside,),) = connection.execute(INSIDE).fetchall()
    assert inside == pytest.approx(sum(total(kernels) for *_, kernels in runs), rel=0.02)
