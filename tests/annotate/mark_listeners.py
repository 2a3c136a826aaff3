"""Tools that listen to marks in the process of the test."""

from __future__ import annotations

import itertools
import threading
from functools import cache
from types import SimpleNamespace


class Tool:
    """Stands in for a domain of nvtx that a tool listens to, and checks what NVTX leaves to the caller."""

    def __init__(self):
        self.calls = []
        self.open = {}
        self._numbers = itertools.count(1)
        self._thread_names = {}

    def _thread(self):
        return self._thread_names.setdefault(threading.get_ident(), len(self._thread_names))

    def _stack(self):
        return self.open.setdefault(self._thread(), [])

    @cache  # noqa: B019 - as nvtx has it
    def get_registered_string(self, text):
        raise AssertionError(f"nvtx would keep {text} for ever")

    get_registered_string.__wrapped__ = lambda _self, text: text

    def get_event_attributes(self, message=None, color=None):
        return SimpleNamespace(message=message, color=color)

    def push_range(self, attributes):
        self._stack().append(attributes.message)
        self.calls.append(f"push {attributes.message}")

    def pop_range(self):
        # NVTX pops whatever is on top: which one that was is for the test to see.
        self.calls.append(f"pop {self._stack().pop()}")

    def start_range(self, attributes):
        number = next(self._numbers)
        self.open[f"range {number}"] = attributes.message
        self.calls.append(f"start {attributes.message}")
        return number

    def end_range(self, number):
        self.calls.append(f"end {self.open.pop(f'range {number}')}")

    def mark(self, attributes):
        self.calls.append(f"mark {attributes.message}")

    def left_open(self):
        """Names of ranges that nobody has ended."""
        stacks = (names if isinstance(names, list) else [names] for names in self.open.values())
        return [name for names in stacks for name in names]
