"""Reading files holds up training.

What it finds
    Fetches of input, or worker processes, that spend most of their time in calls that read files, while the GPU
    waits.

Why it matters
    More workers or faster transforms win little when storage is what is slow: the bytes have to come nearer first.

How it is measured
    data_fetch.reading: time of calls that open and read files, and of Python frames that do, on the training thread;
    of worker threads the same calls over the time in which they do not wait (data_worker.busy). Of a fetch in which
    that is at least half (then nothing else can be more), the idle time of cause idle_data (idle_piece) counts by
    that share. Shares: low 0.3 (some of it is copying from the page cache), likely 1, high 1.

What to try
    Local NVMe instead of network storage, fewer and larger files, memory mapping, more reads at once.

References
    https://docs.pytorch.org/docs/stable/data.html
    https://docs.nvidia.com/nsight-systems/UserGuide/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import share
from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.inputs import input_facts
from traceq.diagnosis.rules.shared.wording import part, per_step
from traceq.diagnosis.subject import Subject

# What takes half of a fetch is what takes most of it.
_LEAST_READING = 0.5


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time under fetches that read."""
    subject.needs("gpu", "steps", "fetches")
    if not subject.has("os_calls") and not subject.has("python_frames"):
        raise subject.lacks("reads are not traced", "reads", "brings them")
    claim = subject.claim("slow_storage", low=0.3, likely=1.0, least_reading=_LEAST_READING)
    if claim is None:
        return
    facts = input_facts(subject)
    own = part(facts["reading_ns"], facts["fetch_ns"])
    reader = (
        f"{share(own)} of the time of fetching on the training thread"
        if own >= _LEAST_READING
        else f"{share(float(subject.worst(claim)[0]['reading_share']))} of the time that workers work"
    )
    yield Advice(
        claim,
        fix=(
            f"Reading files takes {reader}, and the GPU idles {per_step(subject, claim.claimed_ns)} for it. Copy the data "
            "to a local NVMe disk, or store it as a few large files that are read in sequence, for instance "
            "webdataset.WebDataset('shards-{000000..000099}.tar') or one array opened by numpy.load(path, mmap_mode='r'). "
            "Where latency and not bandwidth is the limit, read more at once: DataLoader(..., num_workers=8, "
            "prefetch_factor=4)."
        ),
        confidence="high" if subject.has("os_calls") else "medium",
        reason=(
            "The calls that read were recorded."
            if subject.has("os_calls")
            else "Python frames that read files were recorded; whether the disk was slow was not."
        ),
        wrong_if="A second run over the same files, now cached in memory, is no faster.",
    )
