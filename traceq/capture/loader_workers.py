"""Sample the stacks of a DataLoader's worker processes while the training process records its steps.

A trace has nothing of these processes. Each looks some 30 times a second whether a file in the recording's directory is there:
while it is, its stacks are sampled; when it is gone, they are written beside that file, and `traceq record` puts those of all
workers beside the trace.
"""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from traceq.capture.stack_sampler import StackSampler
from traceq.capture.watch import replace_attribute
from traceq.common.files import replace_file
from traceq.common.version import __version__
from traceq.formats.made_with import path_beside, size_of_content
from traceq.formats.worker_samples import MOST_STACKS, SUFFIX, VERSION

# Seconds: a window of some steps begins late by so much, and a look takes some 100 us of CPU.
_LOOK_S = 0.03


class LoaderWorkers:
    """The loader workers of this process, told by a file in the directory `status` to sample their stacks."""

    def __init__(self, status: Path) -> None:
        self._status = status
        self._is_watching = False

    def watch_workers(self) -> Callable[[], None]:
        """Have workers that are started from now on wait for begin_sampling(); return the function that stops this."""
        from torch.utils.data._utils import worker

        original = worker._worker_loop  # noqa: SLF001 - the target of each worker process
        status = self._status

        # Processes that are not forked find the loop by its name, which wraps() keeps, and then their own of this.
        @functools.wraps(original)
        def _worker_loop(*args: Any, **kwargs: Any) -> Any:
            sampled = _SampledWorker(status)
            try:
                return original(*args, **kwargs)
            finally:
                sampled.end_sampling()

        self._is_watching = True
        return replace_attribute(worker, "_worker_loop", _worker_loop)

    def begin_sampling(self) -> None:
        """Tell the workers to sample their stacks from now on, if they wait for it; failures are ignored."""
        if not self._is_watching:
            return
        with suppress(OSError):
            _flag_path(self._status, os.getpid()).touch()

    def end_sampling(self) -> None:
        """Tell the workers to end, and to write their samples; without begin_sampling() nothing is done."""
        with suppress(OSError):
            _flag_path(self._status, os.getpid()).unlink()


def put_beside(trace: Path, status: Path, trainer: int) -> None:
    """Write the samples of the workers of the process `trainer` beside its complete trace; nothing without samples.

    Failures are ignored: a program is recorded for its trace.
    """
    with suppress(Exception):
        workers = [json.loads(path.read_text("utf-8")) for path in sorted(status.glob(f"{trainer}.worker-*.json"))]
        if not workers:
            return
        size = size_of_content(trace)
        content: dict[str, object] = {"traceq_workers": VERSION, "traceq": __version__}
        content |= {} if size is None else {"trace_bytes": size}
        with replace_file(path_beside(trace, SUFFIX)) as file:
            file.write((json.dumps(content | {"workers": workers}) + "\n").encode())


def _flag_path(status: Path, trainer: int) -> Path:
    return status / f"{trainer}.sampling"


class _SampledWorker:
    """The worker that this process is, with a thread that samples it while its trainer records; it never fails the worker."""

    def __init__(self, status: Path) -> None:
        parent = multiprocessing.parent_process()
        self._status, self._trainer = status, 0 if parent is None else parent.pid or 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample_when_told, name="traceq loader worker", daemon=True)
        with suppress(RuntimeError):  # no thread can be started
            self._thread.start()

    def end_sampling(self) -> None:
        """End the thread when it has written its samples, if any."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _sample_when_told(self) -> None:
        """Wait for the file that tells to begin, sample until it is gone or the worker ends, and write the samples."""
        # The recording's directory is gone, the disk is full, ...: nobody is there to be told.
        with suppress(Exception):
            flag = _flag_path(self._status, self._trainer)
            while not os.path.exists(flag):  # noqa: PTH110 - a third of the time of pathlib's
                if self._stopped.wait(_LOOK_S) or not os.path.exists(self._status):  # noqa: PTH110
                    return
            sampler = StackSampler()
            sampler.begin_sampling()
            while os.path.exists(flag) and not self._stopped.wait(_LOOK_S):  # noqa: PTH110
                pass
            found = sampler.end_sampling()
            if found:
                path = self._status / f"{self._trainer}.worker-{os.getpid()}.json"
                with replace_file(path) as file:
                    file.write(json.dumps(_summarize_samples(found, _worker_number())).encode())


def _worker_number() -> int | None:
    from torch.utils.data import get_worker_info

    return getattr(get_worker_info(), "id", None)


def _summarize_samples(found: dict[str, Any], number: int | None) -> dict[str, object]:
    """Return the stacks of this worker's main thread, the most frequent first, with the number of samples of each."""
    main = threading.main_thread().native_id
    counted: Counter[int] = Counter()
    for thread, stack, _ in found["samples"]:
        counted[stack] += thread == main
    functions = found["functions"]
    kept = (+counted).most_common(MOST_STACKS)
    used = sorted({function for stack, _ in kept for function in found["stacks"][stack]})
    places = {function: place for place, function in enumerate(used)}
    return {
        "pid": os.getpid(),
        "worker": number,
        "period_ns": found["period_ns"],
        "functions": [functions[function] for function in used],
        "own": [places[function] for function in found["own"] if function in places],
        "stacks": [[samples, [places[function] for function in found["stacks"][stack]]] for stack, samples in kept],
    }
