"""A session of the PyTorch profiler over some steps of a training loop, and what is written about it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traceq.capture import files
from traceq.capture.overhead import Clock, Unprofiled, measure_overhead
from traceq.capture.snapshot.seen import Seen
from traceq.capture.snapshot.write import write_beside
from traceq.capture.stack_sampler import StackSampler
from traceq.capture.watch import Watch, is_another_active
from traceq.common.version import __version__

_ANOTHER = "another PyTorch profiler is running in this process, and there can be only one"

# Synchronizations are needed to tell waiting from idling; marks in other threads than the one that starts the profiler are
# recorded only with the second. Older versions of PyTorch have fewer options.
_EXPERIMENTAL = ("enable_cuda_sync_events", "profile_all_threads")


class _Lost(Exception):
    """Raised when the profiler's session cannot be ended; the message says why."""


@dataclass(frozen=True)
class RecordingPlan:
    """The recorded steps (counted from 0), what is recorded in them, and the directory and name of the trace."""

    directory: Path
    name: str
    skip: int
    warmup: int
    steps: int
    first: int = 0
    stacks: bool = False
    memory: bool = False
    samples: bool = True

    @property
    def start(self) -> int:
        """The number of the first recorded step."""
        return self.skip + self.warmup

    @property
    def end(self) -> int:
        """The number of the first step after the recorded ones."""
        return self.start + self.steps


