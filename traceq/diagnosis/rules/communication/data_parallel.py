"""torch.nn.DataParallel on several GPUs.

What it finds
    A model wrapped in torch.nn.DataParallel: one process that copies the model to all GPUs in every forward pass,
    scatters the batch, and gathers the outputs on one of them.

Why it matters
    The threads that feed the GPUs share one interpreter, the parameters are broadcast in every step, and the first
    GPU has more to do and hold than the others. DistributedDataParallel has none of that: a process per GPU, and
    gradients reduced beside backward.

How it is measured
    The ranges DataParallel.forward, Broadcast, Scatter, Gather and comm::broadcast (with their backward), where
    kernels run on more than one GPU. Claimed on the critical device: exposed copies and communication launched in
    them (busy_piece), and idle time of the launching thread in them (idle_piece). low 0.3, likely 0.7, high 1.

What to try
    torchrun --nproc-per-node=N, init_process_group("nccl"), DistributedDataParallel, DistributedSampler.

References
    https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
    https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.needs import CannotTell, NothingThere
from traceq.diagnosis.subject import Subject


def judge(subject: Subject) -> Iterator[Advice]:
    """Replication in every step."""
    subject.needs("gpu", "steps")
    if not subject.has("operators") and not subject.has("annotations"):
        raise CannotTell("no operator and no range is in the trace: whether DataParallel ran is not known")
    used = subject.ask("data_parallel_used")[0]
    if not used["calls"]:
        raise NothingThere("torch.nn.DataParallel did not run")
    if used["devices"] == 1:
        raise NothingThere("work ran on one GPU only")
    claim = subject.claim("data_parallel", low=0.3, likely=0.7, high=1.0)
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            f"Run a process per GPU: torchrun --nproc-per-node={used['devices']} train.py, with "
            'dist.init_process_group("nccl"), '
            "model = DistributedDataParallel(model.to(rank), device_ids=[rank]) in place of DataParallel(model), and "
            "DataLoader(..., sampler=DistributedSampler(dataset))."
        ),
        confidence="high",
        reason="The ranges of DataParallel are in the trace, and kernels run on several GPUs.",
        wrong_if="The ranges are named so by something else.",
    )
