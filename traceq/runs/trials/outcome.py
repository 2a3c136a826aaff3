"""The result of one run of a program: its outcome, the reason in a line, and the trial as it is kept."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from traceq.capture import status
from traceq.capture.trial import TrialResult
from traceq.common.text import printable
from traceq.runs.losses import read_losses
from traceq.runs.trials.trial import Outcome, Trial

# What programs say when memory ran out.
_NO_MEMORY = re.compile(
    r"OutOfMemoryError|CUDA out of memory|MemoryError|DefaultCPUAllocator: can't allocate memory|"
    r"CUBLAS_STATUS_ALLOC_FAILED|Cannot allocate memory|std::bad_alloc"
)
# What a DataLoader says of a worker, and torchrun of a rank, that SIGKILL ended.
_KILLED = re.compile(r"killed by signal: Killed|Signal 9 \(SIGKILL\)")
# Bytes of a log in which its end is looked for.
_TAIL = 1 << 16
# An exception of Python's, as it is printed; torchrun's own only says that there was one.
_ERROR = re.compile(r"(?!.*ChildFailedError)(\[rank\d+\]: ?)?[A-Za-z_][\w.]*(Error|Exception|Exit)\b")
# What shells and launchers add to a signal's number.
_SIGNALLED = 128
# torchrun writes a page after the error of a rank.
_LINES = 200
# Characters of a reason.
_LONGEST = 200


def trial_of(ran: TrialResult, setting: str, round_: int, seed: int, asked: int) -> Trial:
    """Return the trial of a program's run: measurements if it went well, else its outcome and reason.

    `asked` is the number of steps that were to be made.
    """
    measured = _list_measurements(ran.events)
    outcome, reason = _find_outcome(ran, measured, asked)
    if not measured or outcome != "ok":
        return Trial(setting, round_, seed, outcome, reason, seconds=ran.seconds)
    facts = [event.facts for event in measured]
    return Trial(
        setting,
        round_,
        seed,
        outcome,
        steps_ns=tuple(facts[0]["steps_ns"]),
        work=_add_works([fact["work"] for fact in facts]),
        gpu_memory_peak=_combine_known(max, [fact["gpu_memory_peak"] for fact in facts]),
        host_memory_peak=ran.host_memory_peak,
        energy_j=_combine_known(sum, [fact["energy_j"] for fact in facts]),
        threads=facts[0]["threads"],
        seconds=ran.seconds,
        warmup=facts[0]["warmup"],
        cycle=facts[0]["cycle"],
        losses=read_losses(facts[0]["losses"]),
        own_values=facts[0]["own_values"],
    )


def _list_measurements(events: Sequence[status.Event]) -> list[status.Event]:
    """Return the "measured" events, one for each rank (its first), the lowest rank first."""
    found: dict[int, status.Event] = {}
    for event in events:
        if event.kind == "measured":
            found.setdefault(int(event.facts["in_job"]), event)
    return [found[rank] for rank in sorted(found)]


def _find_outcome(ran: TrialResult, measured: Sequence[status.Event], asked: int) -> tuple[Outcome, str | None]:
    """Return how the program's run ended, and the reason; None for an outcome that is ok."""
    if ran.end == "time" and not measured:
        return "timed out", _explain_timeout(ran)
    if measured:
        idle = measured[0].facts["idle_knobs"]
        return ("nothing to act on", "; ".join(f"{n}: {why}" for n, why in idle.items())) if idle else ("ok", None)
    if ran.end == "gave up":
        return "failed", "; ".join(status.list_reasons(ran.events))[:_LONGEST]
    if ran.exit_code:
        return _explain_failure(ran)
    return "too few steps", _explain_few_steps(ran, asked)


def _explain_timeout(ran: TrialResult) -> str:
    """Return a sentence on why the run reached its time limit, and the way out."""
    if any(event.kind == "step" for event in ran.events):
        return f"still running after {ran.seconds:.0f} s: raise --time-limit"
    why = status.explain_missing(ran.events, got_a_trace=False, exit_code=0)[0]
    return f"no step after {ran.seconds:.0f} s: raise --time-limit if the first one takes longer; else {why}"


def _explain_failure(ran: TrialResult) -> tuple[Outcome, str]:
    """Return the outcome ("failed" or "out of memory") and the reason of a program that ended with an error, from its log."""
    end = read_tail(ran.log, _LINES)
    said = next((line for line in reversed(end) if _NO_MEMORY.search(line)), None)
    if said is not None:
        return "out of memory", said[:_LONGEST]
    killed = next((line for line in reversed(end) if _KILLED.search(line)), None)
    if killed is not None and ran.killed_for_memory:
        return "out of memory", f"the kernel killed a process because memory ran out: {killed}"[:_LONGEST]
    if ran.exit_code in (-signal.SIGKILL, _SIGNALLED + signal.SIGKILL):
        if ran.killed_for_memory:
            return "out of memory", "the kernel killed it because memory ran out (SIGKILL)"
        return "failed", "killed by SIGKILL, but the kernel counted no kill for lack of memory"
    how = f"ended by signal {-ran.exit_code}" if ran.exit_code < 0 else f"exit code {ran.exit_code}"
    errors = [line for line in end if _ERROR.match(line)]
    return "failed", ": ".join([how, *(errors or end)[-1:]])[:_LONGEST]


def _explain_few_steps(ran: TrialResult, asked: int) -> str:
    """Return a sentence on why a program that ended well made too few of the `asked` steps."""
    few = [event.facts for event in ran.events if event.kind == "few"]
    made = max((fact["made"] for fact in few), default=0)
    asked = max((fact["asked"] for fact in few), default=asked)
    if made:
        return (
            f"the program ended after {made} of {asked} steps: lower --steps and --warmup, or let it train for longer"
        )
    return status.explain_missing(ran.events, got_a_trace=False, exit_code=0)[0]


def read_tail(log: Path, lines: int = 20) -> list[str]:
    """Return the last lines of a log that are not blank, at most `lines`; empty if it cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [printable(line) for line in text.splitlines() if line.strip()][-lines:]


def _add_works(works: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the sum over ranks of each kind of work (samples, tokens, ...) that all of them count."""
    return {name: sum(work[name] for work in works) for name in works[0] if all(name in work for work in works)}


def _combine_known(combine: Any, values: Sequence[Any]) -> Any:
    """Return `combine(values)`, such as their sum; None if any of the values is None."""
    return None if any(value is None for value in values) else combine(values)
