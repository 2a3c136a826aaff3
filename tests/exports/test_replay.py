"""Scripts that run operators of a trace again: what is recorded, what is made of it, and that it runs."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import lazy_import
import pytest

from traceq.exports.replay import script as script_module
from traceq.exports.replay.arguments import RecordedInputs, RecordedTensor, read_arguments
from traceq.exports.replay.collectives import CollectiveCalls, check_replayable, name_kind, write_collectives
from traceq.exports.replay.plan import RecordedOperator, plan_replay
from traceq.exports.replay.script import write_script

torch = lazy_import.module("torch")

FOLDER = Path(script_module.__file__).parent


def recorded(name, dims, types, strides=None, settings=None, **more):
    """An operator as a trace has it; what is not given was not recorded."""
    texts = (None if part is None else json.dumps(part) for part in (dims, types, strides, settings))
    known = {
        "trace": "t.json",
        "name": name,
        "inputs": RecordedInputs(*texts),
        "calls": 3,
        "total_dur": 9_000,
        "median_dur": 3_000,
        "least_dur": 2_000,
        "step": 4,
        "device": None,
        "kernels": (),
        "is_wanted": False,
        "kind": None,
        "flops": None,
        "bytes": None,
        "ceiling_dur": None,
        "reachable_dur": None,
        "ceiling_limit": None,
        "beyond_dur": 9_000,
    }
    return RecordedOperator(**{**known, **more})


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def harness():
    return load(FOLDER / "harness.py")


def settings(harness, **changes):
    found, _ = harness.read_settings(["--device", "cpu", "--runs", "2", "--warmup", "0"])
    return found._replace(**changes)


def test_arguments_are_those_that_were_recorded():
    inputs = RecordedInputs(
        "[[2, 3], [], [], [], [[4], [5, 6]], [], [], []]",
        '["float", "Scalar", "Scalar", "ScalarList", "TensorList", "", "Scalar", "double"]',
        "[[1, 2], [], [], [], [[1], [6, 1]], [], [], []]",
        '["", "1", "-inf", "[1, 1]", "", "", "False", ""]',
    )
    assert read_arguments(inputs) == [
        RecordedTensor((2, 3), (1, 2), "float32"),
        1,
        float("-inf"),
        [1, 1],
        [RecordedTensor((4,), (1,), None), RecordedTensor((5, 6), (6, 1), None)],
        None,
        False,
        RecordedTensor((), (), "float64"),
    ]


def test_what_was_not_recorded_is_said_not_guessed():
    plan = plan_replay(recorded("aten::addmm", [[8], [2, 4], [4, 8], [], []], ["float"] * 3 + ["Scalar"] * 2))
    assert plan.arguments[3:] == [..., ...]
    assert plan.assumed == (
        "strides were not recorded: tensors are contiguous here",
        "settings were not recorded: PyTorch's defaults are taken",
    )
    lists = plan_replay(recorded("aten::cat", [[[2], [3]], []], ["TensorList", "Scalar"], [[[1], [1]], []], ["", "0"]))
    assert lists.assumed == ("types of tensors in lists are not recorded: float32 unless --dtype says otherwise",)


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (recorded("aten::mm", None, None), "no shapes of its inputs; record the trace with .*record_shapes=True"),
        (recorded("aten::mm", [[2, 2]], []), "do not go together"),
        (recorded("vllm::attention", [[2]], ["float"]), "no operator of PyTorch itself"),
        (recorded("aten::sum", [[2], []], ["float", "ScalarList"]), "lacks its settings .*PyTorch 2.1 or newer"),
        (recorded("aten::cat", [[], []], ["TensorList", "Scalar"]), "lacks the shapes in its list"),
        (recorded("aten::index", [[2], []], ["float", ""], None, ["", ""]), "no shapes of its indices"),
        (recorded("aten::item", [[]], ["float"], [[]], [""]), "only reads one value"),
        (recorded("aten::empty_like", [[2]], ["float"], [[1]], [""]), "computes nothing"),
        (recorded("aten::randn", [[]], ["ScalarList"], [[]], ["[2]"]), "no tensor among its inputs"),
        (recorded("aten::mm", [[-1, 2], [2, 2]], ["float", "float"]), "shape of an input is damaged"),
        (recorded("aten::mm", [[1 << 40, 1 << 40], [2, 2]], ["float", "float"]), "more elements than any memory"),
        (recorded("aten::mul", [[2], [3]], ["float", "Storage"], None, ["", ""]), "type 'Storage'"),
        (recorded("aten::embedding", [[9, 4], []], ["float", ""], None, ["", ""]), "shape of its indices"),
    ],
)
def test_an_operator_that_cannot_be_run_again_says_what_the_trace_lacks(operator, reason):
    with pytest.raises(ValueError, match=reason):
        plan_replay(operator)


def test_the_script_has_the_operator_as_data():
    operator = recorded(
        "aten::mm",
        [[96, 100], [100, 64]],
        ["c10::Half", "c10::Half"],
        [[100, 1], [1, 100]],
        ["", ""],
        kernels=('gemm"""\n',),
        device="NVIDIA H100",
        flops=1_228_800,
        ceiling_dur=300,
    )
    text = write_script([plan_replay(operator)])
    assert text.partition("OPERATORS: list[Operator] = ")[2].partition("]\n\nPRODUCTS")[0] == (
        "[\n"
        "    Operator(\n"
        '        name="aten::mm",\n'
        '        called="aten::mm",\n'
        "        arguments=[\n"
        '            Tensor((96, 100), (100, 1), "float16", "normal"),\n'
        '            Tensor((100, 64), (1, 100), "float16", "normal"),\n'
        "        ],\n"
        "        batch=(0,),\n"
        '        trace="t.json",\n'
        "        step=4,\n"
        "        calls=3,\n"
        "        median_ns=3_000,\n"
        "        least_ns=2_000,\n"
        "        on_gpu=True,\n"
        '        device="NVIDIA H100",\n'
        '        kernels=("gemm\\"\\"\\"\\\\n",),\n'
        "        flops=1_228_800,\n"
        "        ceiling_ns=300,\n"
        "    ),\n"
    )
    compile(text, "replay.py", "exec")