class RecordingSession:
    """A profiler's session over the steps of a training; its failures become a line for `say`, and training goes on."""

    def __init__(self, plan: RecordingPlan, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._say = say
        self._ended = 0  # steps
        self._whole = 0  # recorded steps, without those that ended by an exception
        self._ending = ""  # why the loop ended before the session, if it did
        self._is_saved = False
        self._clock = Clock()
        self._watch = Watch()
        self._seen = Seen()
        self._unwatch: Callable[[], None] = lambda: None
        self._sampler = StackSampler()
        self._profiler: Any = None

    def begin_session(self) -> None:
        """Start the profiler and the clock before the first step."""
        with self._report_failures():
            self._profiler = make_profiler(self._save, self._plan)
            self._unwatch = self._seen.watch(sys.modules["torch"])
            self._look_around()
            self._call(self._profiler.start)
        self._clock.begin()

    def end_step(self, *, whole: bool) -> None:
        """End a step: the following work belongs to the next. It is `whole` unless it ended by an exception."""
        if self._profiler is None:
            return
        self._clock.end(whole=whole)
        self._whole += whole and self._is_recording()
        self._ended += 1
        if self._ended <= self._plan.start:
            self._seen.step_ended()
        with self._report_failures():
            self._look_around()
            if self._ended == self._plan.start:
                self._seen.window_opens()
            if self._ended == self._plan.end:
                self._describe()
            self._call(self._profiler.step)
            if self._ended == self._plan.start and self._plan.samples and not self._plan.stacks:
                self._sampler.begin_sampling()
            if self._ended == self._plan.end:
                self._close()
        self._clock.begin()

    def end_session(self, error: BaseException | None, *, within_step: bool) -> None:
        """End the session after the last step, and save the trace if a step was recorded, or in part, when an error ended it."""
        if self._profiler is None:
            return
        self._ending = f"the loop ended by {type(error).__name__}" if error else "the loop ended early"
        with self._report_failures():
            if self._is_recording() and (self._ended > self._plan.start or (error and within_step)):
                self._describe()
            else:
                self._profiler.on_trace_ready = None
            self._close()
            if not self._is_saved:
                passing = f"with skip={self._plan.skip} and warmup={self._plan.warmup} the first {self._plan.start}"
                self._tell(f"no trace: {self._ending}, after {self._ended} steps; {passing} are not recorded")

    def _is_recording(self) -> bool:
        return self._plan.start <= self._ended < self._plan.end

    def _look_around(self) -> None:
        """Note whether another PyTorch profiler is active when the warm-up is about to begin."""
        if self._ended == self._plan.skip:
            self._watch.noticed = is_another_active()

    def _call(self, move: Callable[..., None], *arguments: Any) -> None:
        if self._watch.noticed and self._ended >= self._plan.skip:
            raise _Lost(_ANOTHER)
        with self._watch.own():
            move(*arguments)

    def _close(self) -> None:
        self._sampler.end_sampling()
        self._call(self._profiler.__exit__, None, None, None)
        self._profiler = None
        self._watch.end()
        self._unwatch()

    @contextmanager
    def _report_failures(self) -> Iterator[None]:
        try:
            yield
        except _Lost as error:
            self._give_up(str(error))
        except OSError as error:
            self._give_up(f"{self._plan.directory}: cannot be written: {error.strerror or error}")
        except RuntimeError as error:
            # What PyTorch raises for all that fails below Python.
            self._give_up(f"the PyTorch profiler failed: {' '.join(str(error).split())}")
        except Exception as error:  # noqa: BLE001 - nothing that goes wrong with profiling ends the training
            self._give_up(f"recording failed: {type(error).__name__}: {' '.join(str(error).split())}")

    def _give_up(self, reason: str) -> None:
        """Abandon the profiler without stopping it: its session may be another's now, and stopping that crashes the process."""
        self._sampler.end_sampling()
        if self._profiler is not None:
            self._profiler.profiler = None  # or it would look like an active one
            self._profiler = None
        self._watch.end()
        self._unwatch()
        if not self._is_saved:
            self._tell(f"no trace: {reason}; training goes on without it")

    def _describe(self) -> None:
        """Add traceq's facts (overhead, rank) to the trace, which PyTorch accepts only while it records."""
        if self._watch.noticed or self._is_saved:
            return
        # The first step of a run is like no other.
        before = Unprofiled(1, self._plan.skip)
        describe(self._profiler, self._clock, before, (self._plan.start, self._plan.end), self._sampler)

    def _save(self, profiler: Any) -> None:
        name = files.unwritten_name(self._plan.directory, self._plan.name)
        path = files.save(profiler.export_chrome_trace, self._plan.directory, name)
        self._is_saved = True
        write_beside(path, sys.modules["torch"], self._seen)
        if self._ending:
            self._tell(
                f"{self._ending}, with {self._whole} of {self._plan.steps} steps recorded{_suggest_report(path)}"
            )
        elif files.rank() == 0:
            self._tell(
                f"steps recorded: {self._whole}, from step {self._plan.first + self._plan.start} on{_suggest_report(path)}"
            )

    def _tell(self, text: str) -> None:
        rank = files.rank()
        self._say(f"rank {rank}: {text}" if rank else text)


def _suggest_report(path: Path) -> str:
    return f"; to see where their time went: traceq report {shlex.quote(str(path))}"


def make_profiler(save: Callable[[Any], None], plan: RecordingPlan) -> Any:
    """Return a torch.profiler.profile that records what the analyses read; it calls `save` with itself after the last step."""
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    activities = [ProfilerActivity.CPU]
    activities += [ProfilerActivity.CUDA] if torch.cuda.is_available() else []
    activities += [ProfilerActivity.XPU] if hasattr(torch, "xpu") and torch.xpu.is_available() else []
    return profile(
        activities=activities,
        schedule=schedule(wait=plan.skip, warmup=plan.warmup, active=plan.steps, repeat=1),
        on_trace_ready=save,
        record_shapes=True,
        profile_memory=plan.memory,
        with_stack=plan.stacks,
        experimental_config=make_experimental_config(memory=plan.memory),
    )


def describe(
    profiler: Any,
    clock: Clock,
    before: Unprofiled,
    profiled: tuple[int, int],
    sampler: StackSampler,
    losses: dict[str, Any] | None = None,
) -> None:
    """Add version, rank, the profiler's overhead, the `losses` of the first steps and samples to the trace; end the sampling.

    `profiled` is a range [from, up to) of iterations of the clock, which are compared with those `before`.
    """
    ranks = {} if files.is_distributed() else files.read_launcher_ranks()
    cost = measure_overhead(clock, before, profiled)
    described = {"version": __version__, **cost, **ranks, **({"losses": losses} if losses else {})}
    profiler.add_metadata_json("traceq", json.dumps(described))
    if samples := sampler.end_sampling():
        profiler.add_metadata_json("traceq_samples", json.dumps(samples))


def make_experimental_config(*, memory: bool) -> Any:
    """Return the useful experimental options that this PyTorch has; some cannot be combined with `memory` events."""
    from torch._C._profiler import _ExperimentalConfig

    # The signature of what is written in C++ is the first line of its documentation.
    known = _ExperimentalConfig.__init__.__doc__ or ""
    wanted: dict[str, Any] = {option: True for option in _EXPERIMENTAL if f"{option}:" in known}
    if memory:
        # PyTorch (2.13) records no memory events when it records all threads.
        wanted.pop("profile_all_threads", None)
    return _ExperimentalConfig(**wanted)
