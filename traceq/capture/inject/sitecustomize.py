"""Module that Python runs by itself at the start of every process of a program under `traceq record`.

Python finds it through PYTHONPATH. It waits for the program to import torch, calls traceq.capture.run_torch then, and
starts the sitecustomize that this one hides. Whatever fails here ends as a line for the parent: the program goes on.
Any Python of the program reads this file, so it does without what came after Python 3.7.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False  # importing it from typing would double the start of every process
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would double it too
PACKAGE = os.path.dirname(os.path.dirname(HERE))  # noqa: PTH120

OLDEST_PYTHON = (3, 11)


class Status:
    """The file in which this process reports events to the recording parent, one line of JSON each."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def say(self, kind: str, **facts: object) -> None:
        """Append an event of this `kind` with its `facts`, process id, RANK and time as a line of JSON to this process's file.

        A forked child has a file of its own. An OSError is ignored.
        """
        facts.update(kind=kind, pid=os.getpid(), rank=os.environ.get("RANK"), time=time.time())
        path = os.path.join(self.directory, f"{os.getpid()}.jsonl")  # noqa: PTH118
        try:
            with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123
                file.write(json.dumps(facts) + "\n")
        except OSError:
            # The parent is gone and its directory with it, or the disk is full: there is nobody to tell.
            return


class AfterTorch:
    """An import hook that calls the function `then` once, when the module torch has been imported."""

    def __init__(self, status: Status, then: Callable[[], None]) -> None:
        self.status = status
        self.then = then
        self.searching = False

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return the spec of torch with a loader that calls `then` after the import; None for other modules.

        None also where torch cannot be watched, which is reported as a reason: Python then imports it as usual.
        """
        if name != "torch" or self.searching:
            return None
        self.searching = True
        try:
            return self.with_callback()
        except Exception as error:  # noqa: BLE001 - the program must find its torch, whatever fails here
            self.status.say("reason", text=f"the import of torch could not be watched: {error!r}")
            return None
        finally:
            self.searching = False

    def with_callback(self) -> ModuleSpec | None:
        """Return the spec of torch from the other import hooks, with a loader that calls `then` after it; None without torch."""
        from importlib.util import find_spec

        spec = find_spec("torch")
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.then()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class WhereTraceqIs:
    """An import hook that finds the recording parent's traceq when the program's own Python has none."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return the spec of the parent's traceq, which makes no package beside it importable; None for other module names."""
        if name != "traceq":
            return None
        from importlib.util import spec_from_file_location

        init = os.path.join(PACKAGE, "__init__.py")  # noqa: PTH118
        return spec_from_file_location(name, init, submodule_search_locations=[PACKAGE])


def watch(given: str) -> None:
    """Have the recorder installed in this process once the program has imported torch; `given` holds its options as JSON text.

    With the option `trial` that is run_trial, else run_torch. What goes wrong is reported to the parent, never
    raised.
    """
    options = json.loads(given)
    status = Status(options["status"])
    status.say("python")

    def begin() -> None:
        status.say("torch")
        if sys.version_info < OLDEST_PYTHON:
            status.say("reason", text="the program runs on a Python older than 3.11, which traceq cannot record")
            return
        try:
            sys.meta_path.append(WhereTraceqIs)
            if "trial" in options:
                from traceq.capture.run_trial import install
            else:
                from traceq.capture.run_torch import install
            install(options, status.say)
        except Exception as error:  # noqa: BLE001 - the program must go on, whatever fails here
            status.say("reason", text=f"the recording could not be prepared: {error!r}")

    sys.meta_path.insert(0, AfterTorch(status, begin))


def start_hidden() -> None:
    """Run the program's own module sitecustomize, if there is one: this module, of the same name, hides it.

    Its errors are raised, and Python reports them as ever.
    """
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("TRACEQ_RECORD"):
    try:
        watch(os.environ["TRACEQ_RECORD"])
    except Exception as error:  # noqa: BLE001 - the program must start, whatever fails here
        sys.stderr.write(f"traceq: this process is not recorded: {error!r}\n")
    start_hidden()