@pytest.mark.parametrize(
    "setting",
    [
        "-" * 100_000 + "1",
        "[" * 100_000,
        "(" * 150 + "1" + ")" * 150,
        "[" + "9" * 4000 + "]",
        "9" * 5000,
        "__import__('os').system('true')",
        '1)"]; raise SystemExit #',
        "\U0001f600\x00\n",
    ],
)
def test_a_setting_of_a_hostile_trace_is_data_and_never_runs(setting):
    text = write_script([plan_replay(recorded("aten::mul", [[4], []], ["float", "Scalar"], None, ["", setting]))])
    data = text.partition("OPERATORS: list[Operator] = ")[2].partition("\n\nPRODUCTS")[0].rpartition("]")[0] + "]"
    calls = {node.func.id for node in ast.walk(ast.parse(data)) if isinstance(node, ast.Call)}
    assert calls <= {"Operator", "Tensor", "float"}


def test_shapes_nested_without_end_are_no_shapes():
    inputs = RecordedInputs("[" * 100_000 + "]" * 100_000, '["float"]', None, None)
    with pytest.raises(ValueError, match="no shapes of its inputs"):
        read_arguments(inputs)


@pytest.mark.parametrize(
    ("dims", "types"), [([[4, 4], [4]], ["float", "long"]), ([[4, 4], [], [2]], ["float", "long", "long"])]
)
def test_bags_without_offsets_or_with_one_index_are_written(dims, types):
    assert "_embedding_bag" in write_script(
        [plan_replay(recorded("aten::_embedding_bag", dims, types, None, [""] * 3))]
    )


def test_texts_of_the_trace_do_not_steer_the_terminal_and_can_be_printed_on_it(tmp_path):
    hostile = 'k\x1b]0;x\x07"\n\U0001f600\u202e'
    operator = recorded("aten::relu", [[4]], ["float"], [[1]], [""], kernels=(hostile,), device=hostile)
    script = tmp_path / "replay.py"
    script.write_text(write_script([plan_replay(operator)]), "ascii")
    assert load(script).OPERATORS[0].kernels == ('k\\x1b]0;x\\x07"\\n\U0001f600\\u202e',)
    written = write_collectives([collective(name=hostile, device=hostile)])
    assert written.isascii()
    assert "\x1b" not in written


