"""The table layer: by modules, by ranges, by the order of kernels, and where nothing tells of layers."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.analysis.layers.layer import WITHOUT_STEPS
from traceq.analysis.layers.named import NamedModule, find_lists

LAYERS = """
select name, source, layers, kernels, calls, forward_dur::integer, backward_dur::integer, first_kernel, last_kernel
from layer order by place
"""
KERNELS = """
select sum(k.exclusive_dur)::integer
from kernel_occupancy as k
join step as s using (trace_id, step)
where s.excluded is null and k.family <> 'communication'
"""
NOTES = "select text from import_note where code = 'layers_unknown'"

# Kernels of a layer: norm, product, attention, product.
FORWARD = ("rms_norm", "ampere_gemm", "flash_fwd_kernel", "ampere_gemm_tn")
BACKWARD = ("ampere_wgrad", "flash_bwd_kernel", "ampere_dgrad", "layer_norm_backward")


class Steps(TraceBuilder):
    """Steps of kernels one behind another, launched in their order."""

    def __init__(self, count=1):
        super().__init__()
        self.now = 0
        self.count = count

    def run(self, name, dur):
        """Add a kernel with its launch."""
        self.kernel(name, self.now + 5, dur, launched=(self.now, 2))
        self.now += dur + 20

    def steps(self, *parts, length=100_000, without=()):
        """Add steps of kernels: pairs of names and times each is run, with 10 ns more for each time; some `without` these."""
        for step in range(self.count):
            self.now = step * length
            self.annotation(f"ProfilerStep#{step}", self.now, length)
            self.now += 10
            for names, times in [(("save",), 1)] if step in without else parts:
                for time in range(times):
                    for name in names:
                        self.run(name, 100 + 10 * time)
        return self


def filled(trace):
    """Fill all tables; what lies in layers and around them is checked to be all time of compute kernels."""
    done = trace.fill_all()
    ((total,),) = done.rows("select sum(forward_dur + backward_dur)::integer from layer")
    ((kernels,),) = done.rows(KERNELS)
    assert total in (None, kernels)
    return done


def test_layers_by_the_order_of_kernels():
    trace = filled(Steps(2).steps((("indexSelect",), 1), (FORWARD, 5), (("rms_norm", "nvjet_head"), 1)))
    assert trace.rows(LAYERS) == [
        ("before the layers", "order", None, 2, None, 200, 0, 0, 0),
        *(
            (f"layer {layer} of 5", "order", 5, 8, 2, 2 * 4 * (100 + 10 * layer), 0, 1 + 4 * layer, 4 + 4 * layer)
            for layer in range(5)
        ),
        ("after the layers", "order", None, 4, None, 400, 0, 21, 22),
    ]
    assert trace.rows(NOTES) == []


def test_the_backward_pass_runs_through_the_layers_in_reverse():
    trace = filled(Steps().steps((("indexSelect",), 1), (FORWARD, 5), (("loss",), 1), (BACKWARD, 5), (("adam",), 1)))
    rows = trace.rows(LAYERS)
    assert [(name, forward, backward) for name, _, _, _, _, forward, backward, *_ in rows] == [
        ("before the layers", 100, 0),
        *((f"layer {layer} of 5", 4 * (100 + 10 * layer), 4 * (140 - 10 * layer)) for layer in range(5)),
        ("between the layers", 100, 0),
        ("after the layers", 100, 0),
    ]


def test_micro_batches_run_the_same_layers():
    part = ((("indexSelect",), 1), (FORWARD, 5), (("nvjet_head",), 1))
    trace = filled(Steps().steps(*part, *part, *part))
    assert trace.rows("select name, calls, kernels from layer where layer = 3") == [("layer 3 of 5", 3, 12)]
    assert trace.rows("select name, kernels from layer where layer is null order by place") == [
        ("before the layers", 1),
        ("between the layers", 4),
        ("after the layers", 1),
    ]


def test_a_step_without_layers_has_a_row():
    trace = filled(Steps(5).steps((("indexSelect",), 1), (FORWARD, 6), (("nvjet_head",), 1), without=[2]))
    assert trace.rows("select name, step, kernels from layer where name like 'steps%'") == [
        ("steps without layers", 2, 1)
    ]


def test_a_backward_pass_of_other_layers_is_not_guessed():
    trace = filled(Steps().steps((FORWARD, 5), (("loss",), 1), (BACKWARD, 8)))
    assert trace.rows(LAYERS) == []
    assert trace.rows(NOTES) == [
        ("no layers of the model: no sequence repeats as often in the forward pass as in the backward pass",)
    ]


def test_what_nothing_marks_and_repeats_are_steps():
    trace = Steps()
    for time in range(6):
        for name in FORWARD:
            trace.run(name, 100 + 10 * time)
    assert trace.fill_all().rows("select distinct source from step") == [("recurrence",)]
    assert trace.rows(LAYERS) == trace.rows(NOTES) == []


def test_without_steps_what_repeats_may_be_steps():
    trace = Steps()
    for number in range(40):
        trace.run(f"gemm_{number}_{number * number}", 10)
    for time in range(5):
        for name in FORWARD:
            trace.run(name, 100 + 10 * time)
    assert trace.fill_all().rows("select distinct source from step") == [("window",)]
    assert trace.rows(LAYERS) == []
    assert trace.rows(NOTES) == [
        (f"no layers of the model: {WITHOUT_STEPS}",),
    ]


def test_layers_of_less_than_half_of_the_time_are_no_model():
    """Two sequences repeat as often, but one of them is no layer of a model with attention."""
    other = ("ampere_gemm_nn", "nvjet_a", "ampere_gemm_nt", "nvjet_b", "add")
    trace = filled(Steps().steps((other, 9), (("loss",), 1), (FORWARD, 4)))
    assert trace.rows(LAYERS) == []
    assert trace.rows(NOTES) == [
        ("no layers of the model: what repeats like layers is only 22% of the time of compute kernels",)
    ]


def test_hardly_anything_that_repeats_is_not_worth_a_note():
    other = tuple(f"gemm_{number}_{number * number}" for number in range(90))
    trace = filled(Steps().steps((other, 1), (FORWARD, 4)))
    assert trace.rows(LAYERS) == trace.rows(NOTES) == []


@pytest.mark.parametrize(
    ("frame", "kind", "source"),
    [("nn.Module: Block_{}", "python", "module"), ("blocks.{}", "annotation", "annotation")],
)
def test_layers_by_names(frame, kind, source):
    """Three blocks by name although order could not tell them: all kernels are others."""
    trace = Steps()
    trace.annotation("ProfilerStep#1", 0, 10_000)
    trace.now = 10
    trace.run("indexSelect", 50)
    for block in range(3):
        begin = trace.now
        inside = trace.now + 2
        trace.now += 5
        for name in ("rms_norm", f"gemm_{block}"):
            trace.run(name, 100 + block)
        trace.cpu(kind, frame.format(block), begin, trace.now - begin)
        trace.cpu("python", f"nn.Module: Linear_{block}", inside, trace.now - inside - 1)
        trace.now += 5
        trace.run("add", 10)
    name = frame.removeprefix("nn.Module: ")
    rows = filled(trace).rows(
        "select name, list, layer, source, kernels, calls, forward_dur::integer from layer order by place"
    )
    place = name.removesuffix("_{}").removesuffix(".{}")
    assert rows == [
        ("before the layers", None, None, source, 1, None, 50),
        (name.format(0), place, 0, source, 2, 1, 200),
        ("between the layers", None, None, source, 2, None, 20),
        (name.format(1), place, 1, source, 2, 1, 202),
        (name.format(2), place, 2, source, 2, 1, 204),
        ("after the layers", None, None, source, 1, None, 10),
    ]


def modules(*names):
    return [NamedModule(name, 100, 1, is_annotation=False) for name in names]


def test_lists_are_the_outermost_places_and_no_containers():
    found = find_lists(
        modules(
            "Net_0",
            *(f"Net_0/Sequential_{stage}" for stage in range(3)),
            *(f"Net_0/Sequential_{number // 2}/Block_{number}" for number in range(6)),
            *(f"Net_0/Sequential_{number // 2}/Block_{number}/Conv_{number}" for number in range(6)),
        ),
        1000,
    )
    assert [(row.words, len(row.names)) for row in found] == [("Net/Sequential/Block", 6)]


# As servers run DeepSeek-R1: three layers have a short dense part behind the attention, 58 have experts.
LATENT = (
    *("rms_norm", "void deep_gemm::fp8_gemm_kernel<2112u>", "rms_norm_q", "void deep_gemm::fp8_gemm_kernel<1536u>"),
    *(
        "rotary_embedding_kernel",
        "set_mla_kv_buffer_kernel",
        "flash_fwd_splitkv_mla_kernel",
        "flash_fwd_mla_combine_kernel",
    ),
    *("nvjet_bmm_v", "void deep_gemm::fp8_gemm_kernel<7168u>", "rms_norm"),
)
DENSE = ("void deep_gemm::fp8_gemm_kernel<18432u>", "silu_and_mul_kernel", "void deep_gemm::fp8_gemm_kernel<9216u>")
EXPERTS = (
    *("nvjet_router", "topk_sigmoid_routing", "moe_align_block_size", "void deep_gemm::fp8_gemm_kernel<256u>"),
    *("silu_and_mul_kernel", "void deep_gemm::fp8_gemm_kernel<512u>", "fused_moe_kernel", "silu_and_mul_kernel"),
    *("fused_moe_kernel", "moe_sum_reduce"),
)


def test_dense_layers_before_those_of_experts_begin_with_the_same_attention():
    parts = (("embedding_kernel",), 1), (LATENT + DENSE, 3), (LATENT + EXPERTS, 58), (("rms_norm", "nvjet_head"), 1)
    trace = filled(Steps(2).steps(*parts, length=1_000_000))
    found = trace.rows("select name, kernels, first_kernel, last_kernel from layer order by place")
    size, large = len(LATENT + DENSE), len(LATENT + EXPERTS)
    assert found[:5] == [
        ("before the layers", 2, 0, 0),
        *((f"layer {layer} of 61", 2 * size, 1 + size * layer, size * (layer + 1)) for layer in range(3)),
        ("layer 3 of 61", 2 * large, 1 + 3 * size, 3 * size + large),
    ]
    assert found[-2:] == [
        ("layer 60 of 61", 2 * large, 1 + 3 * size + 57 * large, 3 * size + 58 * large),
        ("after the layers", 4, 1 + 3 * size + 58 * large, 2 + 3 * size + 58 * large),
    ]


def test_layers_of_another_kind_in_front_make_the_number_unknown():
    """Three layers with other kernels before their attention: too few to be found, and of an encoder or of the same list."""
    other = ("layer_norm", "ampere_gemm_qkv", *LATENT[6:], *DENSE)
    parts = (other, 3), (LATENT + EXPERTS, 20), (("rms_norm", "nvjet_head"), 1)
    trace = filled(Steps(2).steps(*parts, length=1_000_000))
    assert trace.rows("select layers from layer where layers is not null") == []
    ((note,),) = trace.rows(NOTES)
    assert "beside what repeats there is attention, too" in note


def test_pieces_of_a_split_graph_are_no_layers():
    assert (
        find_lists(modules(*(f"Net_0/submod_{piece}/mlp" for piece in range(9)), *("Net_0", "Net_0/submod_1")), 1100)
        == []
    )


def test_layers_are_in_the_order_of_their_numbers():
    (found,) = find_lists(modules(*(f"layers.{number}" for number in range(11))), 1100)
    assert found.names[:3] == ("layers.0", "layers.1", "layers.2")
    assert found.names[-1] == "layers.10"


def test_two_alike_modules_and_modules_without_any_inside_are_no_list():
    assert find_lists(modules("Net_0", "Net_0/Linear_0", "Net_0/Linear_1", "Net_0/Linear_2"), 400) == []
    assert find_lists(modules("layers.0", "layers.1"), 200) == []


def test_a_list_of_little_time_stands_beside_no_other():
    blocks = modules(*(f"Big_0/layers.{number}" for number in range(3)))
    small = [NamedModule(f"Small_0/layers.{number}", 1, 1, is_annotation=False) for number in range(3)]
    assert [row.words for row in find_lists([*blocks, *small], 10_000)] == ["Big/layers"]
    assert [row.words for row in find_lists([*blocks, *small], 300)] == ["Big/layers", "Small/layers"]
