"""Advice on a graph break, and on a guard that fails, by their kinds (tables graph_break and recompilation)."""

from __future__ import annotations

_BREAKS = {
    "print": "Take the print out of compiled code, or print once in many steps;"
    " `torch._dynamo.config.reorderable_logging_functions.add(print)` moves it behind the graph.",
    "logging": "Log outside compiled code, or let `torch._dynamo.config.ignore_logging_functions` skip the calls while it runs.",
    "item": "Keep the value a tensor: `torch.where` in place of `if`, and read it once after the step. If it must be a number:"
    " `torch._dynamo.config.capture_scalar_outputs = True`.",
    "branch": "Choose with `torch.where`, which computes both sides, or with `torch.cond`; else decide outside compiled code.",
    "shape": "Give the result a fixed shape (a mask or `torch.where` in place of `nonzero` and boolean indexing), or set"
    " `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.",
    "disabled": "The function is excluded on purpose: leave out `torch.compiler.disable`, or call it before or after the"
    " compiled code.",
    "asked": "The program asks for the break: leave out `torch._dynamo.graph_break()`.",
    "generator": "Return a list in place of a generator, or call it outside compiled code.",
    "context_manager": "Enter the context manager outside compiled code.",
    "builtin": "Call it outside compiled code, or replace it by an operation of PyTorch.",
    "c_function": "Call it outside compiled code, or wrap it: `torch.library.custom_op` makes it an operator of the graph;"
    " `torch.compiler.allow_in_graph` and `torch.compiler.assume_constant_result` are for functions that allow it.",
    "backward": "Compile the forward pass only, and call backward outside compiled code; with hooks try compiled autograd.",
    "custom_operator": "Register what it returns for fake tensors: `torch.library.register_fake`.",
    "other": "Take it out of compiled code: `torch.compile(..., fullgraph=True)` raises the error where it stands.",
}

_GUARDS = {
    "shape": "Mark the dimension before the first call: `torch._dynamo.mark_dynamic({tensor}, DIM)`, or compile with"
    " dynamic=True; else pad to a few sizes.",
    "stride": "Give it one layout before the call: `.contiguous()`.",
    "dtype": "Convert to one type before the call, and enter autocast outside compiled code.",
    "device": "Move it to one device before the call.",
    "requires_grad": "Call it with tensors of one kind only: detach before the call, or compile one function for each.",
    "dispatch": "Call it in one mode only (inference_mode, autocast, vmap), or compile one function for each mode.",
    "int": "Pass the number as a tensor, or keep it outside compiled code; of a module,"
    " `torch._dynamo.config.allow_unspec_int_on_nn_module = True` lets it change.",
    "float": "Pass the number as a tensor (`torch.tensor({value})`), as for a learning rate or a schedule.",
    "text": "Keep the text outside compiled code: decide by it before the call, or pass a number in a tensor.",
    "length": "Stack it into one tensor of a fixed size, with a mask for what is not filled, or handle it outside compiled code.",
    "bool": "Decide outside compiled code, or run each setting once in the warm-up: two versions stay compiled.",
    "none": "Pass a tensor in every call, or run both cases once in the warm-up.",
    "object": "Make it once, outside the loop: a function, class or module that is new in each step is compiled again.",
    "state": "Set modes (no_grad, autocast, threads) once outside the loop, or run each once in the warm-up.",
    "other": "Keep it the same from call to call, or outside compiled code.",
}

LIMIT = "PyTorch gives up on a frame after `torch._dynamo.config.recompile_limit` versions (8), and runs its later calls eagerly."


def advise_break(kind: str) -> str:
    """Return what to do about a graph break of this kind."""
    return _BREAKS.get(kind, _BREAKS["other"])


def advise_guard(kind: str, source: str | None) -> str:
    """Return what to do about guards of this kind that fail; `source` is the value of the program that changes."""
    return _GUARDS.get(kind, _GUARDS["other"]).format(tensor=source or "TENSOR", value=source or "VALUE")


def describe_change(kind: str, source: str | None, expected: str | None, actual: str | None) -> str:
    """Return what a guard found changed, in a few words: "the length of states changes (1, then 2)"."""
    what = {
        "shape": "the shape of {}", "stride": "the layout of {}", "dtype": "the type of {}", "device": "the device of {}",
        "requires_grad": "requires_grad of {}", "dispatch": "the mode of {}", "length": "the length of {}",
        "object": "the object {}", "state": "a setting of the process",
    }.get(kind, "{}").format(source or "a value")  # fmt: skip
    if expected is None:
        return f"{what} changes"
    return f"{what} changes (it was {expected}{f', then {actual}' if actual is not None else ''})"