def test_attention_and_norm_of_one_library_run_through_the_function_that_picks_one():
    shape, steps = [2, 4, 8, 16], [512, 128, 16, 1]
    backward = plan_replay(
        recorded(
            "aten::_scaled_dot_product_flash_attention_backward",
            [shape] * 5 + [[]] * 10,
            ["c10::Half"] * 5 + [""] * 5 + ["Scalar", "Scalar", "", "", "Scalar"],
            [steps] * 5 + [[]] * 10,
            [""] * 10 + ["0.", "True", "", "", "0.25"],
        )
    )
    assert (backward.called, backward.wanted) == ("aten::scaled_dot_product_attention", (0, 1, 2))
    assert backward.arguments[3:] == [None, 0.0, True, 0.25]
    assert backward.gradient.shape == (2, 4, 8, 16)
    types = ["float"] * 7 + ["Double", "unsigned char"]
    norm = plan_replay(
        recorded(
            "aten::cudnn_batch_norm_backward",
            [[2, 3, 4, 4]] * 2 + [[3]] * 5 + [[], [0]],
            types,
        )
    )
    assert (norm.called, norm.gradient.shape, norm.batch) == ("aten::batch_norm", (2, 3, 4, 4), (0,))


# Of every family that training consists of.
def train():
    functional = torch.nn.functional
    convolution, norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
    layer, table, linear = torch.nn.LayerNorm(16), torch.nn.Embedding(50, 16), torch.nn.Linear(16, 50)
    parameters = [*convolution.parameters(), *norm.parameters(), *layer.parameters(), *table.parameters()]
    optimizers = [torch.optim.AdamW(parameters, fused=True), torch.optim.AdamW(parameters, foreach=True)]
    image = norm(convolution(torch.randn(2, 3, 8, 8, requires_grad=True))).relu()
    image = functional.max_pool2d(image, 2)
    words = layer(table(torch.randint(50, (4, 7))))
    heads = words.reshape(4, 7, 2, 8).transpose(1, 2)
    attended = functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
    scores = linear(functional.gelu(attended.transpose(1, 2).reshape(28, 16))).softmax(-1)
    loss = (
        functional.cross_entropy(scores, torch.randint(50, (28,))) + image.mean() + torch.cat([words, words], 1).sum()
    )
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()


