"""The program without a part: its input, its optimizer, its communication or its logging."""

from __future__ import annotations

import builtins
import copy
import functools
import logging
import sys
import weakref
from collections.abc import Callable
from typing import Any

from traceq.capture.knobs.knob import KnobHooks

# An attribute of what iterates over a DataLoader: it has given the loader's first batch again.
GIVES_FIRST = "traceq_gives_first"


def leave_out_data(torch: Any, hooks: KnobHooks) -> None:
    """Let each DataLoader load only its first batch and then give it again and again.

    An epoch keeps its number of batches where the loader knows it; else it has no end.
    """
    from torch.utils.data import dataloader

    hooks.reasons["data"] = "the program fetched no batch from a DataLoader"
    batches_class: Any = dataloader._BaseDataLoaderIter  # noqa: SLF001 - unlike DataLoader.__iter__ it leaves types alone
    made, reset, original = batches_class.__init__, batches_class._reset, batches_class.__next__  # noqa: SLF001 - as above
    loaders: weakref.WeakKeyDictionary[Any, _Batch] = weakref.WeakKeyDictionary()

    @functools.wraps(made)
    def __init__(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the method
        made(self, loader, *args, **kwargs)
        self.traceq_loader, self.traceq_left = loader, _count_batches(loader)

    @functools.wraps(reset)
    def _reset(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        # Persistent workers begin a new epoch so.
        reset(self, loader, *args, **kwargs)
        self.traceq_left = _count_batches(loader)

    @functools.wraps(original)
    def __next__(self: Any) -> Any:  # noqa: N807 - it becomes the method
        if self.traceq_left is not None:
            if self.traceq_left <= 0:
                raise StopIteration
            self.traceq_left -= 1
        first = loaders.get(self.traceq_loader)
        if first is None:
            first = loaders[self.traceq_loader] = _Batch(torch, original(self))
        else:
            hooks.acted.add("data")
            setattr(self, GIVES_FIRST, True)
        return first.again()

    batches_class.__init__, batches_class._reset, batches_class.__next__ = __init__, _reset, __next__  # noqa: SLF001 - as above


def _count_batches(loader: Any) -> int | None:
    try:
        return len(loader)
    except TypeError:
        return None


class _Batch:
    """A batch to give again and again: its own tensors, or copies once the program was seen to write into them."""

    def __init__(self, torch: Any, batch: Any) -> None:
        self._torch = torch
        self._kept = copy.deepcopy(batch)
        self._given = batch
        self._versions = self._written()
        self._is_written = False

    def again(self) -> Any:
        """Return the batch in new containers, with its own tensors, or copies once the program has written into them."""
        self._is_written = self._is_written or self._written() != self._versions
        return copy.deepcopy(self._kept) if self._is_written else _rebuild_batch(self._torch, self._given)

    def _written(self) -> list[int]:
        from torch.utils import _pytree

        leaves = _pytree.tree_leaves(_open_batch(self._given))
        return [leaf._version for leaf in leaves if isinstance(leaf, self._torch.Tensor)]  # noqa: SLF001 - what autograd asks, too


def _open_batch(batch: Any) -> Any:
    """Return a batch of a mapping class (BatchEncoding) as a plain dict; others unchanged."""
    return dict(batch) if hasattr(batch, "keys") and hasattr(batch, "__getitem__") else batch


def _rebuild_batch(torch: Any, batch: Any) -> Any:
    from torch.utils import _pytree

    return _pytree.tree_map(lambda each: each if isinstance(each, torch.Tensor) else copy.copy(each), batch)


_MARK = "_traceq_skips"


def leave_out_optimizer(torch: Any, hooks: KnobHooks) -> None:
    """Let step() of optimizers made from now on only run its closure, if given, which holds forward and backward.

    The recorder's wrapper stays around step(), because it finds the training's steps by its calls.
    """
    optimizer = torch.optim.Optimizer
    original = getattr(optimizer, "_patch_step_function", None)
    if original is None:
        hooks.reasons["optimizer"] = "this version of PyTorch creates optimizers in an unknown way"
        return
    hooks.reasons["optimizer"] = "no optimizer of PyTorch made a step"

    def _patch_step_function(self: Any) -> None:
        original(self)
        class_ = type(self)
        if not hasattr(class_.step, _MARK):
            class_.step = _make_skip(class_.step, hooks)

    optimizer._patch_step_function = _patch_step_function  # noqa: SLF001 - as traceq.capture.watch does


def _make_skip(step: Any, hooks: KnobHooks) -> Any:
    @functools.wraps(step)
    def skip(_self: Any, closure: Any = None, **_kwargs: Any) -> Any:
        hooks.acted.add("optimizer")
        return None if closure is None else closure()

    setattr(skip, _MARK, True)
    return skip


def leave_out_communication(torch: Any, hooks: KnobHooks) -> None:
    """Switch off synchronization of gradients and buffers in DistributedDataParallel made from now on, as no_sync does."""
    if not torch.distributed.is_available():
        hooks.reasons["communication"] = "this PyTorch has no torch.distributed"
        return
    hooks.reasons["communication"] = (
        "the program does not use DistributedDataParallel; other communication (FSDP, explicit collectives) cannot be left out"
    )
    parallel: Any = torch.nn.parallel.DistributedDataParallel
    original = parallel.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the method
        original(self, *args, **kwargs)
        self.require_backward_grad_sync = False
        self.require_forward_param_sync = False
        hooks.acted.add("communication")

    parallel.__init__ = __init__


# Module -> functions of it that log; they are replaced at the first step, when the program has imported them.
_FUNCTIONS = {
    "wandb": ("log",),
    "mlflow": ("log_metric", "log_metrics", "log_param", "log_params"),
}
_WRITERS = (("torch.utils.tensorboard.writer", "SummaryWriter"), ("tensorboardX.writer", "SummaryWriter"))


def leave_out_logging(_torch: Any, hooks: KnobHooks) -> None:
    """Silence print, logging, known loggers and tqdm's bars from the first step on.

    What the program computes for them still runs.
    """
    hooks.reasons["logging"] = (
        "the program uses none of the known ways to log (print, logging, SummaryWriter, wandb, mlflow, tqdm)"
    )

    def silent(*_args: Any, **_kwargs: Any) -> None:
        hooks.acted.add("logging")

    def first_step() -> None:
        builtins.print = silent
        logging.Logger.handle = silent  # type: ignore[method-assign]
        _silence_libraries(silent)
        _silence_bars(hooks)

    hooks.at_first_step.append(first_step)


def _silence_libraries(silent: Callable[..., None]) -> None:
    for name, functions in _FUNCTIONS.items():
        for function in functions:
            if hasattr(sys.modules.get(name), function):
                setattr(sys.modules[name], function, silent)
    for name, class_ in _WRITERS:
        writer = getattr(sys.modules.get(name), class_, None)
        for method in dir(writer) if writer else ():
            if method.startswith("add_"):
                setattr(writer, method, silent)


def _silence_bars(hooks: KnobHooks) -> None:
    """Let tqdm's progress bars count without drawing; nothing happens where tqdm is not imported."""
    bar: Any = getattr(sys.modules.get("tqdm.std"), "tqdm", None)
    if bar is None:
        return

    def display(*_args: Any, **_kwargs: Any) -> None:
        hooks.acted.add("logging")

    bar.display = display
    bar.refresh = display
