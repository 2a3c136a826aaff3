"""Work inside the processes of a program under `traceq experiment`: turn knobs, and measure steps.

The steps are found as by `traceq record`. Those that count are measured without a profiler; a window of profiled steps may
follow, and then the parent ends the program.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from traceq.annotate import emit
from traceq.capture import files
from traceq.capture.knobs import registry
from traceq.capture.knobs.ablations import GIVES_FIRST
from traceq.capture.knobs.knob import KnobHooks
from traceq.capture.knobs.own_values import read_own_values
from traceq.capture.run_torch import Recorder, Say

# Steps that are measured at most beyond those asked for: each is kept.
_MOST = 5_000

# Of NVML.
_OK = 0
# The counter moves ten to fifty times a second: less time than this cannot be told, s.
SHORTEST = 1.0

_PAYLOAD = "traceq.payload#"


class TrialWork:
    """The work done in the counted steps of a trial: amounts that the program marks, and samples in its fetched batches."""

    def __init__(self) -> None:
        self._marked: dict[str, float] = {}
        self._fetched: list[int | None] = []
        self._counts = False

    def begin(self) -> None:
        """Start summing amounts and samples, from zero."""
        self._marked, self._fetched, self._counts = {}, [], True

    def per_step(self, steps: int) -> dict[str, float]:
        """Return the sums divided by `steps`, by name: marked amounts, else `samples` in the fetched batches.

        Empty if there is neither, or the size of a batch is unknown. Ends the summing.
        """
        self._counts = False
        sizes = [size for size in self._fetched if size is not None]
        is_known = bool(sizes) and len(sizes) == len(self._fetched)
        found = self._marked or ({"samples": float(sum(sizes))} if is_known else {})
        return {name: total / steps for name, total in found.items()}

    def watch(self, torch: Any) -> None:
        """Wrap the functions of this process through which payload marks and DataLoader fetches go, to sum them."""
        # All marks come through here, as the recorder lets them be active.
        emit.write_instant = _call_first(emit.write_instant, self._mark)
        self._watch_fetches(torch)

    def _mark(self, name: str) -> None:
        if self._counts and name.startswith(_PAYLOAD):
            for pair in name.removeprefix(_PAYLOAD).split(","):
                key, _, value = pair.partition("=")
                self._marked[key] = self._marked.get(key, 0.0) + float(value)

    def _watch_fetches(self, _torch: Any) -> None:
        from torch.utils.data import dataloader

        batches_class: Any = dataloader._BaseDataLoaderIter  # noqa: SLF001 - unlike DataLoader.__iter__ it leaves types alone
        made, asked = batches_class.__init__, batches_class._next_index  # noqa: SLF001
        reset, original = batches_class._reset, batches_class.__next__  # noqa: SLF001

        @functools.wraps(made)
        def __init__(batches: Any, loader: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the method
            batches.traceq_sizes = deque()
            # DataLoader lets nobody set an attribute of its own.
            batches.traceq_first = loader.__dict__.setdefault("traceq_first", [])
            made(batches, loader, *args, **kwargs)

        @functools.wraps(asked)
        def _next_index(batches: Any) -> Any:
            index = asked(batches)
            batches.traceq_sizes.append(_count_samples(batches, index))
            return index

        @functools.wraps(reset)
        def _reset(batches: Any, *args: Any, **kwargs: Any) -> None:
            # Persistent workers begin a new epoch so.
            batches.traceq_sizes.clear()
            reset(batches, *args, **kwargs)

        @functools.wraps(original)
        def __next__(batches: Any) -> Any:  # noqa: N807 - it becomes the method
            batch = original(batches)
            size = batches.traceq_sizes.popleft() if batches.traceq_sizes else None
            first = batches.traceq_first
            if not first:
                first.append(size)
            if self._counts:
                self._fetched.append(first[0] if getattr(batches, GIVES_FIRST, False) else size)
            return batch

        batches_class.__init__, batches_class._next_index = __init__, _next_index  # noqa: SLF001
        batches_class._reset, batches_class.__next__ = _reset, __next__  # noqa: SLF001


def _count_samples(batches: Any, index: Any) -> int | None:
    """Return the number of samples in the batch that the loader makes of `index`; None if unknown.

    A batch of an iterable dataset is taken for full, except the last where the dataset has a length and no workers
    load it.
    """
    if not batches._auto_collation:  # noqa: SLF001 - as the rest, what fetching goes by itself
        return None
    try:
        full = len(index)
        if index[0] is not None or batches._drop_last:  # noqa: SLF001
            return full
        left = len(batches._dataset) - batches._num_yielded * full  # noqa: SLF001
    except (TypeError, LookupError, AttributeError):
        return None
    return min(full, left) if left > 0 and not batches._num_workers else None  # noqa: SLF001


def _call_first(function: Any, see: Callable[[str], None]) -> Any:
    @functools.wraps(function)
    def seen(name: str) -> None:
        see(name)
        function(name)

    return seen


def install(options: Mapping[str, Any], say: Say) -> None:
    """Seed random numbers, apply the trial's knobs, and start its recording; called when the program has imported torch.

    `options` are those that the parent handed over, and `say(kind, **facts)` reports an event to the parent.
    """
    torch = sys.modules["torch"]
    trial = options["trial"]
    hooks, work = KnobHooks(), TrialWork()
    registry.seed_random(torch, trial["seed"])
    registry.apply(torch, trial["values"], hooks)
    work.watch(torch)
    recorder = TrialRecorder(options, say, hooks, work)
    recorder.watch(torch)
    if trial["outputs"]:
        recorder.losses.watch_outputs(hooks)


class TrialRecorder(Recorder):
    """A process's recording for a trial: it first measures the counted steps, and then may record a window under the profiler."""

    def __init__(self, options: Mapping[str, Any], say: Say, hooks: KnobHooks, work: TrialWork) -> None:
        super().__init__(options, say)
        self._trial = options["trial"]
        self._hooks = hooks
        self._work = work
        self._energy: Energy | None = None
        self._joules: float | None = None
        self._began = 0.0
        self._first = 0
        self._warmed_up: int | None = None
        self._has_other_profiler = False

    def on_other_profiler(self) -> None:
        """Note that the program runs its own profiler, for which no window is recorded.

        The measurement goes on, because that profiler lengthens steps in all settings alike.
        """
        if not self._is_own:
            self._has_other_profiler = True

    def _act_at_boundary(self) -> None:
        # The first mark of a step comes before one: no module has been called.
        while self._completed >= 1 and self._hooks.at_first_step:
            self._hooks.at_first_step.pop(0)()
        if self._warmed_up is None and self._is_steady and self._completed >= self._least_warmup():
            self._begin_measuring()
        super()._act_at_boundary()

    def _least_warmup(self) -> int:
        """Return the steps before the counted ones where no prefetch queue needs more."""
        return super()._steps_before_window() - int(self._trial["steps"])

    def _begin_measuring(self) -> None:
        """Begin the counted steps: start the sums of work, energy (joules) and time."""
        self._warmed_up = self._completed
        self._work.begin()
        self._energy = Energy(sys.modules["torch"])
        self._first = self._boundaries
        self._joules, self._began = self._energy.read_joules(), time.monotonic()

    def _steps_before_window(self) -> int:
        """Return the number of steps to complete before the window opens: warm-up and counted steps.

        It grows while the counted steps have not taken `least_seconds`, up to 5,000 steps more. Counted steps are whole
        cycles of the loader's workers, as some steps of each wait for them and others do not.
        """
        if self._warmed_up is None:
            return self._completed + 1
        least = self._warmed_up + self._round_to_cycles(int(self._trial["steps"]))
        is_long = time.monotonic() - self._began >= self._trial["least_seconds"]
        if is_long or self._completed >= least + _MOST:
            return self._warmed_up + self._round_to_cycles(max(self._completed, least) - self._warmed_up)
        return max(least, self._completed + 1)

    def _round_to_cycles(self, steps: int) -> int:
        cycle = self._prefetch.longest_cycle()
        return -(-steps // cycle) * cycle

    def _open(self) -> None:
        self._say("measured", **self._describe_measured())
        if self._trial["profile"] and not self._has_other_profiler:
            super()._open()
        else:
            self._finish(None)

    def _at_exit(self) -> None:
        if self._window is None and not self._over:
            asked = (self._least_warmup() if self._warmed_up is None else self._warmed_up) + int(self._trial["steps"])
            if self._warmed_up is not None and self._completed >= asked:
                self._say("measured", **self._describe_measured())
                self._finish(None)
            else:
                self._say("few", made=self._completed, asked=max(asked, self._completed + 1))
        super()._at_exit()

    def _describe_measured(self) -> dict[str, Any]:
        torch: Any = sys.modules["torch"]
        lengths = self._clock.lengths(self._first, self._boundaries)
        names = [value if name == registry.ABLATE else name for name, value in self._trial["values"].items()]
        return {
            "in_job": files.rank(),
            "steps_ns": lengths,
            "energy_j": self._joules_per_step(len(lengths)),
            "work": self._work.per_step(len(lengths)),
            "gpu_memory_peak": _gpu_memory_peak(torch),
            "idle_knobs": self._hooks.idle(names),
            "threads": torch.get_num_threads(),
            "warmup": self._warmed_up,
            "cycle": self._prefetch.longest_cycle(),
            "losses": self.losses.describe_steps(),
            "own_values": {} if names else read_own_values(torch, self._seen),
        }

    def _joules_per_step(self, steps: int) -> float | None:
        """Return the GPUs' energy (joules) per counted step; None if unknown, or less than 1 s has passed."""
        now = self._energy.read_joules() if self._energy else None
        if now is None or self._joules is None or time.monotonic() - self._began < SHORTEST:
            return None
        return (now - self._joules) / steps


def _gpu_memory_peak(torch: Any) -> int | None:
    """Return the peak bytes of PyTorch's tensors on the GPU with the highest peak; None if the program does not use CUDA."""
    if not torch.cuda.is_initialized():
        return None
    return max(int(torch.cuda.max_memory_allocated(device)) for device in range(torch.cuda.device_count()))


class Energy:
    """Energy counters of the GPUs that this process has memory on, read through NVML's library without a Python package."""

    def __init__(self, torch: Any) -> None:
        self._handles: list[ctypes.c_void_p] = []
        try:
            self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        if self._nvml.nvmlInit_v2() == _OK:
            handles = [self._handle(torch, device) for device in _devices_in_use(torch)]
            # What one device uses is not known, such as a part of a GPU (MIG): then it is not known of all.
            self._handles = [] if None in handles else [handle for handle in handles if handle is not None]

    def _handle(self, torch: Any, device: int) -> ctypes.c_void_p | None:
        handle = ctypes.c_void_p()
        # Devices of a process have numbers of its own; the identity is the same everywhere.
        identity = f"GPU-{torch.cuda.get_device_properties(device).uuid}".encode()
        found = self._nvml.nvmlDeviceGetHandleByUUID(identity, ctypes.byref(handle))
        return handle if found == _OK else None

    def read_joules(self) -> float | None:
        """Return the joules that these GPUs together have used since the driver was loaded; None if unknown of any."""
        total = 0
        for handle in self._handles:
            used = ctypes.c_ulonglong()
            if self._nvml.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(used)) != _OK:
                return None
            total += used.value
        return total / 1000 if self._handles else None


def _devices_in_use(torch: Any) -> list[int]:
    if not torch.cuda.is_initialized():
        return []
    return [device for device in range(torch.cuda.device_count()) if torch.cuda.max_memory_allocated(device)]