def operators_of(trace):
    found = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        # of `to` the device is not recorded; what it calls is
        if event.get("cat") == "cpu_op" and event["name"].startswith("aten::") and event["name"] != "aten::to":
            lists = (event["args"].get(key) for key in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs"))
            found.setdefault(event["name"], recorded(event["name"], *lists))
    return found


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    train()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
        train()
    path = tmp_path_factory.mktemp("replay") / "trained.json"
    profiler.export_chrome_trace(str(path))
    return path


def test_every_operator_of_a_training_step_runs_again(trace, tmp_path):
    plans, left_out = [], {}
    for name, operator in operators_of(trace).items():
        try:
            plans.append(plan_replay(operator))
        except ValueError as error:
            left_out[name] = str(error)
    said = ("computes nothing", "only reads one value", "no tensor among its inputs")
    assert {name for name, reason in left_out.items() if not any(text in reason for text in said)} == set()
    names = {plan.recorded.name.removeprefix("aten::") for plan in plans}
    assert names >= {
        *("addmm", "mm", "convolution", "convolution_backward", "native_batch_norm", "native_batch_norm_backward"),
        *(
            "native_layer_norm",
            "native_layer_norm_backward",
            "embedding",
            "embedding_dense_backward",
            "gelu",
            "_softmax",
        ),
        *("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu_backward"),
        *("nll_loss_forward", "nll_loss_backward", "max_pool2d_with_indices_backward", "cat", "copy_", "fill_", "sum"),
        *("_fused_adamw_", "_foreach_addcdiv_", "_foreach_lerp_"),
    }
    script = tmp_path / "replay_all.py"
    script.write_text(write_script(plans))
    module = load(script)
    few = settings(module, variants=frozenset({"recorded", "contiguous", "channels_last", "padded", "flash", "math"}))
    wrong = []
    for operator in module.OPERATORS:
        found = module.run_operator(operator, few)
        wrong += [
            (operator.name, row)
            for row in found["variants"]
            if "failed" in row or (row["is_same"] is False and operator.name != "aten::_reshape_alias")
        ]
    assert wrong == []


def test_variants_compute_the_same_and_a_difference_is_seen(harness):
    (operator,) = harness.OPERATORS
    found = harness.run_operator(operator, settings(harness, variants=frozenset({"contiguous", "padded", "bf16"})))
    assert [(row["variant"], row["is_same"]) for row in found["variants"]] == [
        ("recorded", None),
        ("contiguous", True),
        ("padded", True),
        ("bf16", None),
    ]
    one, other = torch.tensor([1.0, 4.0]), torch.tensor([1.0, 5.0])
    assert harness.measure_difference([other], [one]) == 0.25
    assert harness.measure_difference([torch.tensor([1.0, float("nan")])], [one]) == float("inf")
    assert harness.measure_difference([torch.ones(1)], [one]) is None


def test_tensors_have_their_strides_and_values_their_bounds(harness):
    device = torch.device("cpu")
    spread = harness.make_tensor(harness.Tensor((3, 4), (1, 5), "float16"), device, "float32")
    assert (spread.shape, spread.stride(), spread.dtype) == ((3, 4), (1, 5), torch.float16)
    assert harness.make_tensor(harness.Tensor((2, 3), (0, 0)), device, "float32").unique().numel() == 1
    assert harness.make_tensor(harness.Tensor((0, 3), (3, 1)), device, "float32").numel() == 0
    indices = harness.make_tensor(harness.Tensor((1000,), (1,), "int64", "index", 7), device, "float32")
    assert (int(indices.min()), int(indices.max())) == (0, 6)
    offsets = harness.make_tensor(harness.Tensor((4,), (1,), "int32", "offsets", 10), device, "float32")
    assert offsets.tolist() == [0, 2, 5, 7]
    assert harness.make_tensor(harness.Tensor((2,), None, None), device, "bfloat16").dtype is torch.bfloat16


def test_what_does_not_fit_is_cut_and_not_compared(harness):
    (operator,) = harness.OPERATORS
    need = harness.count_bytes(operator, 1)
    few = settings(harness, variants=frozenset({"recorded"}))
    assert harness.run_operator(operator, few._replace(memory=need))["comparable"]
    cut = harness.run_operator(operator, few._replace(memory=need * 3 // 4))
    assert (cut["cut"], cut["comparable"], cut["variants"][0]["of_recorded"]) == (2, False, None)
    with pytest.raises(ValueError, match=r"needs about .* GiB, and .* GiB may be used"):
        harness.run_operator(operator, few._replace(memory=1000))
    with pytest.raises(ValueError, match="needs about"):
        harness.run_operator(operator._replace(batch=()), few._replace(memory=need // 2))
    elsewhere = harness.run_operator(operator._replace(on_gpu=True, device="NVIDIA H100"), few)
    assert not elsewhere["comparable"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_operator_of_a_batch_is_compiled(harness):
    dynamo = pytest.importorskip("torch._dynamo")
    shapes = ((4,), (4, 4), (2, 3, 4))
    operators = [harness.Operator("aten::exp", "aten::exp", [harness.Tensor(shape)]) for shape in shapes]
    few = settings(harness, variants=frozenset({"compiled"}))
    with dynamo.config.patch(recompile_limit=1, fail_on_recompile_limit_hit=True):
        for operator in operators:
            recorded, compiled = harness.run_operator(operator, few)["variants"]
            assert "failed" not in compiled
            assert (recorded["variant"], compiled["variant"]) == ("recorded", "compiled")


def test_an_empty_tensor_stays_empty(harness):
    operator = harness.Operator("aten::relu", "aten::relu", [harness.Tensor((0, 4), (4, 1))], batch=(0,))
    for cut in (1, 2):
        assert harness.make_arguments(operator, settings(harness), cut)[0].shape == (0, 4)


def test_memory_between_the_rows_of_a_view_counts(harness):
    operator = harness.Operator("aten::relu", "aten::relu", [harness.Tensor((2, 2), (1 << 40, 1))])
    with pytest.raises(ValueError, match=r"needs about 12288\.0 GiB"):
        harness.run_operator(operator, settings(harness))


def test_infinite_and_complex_results_are_compared(harness):
    inf = float("inf")
    reference = [torch.tensor([1.0, 2.0, inf])]
    assert harness.measure_difference([torch.tensor([1.0, 2.5, inf])], reference) == 0.25
    assert harness.measure_difference([torch.tensor([1.0, inf, inf])], reference) == inf
    assert harness.measure_difference([torch.tensor([1.0, 2.0, -inf])], reference) == inf
    assert harness.measure_difference([torch.tensor([1 + 4j])], [torch.tensor([1 + 2j])]) > 0.5
    assert harness.measure_difference([torch.tensor([inf])], [torch.tensor([inf])]) == 0


def test_arguments_that_no_overload_takes_are_said(harness):
    with pytest.raises(ValueError, match=r"has no aten::mm with these arguments: float32 \(2,\)"):
        harness.find_overload("aten::mm", [torch.ones(2)])
    assert str(harness.find_overload("aten::add", [torch.ones(2), torch.ones(2), 1])) == "aten.add.Tensor"
    assert str(harness.find_overload("aten::mm", [torch.ones(2, 2)] * 3)) == "aten.mm.out"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "cuda:99"], "finds no GPU here|invalid"),
        (["--dtype", "nothing"], "no type of PyTorch"),
        (["--only", "9"], "there are 1 operators"),
        (["--runs", "0"], "at least 1"),
    ],
)
def test_wrong_use_of_the_script_is_said(harness, capsys, arguments, message):
    if "cuda:99" in arguments and torch.cuda.is_available():
        pytest.skip("the message is for machines without a GPU")
    with pytest.raises(SystemExit):
        harness.run_script(arguments)
    assert message.split("|")[0] in capsys.readouterr().err


def collective(**changes):
    known = CollectiveCalls(
        *(
            "t.json",
            "nccl:all_reduce",
            "c10::BFloat16",
            4096,
            4096,
            2,
            None,
            8192,
            3,
            300,
            100,
            90,
            1,
            "NVIDIA H100",
            True,
            False,
        )
    )
    return known._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"group_size": None}, "lacks the size of its process group; record"),
        ({"group_size": 1}, "of one rank"),
        ({"name": "wait"}, "none of reduce_scatter"),
        ({"in_elements": None, "out_elements": 0}, "how many elements"),
        ({"dtype": "String"}, "type 'String'"),
    ],
)
def test_a_collective_that_cannot_be_run_again_says_what_the_trace_lacks(changes, reason):
    with pytest.raises(ValueError, match=reason):
        check_replayable(collective(**changes))


