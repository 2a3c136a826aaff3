"""The words about what runs of one program differ by."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import duration, share
from traceq.reports.document import Block, Heading, Items, Literal, Name, Paragraph, Table, Verdict
from traceq.runs.compare.noise import Noise

# With fewer runs the standard deviation may be several times what it seems.
_ENOUGH = 5


def compose_noise(noise: Noise) -> Iterator[Block]:
    """Yield the report on how much runs of one program differ: the standard deviation, a table of the runs, and remarks.

    It ends with the option of traceq compare that takes this noise for single runs.
    """
    yield Heading(1, ("traceq noise",))
    said = (
        f"Runs differ by {share(noise.between)} of a step (standard deviation of {len(noise.runs)} runs, beyond the "
        f"{share(noise.within)} that their own steps explain; 95 % interval {share(noise.low)} to {share(noise.high)})."
    )
    yield Verdict((said,), "healthy", label="Between runs")
    if len(noise.runs) < _ENOUGH:
        yield Paragraph((f"{len(noise.runs)} runs are too few for a good estimate: record {_ENOUGH} or more.",))
    several = zip(noise.runs, noise.steps_ns, strict=True)
    rows = tuple((Name(run.file), str(len(run.counted)), duration(step)) for run, step in several)
    yield Table(("run", "steps", f"{noise.statistic} step"), rows, text_columns=(0,))
    if noise.remarks:
        yield Items(tuple((remark,) for remark in noise.remarks))
    option = Literal(f"traceq compare BASE NEW --noise {100 * noise.between:.2g}%")
    yield Paragraph(("A comparison of single runs takes it as ", option, "."))
