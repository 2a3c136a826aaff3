"""Modules of the calls in compiled graphs: as torch.compile tells them of a small model, and as its nodes carry them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

from traceq.errors import UnusableTrace
from traceq.loading.fx_modules import common_module, join_numbers, read_annotated, read_parameters, split_calls
from traceq.loading.inductor import inductor_files, read_inductor

DYNAMO = """\
class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_embed_parameters_weight_: "f32[9, 4]", L_x_: "i64[2]"):
        l_self_modules_embed_parameters_weight_ = L_self_modules_embed_parameters_weight_
        l_x_ = L_x_

        # File: /home/me/model.py:8 in forward, code: x = self.embed(x)
        x: "f32[2, 4]" = torch.nn.functional.embedding(l_x_, l_self_modules_embed_parameters_weight_);  l_x_ = None
        linear: "f32[2, 8]" = torch._C._nn.linear(x, l_self_modules_layers_modules_0_modules_up_proj_parameters_weight_)
        gelu: "f32[2, 8]" = torch._C._nn.gelu(linear);  linear = None
        linear_1: "f32[2, 4]" = torch._C._nn.linear(gelu, l_self_modules_layers_modules_0_modules_down_parameters_weight_)
        add = linear_1 + x
        norm: "f32[2, 4]" = add * l_self_modules_layers_modules_1_modules_norm_parameters_weight_
        linear_2: "f32[2, 9]" = torch._C._nn.linear(norm, l_self_modules_embed_parameters_weight_);  norm = None
        return (linear_2,)
"""
POST = """\
        # Annotation: {'module_fqn': 'layers.0.up_proj'} File: /home/me/model.py:4 in forward, code: x = self.up_proj(x)
        addmm: "f32[2, 8]" = torch.ops.aten.addmm.default(arg0_1, arg1_1, arg2_1);  arg0_1 = None

        # Annotation: {'module_fqn': 'layers.0.a_module_with_quite_a_long_name...'} File: /home/me/model.py:5 in forward, code: y
        mul: "f32[2, 8]" = torch.ops.aten.mul.Tensor(addmm, 0.5)

        # File: /home/me/model.py:6 in forward, code: return y
        relu: "f32[2, 8]" = torch.ops.aten.relu.default(mul);  mul = None
"""
CODE = """\
        # Topologically Sorted Source Nodes: [linear], Original ATen: [aten.t, aten.addmm]
        # [Provenance debug handles] extern_kernels.addmm:1
        extern_kernels.addmm(arg0_1, buf0, reinterpret_tensor(arg1_1, (4, 8), (1, 4), 0), alpha=1, beta=1, out=buf1)
        # Topologically Sorted Source Nodes: [gelu], Original ATen: [aten.gelu]
        stream0 = get_raw_stream(0)
        triton_poi_fused_gelu_0.run(buf1, 16, stream=stream0)
        buf3 = torch.ops.aten._scaled_dot_product_flash_attention.default(buf1, buf1, buf1)
        buf4 = buf3[0]
"""


def test_nodes_are_in_the_modules_of_their_parameters_and_others_in_what_is_around():
    """Put nodes between layers into none of them; take no module from a weight that two modules share."""
    assert {node: "/".join(module) for node, module in read_parameters(DYNAMO).items()} == {
        "x": "",
        "linear": "layers.0/up_proj",
        "gelu": "layers.0",
        "linear_1": "layers.0/down",
        "add": "",
        "norm": "layers.1/norm",
        "linear_2": "",
    }


def test_a_program_names_modules_of_nodes_and_of_a_name_that_is_cut_what_is_whole_counts():
    assert read_annotated(POST) == {"addmm": ("layers.0", "up_proj"), "mul": ("layers.0",)}


def test_calls_come_in_the_order_of_the_code_with_the_nodes_that_comments_name():
    assert list(split_calls(CODE)) == [
        ("extern_kernels.addmm:1", ["linear"]),
        ("triton_poi_fused_gelu_0", ["gelu"]),
        ("torch.ops.aten._scaled_dot_product_flash_attention.default", []),
    ]


def test_numbers_belong_to_the_name_before_them_and_wrappers_are_left_out():
    assert join_numbers(["_orig_mod", "layers", "0", "_checkpoint_wrapped_module", "mlp", "1"]) == ("layers.0", "mlp.1")
    assert join_numbers(["0", "weight"]) == ("0", "weight")


def test_the_module_around_several_is_what_their_paths_have_in_common():
    assert common_module([("a", "b", "c"), ("a", "b"), ("a", "b", "d")]) == ("a", "b")
    assert common_module([("layers.0", "x"), ("layers.10", "x")]) == ()
    assert common_module([]) == ()


def test_files_of_tlparse_tell_the_calls_of_forward_and_backward(tmp_path):
    """They share a folder, and are told apart by the numbers in their names."""
    backward = CODE.replace("[gelu]", "[mul_9, gelu]").replace("addmm", "mm")
    for name, text in {
        "dynamo_output_graph_2.txt": DYNAMO,
        "inductor_output_code_cab_5.txt": CODE,
        "fx_graph_cache_miss_8.json": '{"key": "fone"}',
        "inductor_output_code_cxy_11.txt": backward,
        "fx_graph_cache_miss_14.json": '{"key": "ftwo"}',
    }.items():
        (tmp_path / name).write_text(text)
    graphs = read_inductor(inductor_files([tmp_path], tmp_path / "trace.json")).graphs
    attention = ("aten::_scaled_dot_product_flash_attention", None)
    assert graphs == [
        ("fone", (("aten::addmm", "layers.0/up_proj"), ("triton_poi_fused_gelu_0", "layers.0"), attention)),
        # of a node of the backward pass no module is known
        ("ftwo", (("aten::mm", "layers.0/up_proj"), ("triton_poi_fused_gelu_0", None), attention)),
    ]


def test_a_file_of_something_else_is_refused(tmp_path):
    for name in ("notes.txt", "server.log"):
        (tmp_path / name).write_text("hello\n")
        with pytest.raises(UnusableTrace, match="contains nothing that Inductor writes"):
            inductor_files([tmp_path / name], tmp_path / "trace.json")


def test_without_a_module_no_graph_is_told(tmp_path):
    (tmp_path / "output_code.py").write_text(CODE)
    assert read_inductor(inductor_files([tmp_path], tmp_path / "trace.json")).graphs == []


# Compiles a model twice, once with annotations, and writes the modules that nodes carry: those of Dynamo's stack of modules.
PROGRAM = """\
import json, sys
import torch
from torch import nn
from torch.fx.traceback import annotate_fn, preserve_node_meta

