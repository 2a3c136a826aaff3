"""Follow a training over its whole run with a ring of the last steps in memory, and write the ring after each slow step."""

from __future__ import annotations

import os
import shlex
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traceq.annotate import emit, names
from traceq.capture import files
from traceq.capture.ring import PERIOD_S, Ring
from traceq.capture.ring_trace import write_ring
from traceq.capture.slow_cause import find_cause
from traceq.capture.snapshot.seen import Seen
from traceq.capture.snapshot.write import write_beside
from traceq.capture.usual_time import MOST_IN_A_ROW, UsualTime
from traceq.capture.watch import replace_attribute
from traceq.common.units import duration
from traceq.common.version import __version__

# Of a process: what is slow all the time needs no more examples, and must not fill a disk.
_MOST_FILES = 50
_MOST_BYTES = 200_000_000


@dataclass(frozen=True)
class FollowPlan:
    """The folder, and when the last `ring` steps are written: when a step is `factor` times as long as usual.

    The first `skip` steps do not count. `first` is the number of the first step.
    """

    directory: Path
    name: str
    skip: int
    first: int
    ring: int
    factor: float


class FollowSession:
    """A training that is followed step by step; its failures become a line for `say`, and training goes on.

    `wrote` is called with the path of each trace that is written.
    """

    def __init__(
        self, plan: FollowPlan, say: Callable[[str], None], wrote: Callable[[Path], None] = lambda _path: None
    ) -> None:
        self._plan = plan
        self._say = say
        self._wrote = wrote
        self._usual = UsualTime(plan.factor)
        self._ended = self._slow = self._files = self._bytes = 0
        self._ring: Ring | None = None
        self._unwatch: Callable[[], None] = lambda: None

    def begin_session(self) -> None:
        """Start the ring before the first step."""
        try:
            ring = Ring(self._plan.ring, self._plan.first)
            ring.start_listening()
            self._ring = ring
            _forget_in_children(ring)
            self._unwatch = _watch_fetches(ring)
        except Exception as error:  # noqa: BLE001 - the program must go on, whatever fails here
            self._give_up(error)

    def end_step(self, *, whole: bool) -> None:
        """End a step and write the ring if it was slow. One that is not `whole` (it ended by an exception) is not judged."""
        if self._ring is None:
            return
        # Without a context manager, which would cost as much as all the rest.
        try:
            step = self._ring.end_step()
            self._ended += 1
            if whole and self._ended > self._plan.skip:
                usual = self._usual.judge_step(step.end - step.begin)
                if usual is not None:
                    self._slow += 1
                    self._write_ring(self._ring, usual)
                if self._usual.is_new:
                    self._tell_user(
                        f"{MOST_IN_A_ROW} slow steps in a row: the usual time is learnt anew after step {step.number}"
                    )
            self._ring.begin_step(self._plan.first + self._ended, self._usual.late)
        except Exception as error:  # noqa: BLE001 - the program must go on, whatever fails here
            self._give_up(error)

    def end_session(self, error: BaseException | None, *, within_step: bool) -> None:  # noqa: ARG002 - as RecordingSession.end_session
        """End the session after the last step and say what it found."""
        if self._ring is None:
            return
        self._stop_following()
        usual = self._usual.find_usual()
        if usual is None:
            self._tell_user(
                f"no step could be judged: the usual time is known after skip={self._plan.skip} and 10 more steps, "
                f"and there were {self._ended}"
            )
        else:
            found = f"{self._slow} of them slow" if self._slow else "none of them slow"
            self._tell_user(f"{self._ended} steps followed, {found}; a step usually takes {duration(usual)}")

    def _write_ring(self, ring: Ring, usual: int) -> None:
        """Write the ring, whose last step is slow, unless enough is written already."""
        step = ring.steps[-1]
        length = step.end - step.begin
        told = f"step {step.number} took {duration(length)}, {length / usual:.1f} times the usual {duration(usual)}"
        if self._files >= _MOST_FILES or self._bytes >= _MOST_BYTES:
            if self._files < _MOST_FILES + 1:
                self._files = _MOST_FILES + 1
                self._tell_user(
                    f"{told}; no more traces are written: {_MOST_FILES} or {_MOST_BYTES // 1_000_000} MB are enough"
                )
            return
        plan, steps = self._plan, list(ring.steps)
        cause = find_cause(steps, ring.thread, usual)
        about = {
            "version": __version__,
            **_read_ranks(),
            "slow_step": step.number,
            "slow_step_ns": length,
            "usual_step_ns": usual,
            "slow_factor": plan.factor,
            "sampling_period_ns": round(PERIOD_S * 1e9),
            **({} if cause is None else {"slow_cause": cause.name, "slow_cause_ns": cause.extra}),
        }
        name = files.unwritten_name(plan.directory, f"{plan.name}-slow{step.number}")
        path = files.save(lambda raw: write_ring(raw, steps, ring.thread, about), plan.directory, name)
        self._files += 1
        self._bytes += path.stat().st_size
        if self._files == 1 and "torch" in sys.modules:
            write_beside(path, sys.modules["torch"], Seen())
        self._wrote(path)
        if files.rank() == 0:
            more = "" if cause is None else f", {duration(cause.extra)} of that in {cause.name}"
            self._tell_user(f"{told}{more}; to see why: traceq report {shlex.quote(str(path))}")

    def _give_up(self, error: Exception) -> None:
        with suppress(Exception):  # the first failure says more
            self._stop_following()
        self._ring = None
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        if isinstance(error, OSError):
            reason = f"{self._plan.directory}: cannot be written: {error.strerror or error}"
        self._tell_user(f"steps are no longer followed: {reason}; training goes on without it")

    def _stop_following(self) -> None:
        if self._ring is not None:
            self._ring.stop_listening()
            self._ring = None
        self._unwatch()

    def _tell_user(self, text: str) -> None:
        rank = files.rank()
        self._say(f"rank {rank}: {text}" if rank else text)


def _read_ranks() -> dict[str, int]:
    """Return this process's `rank` and `world_size` as far as they are known."""
    if not files.is_distributed():
        return files.read_launcher_ranks()
    return {"rank": files.rank(), "world_size": sys.modules["torch"].distributed.get_world_size()}


def _forget_in_children(ring: Ring) -> None:
    """Have forked children take the ring's hook away. It holds no reference to the ring: nobody can take it away again."""
    held = weakref.ref(ring)

    def forget_ring() -> None:
        found = held()
        if found is not None:
            found.forget_collections()

    os.register_at_fork(after_in_child=forget_ring)


def _watch_fetches(ring: Ring) -> Callable[[], None]:
    """Mark fetches from PyTorch's DataLoader that the program does not mark itself; return the function that stops this."""
    dataloader: Any = sys.modules.get("torch.utils.data.dataloader")
    batches_class = getattr(dataloader, "_BaseDataLoaderIter", None)
    if batches_class is None:
        return lambda: None
    original = batches_class.__next__
    name = names.fetch("loader")

    def fetch_batch(batches: Any) -> Any:
        mark = None if ring.is_fetching() else emit.push(name)
        try:
            return original(batches)
        finally:
            emit.pop(mark)

    return replace_attribute(batches_class, "__next__", fetch_batch)
