"""What each knob changes in a program; the checks run in children that are forked from one process with PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from traceq.capture.knobs import loader, registry
from traceq.capture.knobs.knob import KnobHooks, is_on, parse_positive, require_one_of

ROOT = Path(__file__).parents[2]

PROGRAM = """
import json, os, sys, torch, traceback
from torch.utils.data import DataLoader, TensorDataset
from traceq.capture.knobs import registry
from traceq.capture.knobs.knob import KnobHooks
torch.set_num_threads(1)
torch.optim.SGD([torch.zeros(1)])  # what it imports takes seconds

def knobs(**values):
    hooks = KnobHooks()
    registry.apply(torch, values, hooks)
    return hooks

def first_step(hooks):
    for each in hooks.at_first_step:
        each()

def data(**options):
    return DataLoader(TensorDataset(torch.arange(12.0).reshape(12, 1)), **options)

def model():
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))

def train(optimizer=torch.optim.Adam, steps=1, hooks=None, images=False):
    made = torch.nn.Conv2d(3, 2, 1) if images else model()
    updating = optimizer(made.parameters(), lr=0.1)
    for _ in range(steps):
        loss = made(torch.ones(2, 3, 4, 4) if images else torch.ones(2, 4)).sum()
        loss.backward()
        updating.step()
        updating.zero_grad()
        if hooks and hooks.at_first_step:
            first_step(hooks)
            hooks.at_first_step = []
    return made, updating

CHECKS
for name, check in list(globals().items()):
    if name.startswith("check_"):
        sys.stdout.flush()
        if not os.fork():
            try:
                found = check()
            except Exception:
                found = traceback.format_exc()
            print(json.dumps([name[6:], found]), flush=True)
            os._exit(0)
        os.wait()
"""

CHECKS = """
def check_num_workers():
    hooks = knobs(num_workers="2", prefetch_factor="3", persistent_workers="1")
    made = data(batch_size=4)
    return [made.num_workers, made.prefetch_factor, made.persistent_workers, sorted(hooks.acted), len(list(made))]

def check_no_workers():
    hooks = knobs(num_workers="0", prefetch_factor="3")
    made = data(batch_size=4, num_workers=2, prefetch_factor=4, persistent_workers=True)
    return [made.num_workers, made.prefetch_factor, hooks.idle(["num_workers", "prefetch_factor"])]

def check_batch_size():
    hooks = knobs(batch_size="6")
    return [len(data(batch_size=4)), hooks.idle(["batch_size"])]

def check_own_batches():
    hooks = knobs(batch_size="6")
    return [len(list(data(batch_size=None))), list(hooks.idle(["batch_size"]))]

def check_nothing_made():
    return knobs(num_workers="2").idle(["num_workers"])

def check_fused():
    hooks = knobs(fused="1")
    updating = train()[1]
    return [updating.defaults["fused"], updating.defaults["foreach"], hooks.idle(["fused"])]

def check_not_fused():
    hooks = knobs(fused="1")
    train(torch.optim.RMSprop)
    return hooks.idle(["fused"])

def check_foreach():
    hooks = knobs(foreach="0")
    updating = train(lambda parameters, lr: torch.optim.SGD(parameters, lr, foreach=True))[1]
    return [updating.defaults["foreach"], hooks.idle(["foreach"])]

def check_set_to_none():
    hooks = knobs(set_to_none="0")
    return [train()[0][0].weight.grad.abs().sum().item(), hooks.idle(["set_to_none"])]

def check_threads():
    hooks = knobs(threads="2")
    torch.set_num_threads(7)
    return [torch.get_num_threads(), hooks.idle(["threads"])]

def check_threads_of_workers():
    class Threads(torch.utils.data.Dataset):
        def __len__(self):
            return 1
        def __getitem__(self, _):
            return torch.get_num_threads()
    knobs(threads="2")
    return [each.item() for each in DataLoader(Threads(), num_workers=1, batch_size=1)]

def check_gc():
    import gc
    hooks = knobs(gc="off")
    first_step(hooks)
    gc.enable()
    return [gc.isenabled(), hooks.idle(["gc"])]

def check_amp():
    hooks = knobs(amp="bf16")
    made = train(hooks=hooks, steps=2)[0]
    return [str(made(torch.ones(1, 4)).dtype), hooks.idle(["amp"]), len(torch.nn.modules.module._global_forward_hooks)]

def check_compile():
    hooks = knobs(compile="default")
    compiled = []
    torch.nn.Module.compile = lambda self, mode: compiled.append((type(self).__name__, mode))
    train(hooks=hooks, steps=2)
    return [compiled, hooks.idle(["compile"])]

def check_channels_last():
    hooks = knobs(channels_last="1")
    made = train(hooks=hooks, images=True)[0]
    seen = []
    made.register_forward_pre_hook(lambda _module, args: seen.append(args[0].is_contiguous(memory_format=torch.channels_last)))
    made(torch.ones(2, 3, 4, 4))
    return [made.weight.is_contiguous(memory_format=torch.channels_last), hooks.idle(["channels_last"])]

def check_no_images():
    hooks = knobs(channels_last="1")
    train(hooks=hooks)
    return hooks.idle(["channels_last"])

def check_tf32():
    hooks = knobs(tf32="1", cudnn_benchmark="1")
    torch.set_float32_matmul_precision("highest")
    first_step(hooks)
    return [torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark, hooks.idle(["tf32"])]

def check_expandable_segments():
    hooks = knobs(expandable_segments="1")
    first_step(hooks)
    return hooks.idle(["expandable_segments"])

def check_without_data():
    hooks = knobs(ablate="data")
    epochs = [[batch[0].sum().item() for batch in data(batch_size=4)] for _ in range(2)]
    return [epochs, hooks.idle(["data"])]

