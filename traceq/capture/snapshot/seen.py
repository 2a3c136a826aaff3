"""Watch what only shows while the program runs: the loaders it iterates, autocast, its backward passes."""

from __future__ import annotations

import functools
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from traceq.annotate import emit
from traceq.capture.snapshot import program
from traceq.capture.watch import replace_attribute

# A program that makes a loader for each file it reads must not fill memory.
_MOST_LOADERS = 64


class Seen:
    """Observations of the running program. Within the window only the begin of passes over DataLoaders is watched."""

    def __init__(self) -> None:
        self._loaders: dict[str, _SeenLoader] = {}
        self._types: Counter[str] = Counter()
        self._backward = 0
        self._backward_passes: Counter[int] = Counter()
        self._steps = 0
        self._leave_autocast: Callable[[], None] | None = None

    def watch(self, torch: Any) -> Callable[[], None]:
        """Start watching; return the function that stops the watch."""
        undo = ExitStack()
        with suppress(Exception):  # a PyTorch that is different inside: then that is not known
            undo.callback(self._watch_loaders())
        with suppress(Exception):
            self._leave_autocast = self._watch_autocast(torch)
            undo.callback(self._leave_autocast)
        return undo.close

    def step_ended(self) -> None:
        """Count a step before the window."""
        self._steps += 1
        self._backward_passes[self._backward] += 1
        self._backward = 0

    def backward_begins(self) -> None:
        """Count a backward pass."""
        self._backward += 1

    def window_opens(self) -> None:
        """Stop watching autocast, which costs time at each step, and count batches anew for the window."""
        if self._leave_autocast is not None:
            self._leave_autocast()
        for loader in self._loaders.values():
            loader.window_opens()

    def loaders(self, found: program.Alive) -> list[program.Facts]:
        """Return facts about each loader that was iterated; those from which the window fetched most batches come first.

        Loaders whose passes began before the watch come last: how many of their batches the window fetched is not known.
        """
        watched = [loader for loader in self._loaders.values() if loader.fetched()]
        for batches in found["loader"]:
            with suppress(Exception):
                self._note_loader(batches)
        listed = sorted(self._loaders.values(), key=lambda loader: (loader not in watched, -loader.fetched()))
        return [loader.facts for loader in listed]

    def autocast(self, compiled: program.Facts) -> str | None:
        """Return the types that autocast was seen with, "off" if it was certainly not used, None if unknown."""
        if self._types:
            return ", ".join(sorted(self._types))
        return "off" if self._steps and self._leave_autocast is not None and compiled == {"compile": "off"} else None

    def backward_passes(self) -> int | None:
        """Return the number of backward passes per step; None unless it was equal in all steps before the window, and not 0."""
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
                self._note_loader(batches, loader)

        return replace_attribute(batches_class, "__init__", __init__)

    def _note_loader(self, batches: Any, loader: Any = None) -> None:
        facts = program.describe_loader(batches, loader)
        key = repr(sorted(facts.items()))
        if key not in self._loaders and len(self._loaders) < _MOST_LOADERS:
            method = None if loader is None else program.worker_start_method(loader)
            self._loaders[key] = _SeenLoader({**facts, **({"worker_start_method": method} if method else {})})
        if key in self._loaders:
            self._loaders[key].take(batches)

    def _watch_autocast(self, torch: Any) -> Callable[[], None]:
        autocast: Any = torch.amp.autocast_mode.autocast
        original = autocast.__enter__

        @functools.wraps(original)
        def __enter__(context: Any) -> Any:  # noqa: N807 - it becomes the method
            if not emit.is_compiling() and getattr(context, "_enabled", False):
                self._types[program.type_name(context.fast_dtype)] += 1
            return original(context)

        return replace_attribute(autocast, "__enter__", __enter__)


class _SeenLoader:
    """A loader's facts, and the number of batches that its newest pass has given."""

    def __init__(self, facts: program.Facts) -> None:
        self.facts = facts
        self._batches: weakref.ref[Any] | None = None
        self._before = 0

    def take(self, batches: Any) -> None:
        """Follow the pass `batches`, which has just begun or goes on."""
        if self._batches is None or self._batches() is not batches:
            self._batches, self._before = weakref.ref(batches), 0

    def window_opens(self) -> None:
        """Count batches from now on."""
        self._before = self._count_given()

    def fetched(self) -> int:
        """Return the number of batches fetched since the window opened, or since a later pass began."""
        given = self._count_given()
        return given - self._before if given >= self._before else given

    def _count_given(self) -> int:
        batches = self._batches and self._batches()
        return int(getattr(batches, "_num_yielded", 0))
