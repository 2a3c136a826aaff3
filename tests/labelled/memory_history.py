"""The history of an allocator in a few lines: what a memory snapshot becomes before it is analysed."""

from __future__ import annotations

STACKS = {
    "init": (("__init__", "/app/model.py", 3),),
    "forward": (("forward", "/app/model.py", 7), ("_call_impl", "/x/site-packages/torch/nn/modules/module.py", 10)),
    "inner": (("forward", "/app/model.py", 8), ("_call_impl", "/x/site-packages/torch/nn/modules/module.py", 10)),
    "backward": (("torch::autograd::Engine::thread_main(std::shared_ptr<int>)", "", 0),),
    "again": (
        ("forward", "/app/model.py", 7),
        ("_engine_run_backward", "/x/site-packages/torch/autograd/graph.py", 8),
        ("main", "/app/app.py", 5),
    ),
    "accumulate": (("torch::autograd::AccumulateGrad::apply()", "", 0), ("torch::autograd::Engine::run()", "", 0)),
    "optimizer": (("_init_group", "/x/site-packages/torch/optim/adam.py", 2), ("main", "/app/app.py", 6)),
    "script": (("main", "/app/train_adamw.py", 4),),
    "own": (("step", "/app/my_optim.py", 4), ("main", "/app/app.py", 6)),
    "zero": (("zero_grad", "/x/site-packages/torch/optim/optimizer.py", 9), ("main", "/app/app.py", 7)),
    "loader": (("pin", "/x/site-packages/torch/utils/data/_utils/pin_memory.py", 4),),
    "ddp": (("__init__", "/x/site-packages/torch/nn/parallel/distributed.py", 5), ("main", "/app/app.py", 2)),
    "main": (("main", "/app/app.py", 9),),
    "operator": (("at::_ops::empty_memory_format::call(int)", "??", 0),),
    "native": (
        ("start_thread", "thread48.o", 0),
        ("cudaMalloc", "/usr/lib/libcuda.so.1", 12),
        ("call", "/cache/torchinductor_me/ab/cab.py", 5),
        ("forward", "<eval_with_key>.1", 5),
        ("_call_impl", r"C:\py\Lib\site-packages\torch\nn\modules\module.py", 10),
        ("main", r"C:\app\run.py", 9),
    ),
    "loss": (
        ("at::_ops::log_softmax_int::call(at::Tensor)", "??", 0),
        ("cross_entropy", "/x/site-packages/torch/nn/functional.py", 3),
        ("loss", "/app/app.py", 12),
    ),
}
ACTIONS = {"free": "free_requested", "freed": "free_completed", "+": "segment_alloc", "-": "segment_free"}
STATES = {"used": "active_allocated", "waiting": "active_awaiting_free", "free": "inactive"}


def events(trace, text, device=0):
    """Events, one a line: ns, action, address, bytes, stack or "-" for none. "gone" is a free that is completed at once.

    Of "oom" the address is what the device has left. The time is "-" where none is known.
    """
    number = 0
    for line in text.strip().splitlines():
        ts, action, address, size, stack = line.split()
        actions = ("free", "freed") if action == "gone" else (action,)
        for each in actions:
            trace.add(
                "allocator_event",
                device=device,
                number=number,
                action=ACTIONS.get(each, each),
                ts=None if ts == "-" else int(ts),
                **{"device_free" if each == "oom" else "address": int(address)},
                bytes=int(size),
                stream=0,
                **_stack(trace, stack),
            )
            number += 1


def segment(trace, number, address, text, device=0, **more):
    """A segment with its blocks, one a line: bytes, bytes asked for, state (used, waiting or free), stack or "-"."""
    at = address
    for place, line in enumerate(text.strip().splitlines()):
        size, requested, state, stack = line.split()
        trace.add(
            "allocator_block",
            segment_id=number,
            number=place,
            address=at,
            bytes=int(size),
            requested_bytes=int(requested),
            state=STATES[state],
            **_stack(trace, stack),
        )
        at += int(size)
    columns = {"pool": "0.0", "kind": "large", "is_expandable": False, **more}
    trace.add("allocator_segment", segment_id=number, device=device, address=address, bytes=at - address, **columns)


def _stack(trace, name):
    """The stack's id, with its frames the first time."""
    if name == "-":
        return {}
    stack_id = list(STACKS).index(name)
    if not any(row["stack_id"] == stack_id for row in trace._rows["allocator_stack"]):
        for depth, (function, file, line) in enumerate(STACKS[name]):
            trace.add("allocator_stack", stack_id=stack_id, depth=depth, name=function, file=file, line=line)
    return {"stack_id": stack_id}
