"""What only shows while the program runs: which loaders it iterates, whether it works under autocast, its backward passes."""

from __future__ import annotations

import functools
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from traceq.annotate import emit
from traceq.capture.replace import replace
from traceq.capture.snapshot import objects

# A program that makes a loader for each file it reads must not fill memory.
_MOST_LOADERS = 64


class Seen:
    """What was seen of the program. Everything is watched before the window, in it only the begin of passes over data."""

    def __init__(self) -> None:
        self._loaders: dict[str, _Loader] = {}
        self._types: Counter[str] = Counter()
        self._backward = 0
        self._backward_passes: Counter[int] = Counter()
        self._steps = 0
        self._leave_autocast: Callable[[], None] | None = None

    def watch(self, torch: Any) -> Callable[[], None]:
        """Watch from now on; returns what ends it."""
        undo = ExitStack()
        with suppress(Exception):  # a PyTorch that is different inside: then that is not known
            undo.callback(self._watch_loaders())
        with suppress(Exception):
            self._leave_autocast = self._watch_autocast(torch)
            undo.callback(self._leave_autocast)
        return undo.close

    def step_ended(self) -> None:
        """A step before the window ended."""
        self._steps += 1
        self._backward_passes[self._backward] += 1
        self._backward = 0

    def backward_begins(self) -> None:
        """A backward pass begins."""
        self._backward += 1

    def window_opens(self) -> None:
        """The window is about to open: what costs time at each step is over, and batches fetched from now on are its."""
        if self._leave_autocast is not None:
            self._leave_autocast()
        for each in self._loaders.values():
            each.window_opens()

    def loaders(self, found: objects.Alive) -> list[objects.Facts]:
        """The facts of each loader that was iterated, first those from which the window fetched most."""
        for each in found["loader"]:
            with suppress(Exception):
                self._iterated(each)
        listed = sorted(self._loaders.values(), key=lambda each: -each.fetched())
        return [each.facts for each in listed]

    def autocast(self, compiled: objects.Facts) -> str | None:
        """The type that autocast was seen with, "off" where it would have been seen, None where it cannot be told."""
        if self._types:
            return ", ".join(sorted(self._types))
        return "off" if self._steps and self._leave_autocast is not None and compiled == {"compile": "off"} else None

    def backward_passes(self) -> int | None:
        """How often a step went backward, where all steps before the window did as often, and did."""
        (passes,) = self._backward_passes if len(self._backward_passes) == 1 else (0,)
        return passes or None

    def _watch_loaders(self) -> Callable[[], None]:
        from torch.utils.data import dataloader

        batches_class: Any = dataloader._BaseDataLoaderIter  # noqa: SLF001 - as in Phases
        original = batches_class.__init__

        @functools.wraps(original)
        def __init__(batches: Any, loader: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the method
            original(batches, loader, *args, **kwargs)
            with suppress(Exception):
                self._iterated(batches, loader)

        return replace(batches_class, "__init__", __init__)

    def _iterated(self, batches: Any, loader: Any = None) -> None:
        facts = objects.loader(batches, loader)
        key = repr(sorted(facts.items()))
        if key not in self._loaders and len(self._loaders) < _MOST_LOADERS:
            method = None if loader is None else objects.worker_start_method(loader)
            self._loaders[key] = _Loader({**facts, **({"worker_start_method": method} if method else {})})
        if key in self._loaders:
            self._loaders[key].take(batches)

    def _watch_autocast(self, torch: Any) -> Callable[[], None]:
        autocast: Any = torch.amp.autocast_mode.autocast
        original = autocast.__enter__

        @functools.wraps(original)
        def __enter__(context: Any) -> Any:  # noqa: N807 - it becomes the method
            if not emit.compiling() and getattr(context, "_enabled", False):
                self._types[objects.type_name(context.fast_dtype)] += 1
            return original(context)

        return replace(autocast, "__enter__", __enter__)


class _Loader:
    """A loader's facts, and the batches that its newest pass has given."""

    def __init__(self, facts: objects.Facts) -> None:
        self.facts = facts
        self._batches: weakref.ref[Any] | None = None
        self._before = 0

    def take(self, batches: Any) -> None:
        """A pass begins, or goes on."""
        if self._batches is None or self._batches() is not batches:
            self._batches, self._before = weakref.ref(batches), 0

    def window_opens(self) -> None:
        """Count from here."""
        self._before = self._given()

    def fetched(self) -> int:
        """Batches since the window opened, or since the pass began."""
        given = self._given()
        return given - self._before if given >= self._before else given

    def _given(self) -> int:
        batches = self._batches and self._batches()
        return int(getattr(batches, "_num_yielded", 0))
