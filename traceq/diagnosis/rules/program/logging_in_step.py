"""Printing, logging or writing metrics inside steps.

What it finds
    Time in which nothing runs on the GPU because the training thread prints, logs, or writes metrics (TensorBoard,
    W&B, MLflow, progress bars), by the names of ranges and Python frames. And autograd's anomaly detection left on.

Why it matters
    Writing needs no GPU, but the thread that writes launches nothing meanwhile. Where what is written comes from
    the GPU, it also waits for everything that was launched.

How it is measured
    Logging: ranges and frames whose names say so; the list of patterns is in the query. Claimed is the idle time
    inside them (idle_piece: idle_python, idle_launch, idle_sync, idle_os, idle_allocation, idle_unattributed); what
    is inside ranges of input, checkpoints or compilation belongs to those. No threshold but that of all findings.
    Low 0.5, likely 1, high 1: with every 100th step logged, 99 % are gone. Anomaly detection: nodes of autograd
    under which aten::isnan and then aten::item run; claimed is idle time in these calls and in gaps that they
    drained, as of a wait that goes away (low 0.5, likely 1).

What to try
    No torch.autograd.set_detect_anomaly(True) in runs that train. Log every n-th step. Keep sums on the GPU
    (loss_sum += loss.detach()) and read them when they are written. Let a thread or process of its own write.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.wording import names, plural, time
from traceq.diagnosis.subject import Subject


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time inside what logs, and in the checks of anomaly detection."""
    subject.needs("gpu", "steps")
    found = [*_anomaly(subject), *_logging(subject)]
    if not found:
        subject.needs("python_frames")  # no range says so, but without frames there may be calls that none surrounds
    yield from found


def _logging(subject: Subject) -> Iterator[Advice]:
    claim = subject.claim("named_idle", low=0.5, likely=1.0, topic="logging")
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            f"Do it every n-th step: `if step % 100 == 0:` around {names(subject.worst(claim)[:3])}, which costs "
            f"{time(claim.claimed_ns)} per step on average and ran in {claim.row['steps_with_it']} of "
            f"{plural(subject.steps, 'counted step')}. Keep what is logged on the GPU until then "
            "(`loss_sum += loss.detach()`), and read it once."
        ),
        confidence="medium",
        reason="Inferred from the names of ranges or frames around idle time.",
        wrong_if="The range named does more than logging.",
    )


def _anomaly(subject: Subject) -> Iterator[Advice]:
    claim = subject.claim("logging_in_step_anomaly", low=0.5, likely=1.0)
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            "Switch anomaly detection off: remove `torch.autograd.detect_anomaly()` and "
            "`torch.autograd.set_detect_anomaly(True)`, in Lightning Trainer(detect_anomaly=True). After every node of the "
            f"backward pass it reads back whether the result holds a NaN: {plural(claim.instances, 'wait')} in "
            f"{plural(claim.row['steps_with_it'], 'counted step')}. To look for a NaN, switch it on for the step that has one."
        ),
        confidence="high",
        reason="Nodes of autograd ask for aten::isnan and read the answer, which only anomaly detection does.",
        wrong_if="A function of your own looks for NaN in its backward pass: then take that out.",
        title="Anomaly detection is on",
        key="anomaly",
    )
