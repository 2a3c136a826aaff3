"""The marks that `traceq record` sets by itself, while its window is open: fetches, forward, backward, optimizer, steps."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from threading import get_ident
from typing import Any

from traceq.annotate import emit, names
from traceq.capture.watch import open_program_marks

# Other phases may lie in this one: the closure that an optimizer calls runs forward and backward.
_HOLDS_PHASES = "optimizer"

# As they are before the program's marks are watched.
_begin, _pop = emit.begin, emit.pop


_FETCH = names.fetch("")[:-1]


class Phases:
    """Marks of steps, phases and fetches within a window; phases are begun only there, and on the training thread."""

    def __init__(self, before: Callable[[], None]) -> None:
        """Prepare for marks; `before` is called before each phase or fetch on the training thread."""
        self._before = before
        self.thread: int | None = None
        self._open: list[tuple[str, emit.Mark | None]] = []
        self._step: emit.Mark | None = None
        self._undo: list[Callable[[], None]] = []

    def start(self, torch: Any) -> None:
        """Take this thread for the training's; mark its DataLoader fetches and forward passes, and allow phases, from now on."""
        self.thread = get_ident()
        self._watch_fetches()
        self._watch_modules(torch)

    def stop(self) -> None:
        """End the open phases and remove all hooks.

        The mark of an open step stays open, so that the trace shows the step as unfinished.
        """
        while self._open:
            _pop(self._open.pop()[1])
        self.thread = None
        while self._undo:
            self._undo.pop()()

    def forget(self) -> None:
        """Drop the open phases without ending them, and remove all hooks: in a forked child they are the parent's."""
        self._open.clear()
        self.stop()

    def next_step(self, number: int) -> None:
        """End the open step and begin step `number`. The program's own ranges may cross the border between steps."""
        self.end_step()
        self._step = _push(names.step(number), crosses=True)

    def end_step(self) -> None:
        """End the mark of the open step, if there is one."""
        _pop(self._step)
        self._step = None

    def begin(self, label: str) -> bool:
        """Begin the mark of the phase `label` (or of a fetch, for "fetch"); return whether it was begun.

        It is not begun outside a window, on other threads, within another phase except optimizer, or within an
        equal mark of the program.
        """
        if self.thread is None or get_ident() != self.thread:
            return False
        self._before()
        if self._open and self._open[-1][0] != _HOLDS_PHASES:
            return False
        name = names.fetch("loader") if label == "fetch" else names.phase(label)
        if any(mark.startswith(_FETCH) if label == "fetch" else mark == name for mark in open_program_marks()):
            return False
        self._open.append((label, _push(name)))
        return True

    def end(self, *, begun: bool) -> None:
        """End the innermost open phase if begin() returned true as `begun`, unless the window's end has ended it already."""
        if begun and self._open and get_ident() == self.thread:
            _pop(self._open.pop()[1])

    def _watch_fetches(self) -> None:
        """Mark each fetch of a batch from any DataLoader, also from iterators that exist already."""
        from torch.utils.data import dataloader

        batches_class: Any = dataloader._BaseDataLoaderIter  # noqa: SLF001 - unlike DataLoader.__iter__ it leaves types alone
        original = batches_class.__next__

        @functools.wraps(original)
        def fetch(batches: Any) -> Any:
            begun = self.begin("fetch")
            try:
                return original(batches)
            finally:
                self.end(begun=begun)

        batches_class.__next__ = fetch
        self._undo.append(lambda: setattr(batches_class, "__next__", original))

    def _watch_modules(self, torch: Any) -> None:
        """Mark as forward each call of an outermost module in training mode, while gradients are enabled.

        PyTorch's global module hooks see the calls: unlike a changed forward, they keep compiled modules valid.
        """
        from torch.nn.modules import module

        depth = 0
        begun = False

        def before(called: Any, _args: object) -> None:
            nonlocal depth, begun
            if emit.is_compiling() or get_ident() != self.thread:
                return
            if depth == 0 and called.training and torch.is_grad_enabled():
                begun = self.begin("forward")
            depth += 1

        def after(_called: object, _args: object, _result: object) -> None:
            nonlocal depth, begun
            if emit.is_compiling() or get_ident() != self.thread or depth == 0:
                return
            depth -= 1
            if depth == 0:
                self.end(begun=begun)
                begun = False

        # always_call: also for a forward that raises.
        hooks = (
            module.register_module_forward_pre_hook(before),
            module.register_module_forward_hook(after, always_call=True),
        )
        self._undo += [hook.remove for hook in hooks]
        self._undo.append(_without_warning())


def _without_warning() -> Callable[[], None]:
    """Suppress torch.compile's warning about hooks on modules; return the function that undoes this."""
    known = list(warnings.filters)
    warnings.filterwarnings("ignore", message="Using `torch.compile.module.` when there are global hooks")
    added = [rule for rule in warnings.filters if rule not in known]

    def undo() -> None:
        for rule in added:
            if rule in warnings.filters:
                warnings.filters.remove(rule)  # type: ignore[attr-defined]

    return undo


def _push(name: str, *, crosses: bool = False) -> emit.Mark | None:
    return _begin(name, crosses=crosses) if emit.is_active() else None