def check_without_data_of_workers():
    knobs(ablate="data")
    made = data(batch_size=4, num_workers=1, persistent_workers=True)
    return [[batch[0].sum().item() for batch in made] for _ in range(2)]

def check_without_data_written():
    knobs(ablate="data")
    sums = []
    for batch in data(batch_size=4):
        sums.append(batch[0].sum().item())
        batch[0].add_(1)
        batch.clear()
    return sums

def check_without_optimizer():
    hooks = knobs(ablate="optimizer")
    made = torch.nn.Linear(2, 2)
    before = made.weight.clone()
    updating = torch.optim.AdamW(made.parameters(), lr=1.0)
    made(torch.ones(1, 2)).sum().backward()
    closed = updating.step(lambda: 7)
    return [torch.equal(before, made.weight), closed, hooks.idle(["optimizer"])]

def check_without_communication():
    import torch.distributed as dist
    hooks = knobs(ablate="communication")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    made = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    made(torch.ones(1, 2)).sum().backward()
    return [made.require_backward_grad_sync, hooks.idle(["communication"])]

def check_no_communication():
    hooks = knobs(ablate="communication")
    train()
    return hooks.idle(["communication"])["communication"][:45]

def check_without_logging():
    import builtins, io, logging
    stream = io.StringIO()
    logging.basicConfig(stream=stream)
    out, sys.stdout = sys.stdout, stream
    hooks = knobs(ablate="logging")
    print("before")
    idle = hooks.idle(["logging"])
    first_step(hooks)
    print("after")
    logging.error("after")
    sys.stdout = out
    import importlib
    builtins.print = lambda text, flush: out.write(text + "\\\\n") and out.flush()
    return [stream.getvalue(), list(idle), hooks.idle(["logging"])]

def check_seed():
    import random, numpy
    found = []
    for _ in range(2):
        registry.seed_random(torch, 7)
        found.append([random.random(), float(numpy.random.rand()), torch.rand(1).item()])
    return found[0] == found[1]
"""


@pytest.fixture(scope="module")
def found():
    pytest.importorskip("torch")
    program = PROGRAM.replace("CHECKS", textwrap.dedent(CHECKS).replace("\\\\", "\\"))
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert lines, done.stderr
    return dict(json.loads(line) for line in lines)


NO_CUDA = "the program does not use CUDA"
NO_WORKERS = "the DataLoaders have no workers: set num_workers as well"
NOTHING = "the program creates nothing that this setting affects"

EXPECTED = {
    "num_workers": [2, 3, True, ["num_workers", "persistent_workers", "prefetch_factor"], 3],
    "no_workers": [0, None, {"prefetch_factor": NO_WORKERS}],
    "batch_size": [2, {}],
    "own_batches": [12, ["batch_size"]],
    "nothing_made": {"num_workers": NOTHING},
    "fused": [True, None, {}],
    "not_fused": {"fused": "RMSprop has no fused form"},
    "foreach": [False, {}],
    "set_to_none": [0.0, {}],
    "threads": [2, {}],
    "threads_of_workers": [1],
    "gc": [False, {}],
    "amp": ["torch.bfloat16", {}, 0],
    "compile": [[["Sequential", "default"]], {}],
    "channels_last": [True, {}],
    "no_images": {"channels_last": "the model has no convolution of images"},
    "tf32": ["high", True, {"tf32": NO_CUDA}],
    "expandable_segments": {"expandable_segments": NO_CUDA},
    "without_data": [[[6.0, 6.0, 6.0], [6.0, 6.0, 6.0]], {}],
    "without_data_of_workers": [[6.0, 6.0, 6.0], [6.0, 6.0, 6.0]],
    "without_data_written": [6.0, 6.0, 6.0],
    "without_optimizer": [True, 7, {}],
    "without_communication": [False, {}],
    "no_communication": "the program does not use DistributedDataParallel; ",
    "without_logging": ["before\n", ["logging"], {}],
    "seed": True,
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", EXPECTED)
def test_knobs_change_the_program_and_say_where_they_cannot(found, name):
    assert found[name] == EXPECTED[name]


def test_no_knob_is_without_a_check():
    assert set(registry.KNOBS) - set(EXPECTED) == {
        "cudnn_benchmark",
        "launch_blocking",
        "persistent_workers",
        "pin_memory",
        "prefetch_factor",
    }


def test_pinned_memory_needs_a_gpu():
    for has_gpu, acted in ((True, {"pin_memory"}), (False, set())):
        hooks, given = KnobHooks(), {}
        loader.change_arguments(given, {"pin_memory": "1"}, hooks, has_gpu=has_gpu)
        assert (given, hooks.acted) == ({"pin_memory": True}, acted)


def test_some_knobs_need_variables_from_the_start():
    assert registry.list_variables({"threads": "3", "amp": "bf16"})["OMP_NUM_THREADS"] == "3"
    assert registry.list_variables({"launch_blocking": "0"}) == {"CUDA_LAUNCH_BLOCKING": "0"}
    assert "True" in registry.list_variables({"expandable_segments": "on"})["PYTORCH_CUDA_ALLOC_CONF"]
    assert registry.list_variables({"ablate": "data"}) == {}


def test_values_are_checked():
    assert (is_on("yes"), is_on("0"), parse_positive("3"), require_one_of("a")("a")) == (True, False, 3, "a")
    for check, text in ((is_on, "2"), (parse_positive, "0"), (parse_positive, "-1"), (require_one_of("a"), "b")):
        with pytest.raises(ValueError, match=r"is|must"):
            check(text)
    with pytest.raises(ValueError, match="amp=int8: 'int8' is not one of bf16, fp16"):
        registry.check("amp", "int8")
