"""Name what a training loop does, in NVTX and in the PyTorch profiler at once.

    from traceq import annotate

    for batch in annotate.loader(batches):
        with annotate.step(samples=len(batch)):
            with annotate.phase("forward"):
                ...

A mark is a range with a name of the grammar in names.py; the name is the same in both tools. Marks cost below a microsecond
where no tool listens, and nothing is imported for them: torch is used where the program has imported it, nvtx where it is
installed. The environment variable TRACEQ_ANNOTATE says what marks are written to: all (the default), nvtx, torch or off.
run_log() and TRACEQ_RUN_LOG name a file for steps and events of the whole run, which `traceq goodput` reads.
"""

from traceq.annotate.emit import disable, enable, enabled
from traceq.annotate.hooks import model, optimizer
from traceq.annotate.loader import loader
from traceq.annotate.marks import payload, phase, step
from traceq.annotate.run import run_event, run_log, run_phase

__all__ = [
    "disable",
    "enable",
    "enabled",
    "loader",
    "model",
    "optimizer",
    "payload",
    "phase",
    "run_event",
    "run_log",
    "run_phase",
    "step",
]