class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)

    def forward(self, x):
        return self.down(self.act(self.up(x)))

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(width), Mlp(width)

    def forward(self, x):
        return x + self.mlp(self.norm(x))

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList(Block(width) for _ in range(2))
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return torch.relu(self.head(x)).sum()

graphs = []

def keep(graph):
    stacks = {node.name: node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") for node in graph.nodes}
    graphs.append({name: [*stack.values()][-1][0] for name, stack in stacks.items() if stack})

torch._inductor.config.post_grad_custom_post_pass = keep
plain, annotated = Model(32), Model(16)
torch.compile(plain)(torch.randn(8, 32)).backward()
with preserve_node_meta():
    for name, module in annotated.named_modules():
        if name:
            module.forward = annotate_fn({"module_fqn": name})(module.forward)
    torch.compile(annotated)(torch.randn(8, 16)).backward()
json.dump(graphs, open(sys.argv[1], "w"))
"""


def _read_stack(path):
    """Return the module that a node of PyTorch carries: L['self'].layers.0.mlp, annotated or not."""
    wrapped = ".forward.__closure__[1].cell_contents.__self__"
    return join_numbers(path.replace(wrapped, "").removeprefix("L['self']").split("."))


@pytest.mark.slow
def test_modules_of_calls_are_those_that_the_nodes_of_this_pytorch_carry(tmp_path):
    """Compare with Dynamo's stack of modules: equal where the program names modules, else equal or around them."""
    pytest.importorskip("torch", minversion="2.11")
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    logs = tmp_path / "logs"
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
        "TORCH_TRACE": str(logs),
        "INDUCTOR_PROVENANCE": "1",
    }
    command = [sys.executable, tmp_path / "program.py", tmp_path / "carried.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        pytest.skip(f"torch.compile does not work here: {done.stderr.strip().splitlines()[-1:]}")
    carried = json.loads((tmp_path / "carried.json").read_text())
    read = read_inductor(inductor_files([logs], tmp_path / "trace.json"))
    assert [len(read.graphs), len(carried)] == [4, 4]
    nodes_by_call = list(_read_nodes(logs))
    counts = []
    for graph, modules, nodes in zip(read.graphs, carried, nodes_by_call, strict=True):
        truth = {node: _read_stack(path) for node, path in modules.items()}
        expected = [common_module(truth[node] for node in names if node in truth) for names in nodes]
        told = [tuple(call.module.split("/")) if call.module else () for call in graph.calls]
        assert [found for found, module in zip(told, expected, strict=True) if found != module[: len(found)]] == []
        counts.append(
            (
                len(told),
                sum(map(bool, told)),
                sum(found == module for found, module in zip(told, expected, strict=True)),
            )
        )
    # calls, those with a module, those with the very module: the activations are in the module around them, or named
    assert [counts[0], counts[2]] == [(11, 8, 9), (11, 8, 11)]
    # of the backward pass the products that compute gradients of inputs, with annotations all products
    assert [known for _, known, _ in (counts[1], counts[3])] == [5, 10]


def _read_nodes(logs):
    """Yield the nodes behind each call of each graph, in the order of the calls.

    PyTorch 2.13 writes none of the backward pass but in comments of its code: those count where it has no others.
    """
    (log,) = logs.iterdir()
    commented = []
    kind = ""
    for line in log.read_text().splitlines():
        if not line.startswith("\t"):
            kind = line
            commented = [] if "inductor_output_code" in kind else commented
        elif "inductor_output_code" in kind:
            if "Source Nodes: [" in line:
                nodes = line.partition("Source Nodes: [")[2].partition("]")[0].split(", ")
            elif "# [Provenance debug handles]" in line:
                commented.append(nodes)
                nodes = []
            elif line.startswith("\tdef ") or "def call(" in line:
                nodes = []
        elif '"name": "inductor_provenance_tracking_node_mappings"' in kind:
            calls = json.loads(line[1:]).get("cppCodeToPost", {})
            yield [calls[name] for name in sorted(calls, key=lambda name: int(name.rpartition(":")[2]))] or commented
