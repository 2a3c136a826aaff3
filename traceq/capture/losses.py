"""Keep the losses of a program's first steps, and what they depend on: its batches and its random numbers.

Nothing waits for a device: losses are copied there, and read once they are asked for.
"""

from __future__ import annotations

import functools
import math
import random
import sys
import zlib
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from traceq.annotate import emit
from traceq.capture.knobs.knob import KnobHooks
from traceq.capture.knobs.modules import change_models
from traceq.capture.watch import replace_attribute

# Later steps tell less: training amplifies the smallest difference.
MOST_STEPS = 10
# Elements of a tensor that stand for all of them, and outputs of a call that are kept.
_SAMPLED = 4096
_MOST_OUTPUTS = 4
# An attribute of a scaled loss: the loss before GradScaler scaled it.
_UNSCALED = "traceq_unscaled"


class LossWatch:
    """The losses of the first steps: the scalars on which the program calls backward(), as it does in every framework.

    Also kept by step: hashes of the batches that DataLoaders gave, and of the state of random numbers at its end.
    """

    def __init__(self) -> None:
        self._undo = ExitStack()
        self._is_over = False
        self._torch: Any = None
        self.start_over()

    def start_over(self) -> None:
        """Forget what was kept, in a forked child; a watch that has ended stays so."""
        self._is_within = False
        self._losses: list[list[Any]] = [[]]
        self._outputs: list[list[Any]] = [[]]
        self._batches: list[list[str]] = [[]]
        self._random: list[str] = []
        self._other_random: list[int] = []
        self._seed: int | None = None
        self._type: str | None = None

    def watch_steps(self, torch: Any) -> Callable[[], None]:
        """Begin with the program's first step; return the function that ends the watch."""
        self._torch = torch
        self._undo.callback(replace_attribute(torch.autograd, "backward", self._watch_backward(torch)))
        with suppress(
            Exception
        ):  # a PyTorch that is different inside: then losses are compared without what is missing
            scaler: Any = torch.amp.GradScaler
            self._undo.callback(replace_attribute(scaler, "scale", self._watch_scale(scaler.scale)))
        with suppress(Exception):
            from torch.utils.data import dataloader

            batches_class: Any = dataloader._BaseDataLoaderIter  # noqa: SLF001 - as in Phases
            self._undo.callback(replace_attribute(batches_class, "__next__", self._watch_fetch(batches_class.__next__)))
        return self.end_watch

    def watch_outputs(self, hooks: KnobHooks) -> None:
        """Also keep the norms of the outputs of the outermost modules, from the second step on, once knobs have acted."""
        change_models(self._watch_model, hooks)

    def step_ended(self) -> None:
        """End a step: what follows belongs to the next one. After the last one that counts the watch ends."""
        if self._is_over:
            return
        self._random.append(self._hash_random())
        self._other_random.append(_hash_other_random())
        if len(self._random) == 1:
            with suppress(Exception):
                self._seed = int(self._torch.initial_seed())
        for kept in (self._losses, self._outputs, self._batches):
            kept.append([])
        if len(self._random) == MOST_STEPS:
            self.end_watch()

    def end_watch(self) -> None:
        """End the watch; what was kept stays."""
        self._is_over = True
        self._undo.close()

    def describe_steps(self) -> dict[str, Any] | None:
        """Return what was kept as plain values, waiting for the device; None without a whole step or a loss.

        A number that is not finite is None.
        """
        steps = len(self._random)
        losses = [[_read_number(loss) for loss in step] for step in self._losses[:steps]]
        if not any(losses):
            return None
        return {
            "losses": losses,
            "outputs": [[_read_number(norm) for norm in step] for step in self._outputs[:steps]],
            "batches": self._batches[:steps],
            "random": self._describe_random(),
            "seed": self._seed,
            "type": self._type,
        }

    def _describe_random(self) -> list[str]:
        """Return a hash of random numbers for each step: PyTorch's, and with them Python's and NumPy's if steps draw from those.

        Where no step does, their states say nothing of the steps: Python's differs from run to run unless it is seeded.
        """
        if len(set(self._other_random)) <= 1:
            return self._random
        return [f"{own}{other:08x}" for own, other in zip(self._random, self._other_random, strict=True)]

    def _watch_backward(self, torch: Any) -> Any:
        original = torch.autograd.backward

        @functools.wraps(original)
        def keep_and_go_back(*args: Any, **kwargs: Any) -> Any:
            # Checkpointing calls it again within.
            if self._is_over or self._is_within or emit.is_compiling():
                return original(*args, **kwargs)
            self._is_within = True
            try:
                self._keep_losses(args[0] if args else kwargs.get("tensors"))
                return original(*args, **kwargs)
            finally:
                self._is_within = False

        return keep_and_go_back

    def _keep_losses(self, tensors: Any) -> None:
        with suppress(Exception):  # the program must go on
            for tensor in (tensors,) if isinstance(tensors, self._torch.Tensor) else tuple(tensors):
                loss = getattr(tensor, _UNSCALED, tensor)
                if loss.numel() == 1 and not self._is_capturing():
                    self._type = self._type or str(loss.dtype).removeprefix("torch.")
                    self._losses[-1].append(loss.detach().clone())

    def _is_capturing(self) -> bool:
        """Return whether CUDA records a graph now, into which nothing of traceq's may get."""
        cuda = self._torch.cuda
        return bool(cuda.is_initialized() and cuda.is_current_stream_capturing())

    def _watch_scale(self, original: Any) -> Any:
        @functools.wraps(original)
        def scale_and_remember(scaler: Any, outputs: Any) -> Any:
            scaled = original(scaler, outputs)
            if not self._is_over and isinstance(outputs, self._torch.Tensor) and not emit.is_compiling():
                setattr(scaled, _UNSCALED, outputs.detach())
            return scaled

        return scale_and_remember

    def _watch_fetch(self, original: Any) -> Any:
        @functools.wraps(original)
        def __next__(batches: Any) -> Any:  # noqa: N807 - it becomes the method
            batch = original(batches)
            if not self._is_over:
                with suppress(Exception):  # leaves that are read in another way: this batch is not compared
                    self._batches[-1].append(self._hash_batch(batch))
            return batch

        return __next__

    def _hash_batch(self, batch: Any) -> str:
        """Return hashes of the batch's shapes and types, of its whole numbers (labels, tokens), and of its other numbers."""
        from torch.utils import _pytree

        is_mapping = hasattr(batch, "keys") and hasattr(batch, "__getitem__")
        shapes = whole = other = 0
        for leaf in _pytree.tree_leaves(dict(batch) if is_mapping else batch):
            if not isinstance(leaf, self._torch.Tensor):
                continue
            shapes = zlib.crc32(f"{tuple(leaf.shape)} {leaf.dtype}".encode(), shapes)
            if leaf.device.type != "cpu" or not leaf.numel():
                continue
            sample = self._take_sample(leaf.detach())
            content = sample.view(self._torch.uint8).numpy().tobytes()
            if leaf.is_floating_point() or leaf.is_complex():
                other = zlib.crc32(content, other)
            else:
                whole = zlib.crc32(content, whole)
        return f"{shapes:08x}.{whole:08x}.{other:08x}"

    def _take_sample(self, tensor: Any) -> Any:
        """Return some _SAMPLED elements of the tensor, in the order of its dimensions whatever its strides; it is not copied."""
        step = max(1, tensor.numel() // _SAMPLED)
        if tensor.is_contiguous():
            return tensor.view(-1)[::step].contiguous()
        place, index = self._torch.arange(0, tensor.numel(), step, device=tensor.device), []
        for size in reversed(tensor.shape):
            index.append(place % size)
            place = place // size
        return tensor[tuple(reversed(index))]

    def _hash_random(self) -> str:
        """Return a hash of the states of PyTorch's random numbers (CPU, and the current GPU); empty if unknown."""
        torch = self._torch
        with suppress(Exception):
            states = [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if torch.cuda.is_initialized() else [])]
            return f"{zlib.crc32(b''.join(state.numpy().tobytes() for state in states)):08x}"
        return ""

    def _watch_model(self, model: Any) -> None:
        # What compile() made is called in place of forward; changing forward would compile it anew.
        name = "forward" if getattr(model, "_compiled_call_impl", None) is None else "_compiled_call_impl"
        original = getattr(model, name)

        @functools.wraps(original)
        def call_and_keep(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not self._is_over and not emit.is_compiling() and self._torch.is_grad_enabled():
                with suppress(Exception):  # the program must go on
                    self._keep_norms(result)
            return result

        setattr(model, name, call_and_keep)

    def _keep_norms(self, result: Any) -> None:
        from torch.utils import _pytree

        tensors = [leaf for leaf in _pytree.tree_leaves(result) if isinstance(leaf, self._torch.Tensor)]
        floats = [tensor for tensor in tensors if tensor.is_floating_point() and tensor.numel()]
        if not self._is_capturing():
            self._outputs[-1] += [tensor.detach().float().norm() for tensor in floats[:_MOST_OUTPUTS]]


def _hash_other_random() -> int:
    """Return a hash of the states of Python's `random` and of NumPy's global generator; not of the program's own generators."""
    state = zlib.crc32(repr(random.getstate()).encode())
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        with suppress(Exception):  # the program must go on
            _, key, position, *_ = numpy_random.get_state()
            state = zlib.crc32(key.tobytes() + int(position).to_bytes(2), state)
    return state


def _read_number(tensor: Any) -> float | None:
    """Return the only number in the tensor, waiting for its device; None if it is not finite."""
    number = float(tensor)
    return number if math.isfinite(number) else None
