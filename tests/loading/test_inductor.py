"""What torch.compile wrote about its kernels: provenance files, torch_compile_debug, generated code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

from traceq.analysis.kernels.compiled import Origin
from traceq.errors import UnusableTrace
from traceq.loading.inductor import inductor_files, read_inductor

ADD = Origin("aten::add", "/home/me/model.py(6): forward", "y = a + b")
RELU = Origin("aten::relu", "/home/me/model.py(7): forward", "return torch.relu(y)")
GRAPH = """\
class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[32, 32]", arg1_1: "f32[32, 32]"):
        # File: /home/me/model.py:6 in forward, code: y = a + b
        add: "f32[32, 32]" = torch.ops.aten.add.Tensor(arg0_1, arg1_1);  arg0_1 = arg1_1 = None

        # File: /home/me/model.py:7 in forward, code: return torch.relu(y)
        relu: "f32[32, 32]" = torch.ops.aten.relu.default(add);  add = None

        # No stacktrace found for following nodes
        copy_1: "f32[32, 32]" = torch.ops.aten.copy_.default(arg0_1, relu)
        return (relu,)
"""
CODE = """\
# kernel path: /tmp/torchinductor_me/ab/cabcdef.py
# Topologically Sorted Source Nodes: [y, relu], Original ATen: [aten.add, aten.relu]
# Source node to ATen node mapping:
#   y => add
#   relu => relu
# Graph fragment:
#   %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%arg0_1, %arg1_1), kwargs = {})
triton_poi_fused_add_relu_0 = async_compile.triton('triton_poi_fused_add_relu_0', '''
import triton
''', device_str='cuda')
"""
MAPPINGS = {"cppCodeToPost": {"triton_poi_fused_add_relu_0:1": ["relu", "add"]}, "postToPre": {"add": ["y"]}}
FRAME = '  File "/home/me/model.py", line 6, in forward\n    y = a + b\n'


def read(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_inductor(inductor_files([folder], folder / "trace.json")).kernels


def test_provenance_names_nodes_and_the_graph_their_lines(tmp_path):
    (told,) = read(
        tmp_path,
        inductor_provenance_tracking_node_mappings__json=MAPPINGS,
        fx_graph_transformed__py=GRAPH,
        output_code__py=CODE,
    )
    assert told == ("triton_poi_fused_add_relu_0", "cabcdef", (ADD, RELU), "provenance")


def test_generated_code_names_nodes_in_its_comments(tmp_path):
    (told,) = read(tmp_path, fx_graph_readable__py=GRAPH, output_code__py=CODE)
    assert told == ("triton_poi_fused_add_relu_0", "cabcdef", (ADD, RELU), "code")


def test_kernel_information_tells_lines_itself(tmp_path):
    information = {
        "triton_poi_fused_add_0:2": {"stack_traces": [FRAME], "post_grad_nodes": ["add_3"], "pre_grad_nodes": ["y"]}
    }
    (told,) = read(tmp_path, kernel_information__json=information)
    assert set(told.origins) == {Origin("add", None, None), ADD._replace(operator=None)}


def test_stack_traces_tell_lines(tmp_path):
    traces = {"triton_poi_fused_add_0:2": [FRAME, FRAME], "triton_poi_fused_mul_1:3": ["b = a * 2"]}
    told = read(tmp_path, inductor_provenance_tracking_kernel_stack_traces_7__json=traces)
    assert {each.name: each.origins for each in told} == {
        "triton_poi_fused_add_0": (ADD._replace(operator=None),),
        "triton_poi_fused_mul_1": (Origin(None, None, "b = a * 2"),),
    }


def test_a_node_without_a_line_has_none(tmp_path):
    mappings = {"cppCodeToPost": {"triton_poi_fused_copy_0": ["copy_1"]}}
    (told,) = read(tmp_path, inductor_provenance_tracking_node_mappings__json=mappings, fx_graph_transformed__py=GRAPH)
    assert told.origins == (Origin("aten::copy_", None, None),)


def test_files_beside_a_trace_are_found(tmp_path):
    trace = tmp_path / "trace.json"
    assert inductor_files([], trace) == ()
    folder = tmp_path / "torch_compile_debug" / "run_1" / "torchinductor"
    folder.mkdir(parents=True)
    for path in (folder / "output_code.py", folder / "ir_post_fusion.txt", tmp_path / "kernel_information.json"):
        path.write_text("{}")
    (tmp_path / "output_code.py").write_text("")
    assert [path.name for path in inductor_files([], trace)] == ["kernel_information.json", "output_code.py"]


def test_what_holds_nothing_of_inductor_is_refused(tmp_path):
    with pytest.raises(UnusableTrace, match="contains nothing that Inductor writes"):
        inductor_files([tmp_path], tmp_path / "trace.json")
    with pytest.raises(UnusableTrace, match="no such file"):
        inductor_files([tmp_path / "x"], tmp_path / "trace.json")
    with pytest.raises(UnusableTrace, match="is not JSON"):
        read(tmp_path, kernel_information__json="{")
    with pytest.raises(UnusableTrace, match=r"^.*kernel_information\.json: has a number with too many digits$"):
        read(tmp_path, kernel_information__json="9" * 6000)


@pytest.mark.slow
def test_what_this_pytorch_writes_is_read(tmp_path):
    """Inductor compiles for the CPU: the files are the same, the kernels are others."""
    pytest.importorskip("torch")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""\
            import torch
            torch._inductor.config.trace.enabled = True
            torch._inductor.config.trace.provenance_tracking_level = 1
            torch._inductor.config.trace.debug_dir = {str(tmp_path / "debug")!r}
            def f(a, b):
                y = a + b
                return torch.relu(y) * 3.14
            torch.compile(f)(torch.randn(8, 8), torch.randn(8, 8))
            """
        )
    )
    # what is in its cache is not written again
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        pytest.skip(f"torch.compile does not work here: {done.stderr.strip().splitlines()[-1:]}")
    (told,) = read_inductor(inductor_files([tmp_path / "debug"], tmp_path / "trace.json")).kernels
    assert told.name == "cpp_fused_add_mul_relu_0"
    assert told.origins == (
        Origin("aten::add", f"{program}(6): f", "y = a + b"),
        Origin("aten::mul", f"{program}(7): f", "return torch.relu(y) * 3.14"),
        Origin("aten::relu", f"{program}(7): f", "return torch.relu(y) * 3.14"),
    )