def test_collectives_of_every_source_are_known_by_their_names():
    names = (
        "c10d::allreduce_",
        "_allgather_base",
        "nccl:reduce_scatter_tensor_coalesced",
        "gloo:broadcast",
        "all_to_allv",
        "send",
    )
    kinds = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", None]
    assert [name_kind(name) for name in names] == kinds


@pytest.mark.slow
def test_collectives_run_on_two_processes(tmp_path):
    every = [
        collective(name=op, in_elements=elements, out_elements=None)
        for op, elements in (("all_reduce", 64), ("all_gather", 64), ("reduce_scatter", 64), ("broadcast", 64))
    ]
    for one in every:
        check_replayable(one)
    script = tmp_path / "collectives.py"
    script.write_text(write_collectives(every))
    done = subprocess.run(
        [sys.executable, str(script), "--runs", "2", "--json"], capture_output=True, text=True, check=True, timeout=300
    )
    found = json.loads(done.stdout)
    assert [(row["name"], row["backend"], row["ranks"], row["comparable"]) for row in found] == [
        (one.name, "gloo", 2, False) for one in every
    ]
    assert all(len(row["durations_ns"]["recorded"]) == 2 for row in found)


@pytest.mark.parametrize("name", ["harness.py", "collective_harness.py"])
def test_the_scripts_need_nothing_but_pytorch(name):
    text = (FOLDER / name).read_text()
    assert "traceq." not in text.replace("`traceq replay-op`", "")
