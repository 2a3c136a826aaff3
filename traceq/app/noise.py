"""Noise: measure how much runs of one program differ."""

from __future__ import annotations

from collections.abc import Iterable

from traceq.app.read_options import AS_FOUND, LOWEST, KnownNoiseOf, ReadOptions, Which
from traceq.app.source import Sources, as_list, check_writes, read_runs_of
from traceq.app.view import View
from traceq.common.units import parse_share
from traceq.errors import WrongUse
from traceq.reports.comparison.noise import compose_noise
from traceq.reports.document import Block
from traceq.reports.renderers.comparison_to_json import noise_to_json
from traceq.runs.compare.known_noise import KnownNoise
from traceq.runs.compare.noise import Noise
from traceq.runs.compare.noise import measure_noise as noise_of
from traceq.runs.sources import baseline_runs, runs_of_rank
from traceq.runs.statistics import Statistic


class NoiseView(View[Noise]):
    """The measured noise between runs; `content` is plain data, with shares of a step."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_noise(self.content)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return noise_to_json(self.content)


def noise(
    sources: Sources, which: Which = LOWEST, read: ReadOptions = AS_FOUND, *, statistic: Statistic = "typical"
) -> NoiseView:
    """Measure the noise between runs of one program beyond that of their steps; sources are databases, traces or baselines.

    Raises WrongUse for fewer than two runs, and for runs that cannot be compared.
    """
    check_writes(read.writes, as_list(sources))
    return NoiseView(noise_of(read_runs_of(sources, which, read), statistic))


def read_known_noise(known: KnownNoiseOf | None, rank: int | None = None) -> KnownNoise | None:
    """Return the stated noise between runs, given as a share of the step (0.008, "0.8%") or as a baseline with several runs.

    None without one. Raises WrongUse for anything else, and for a baseline with fewer than two runs.
    """
    if known is None:
        return None
    runs = None if isinstance(known, float | int) else baseline_runs(known)
    if runs is not None:
        measured = noise_of(runs_of_rank(runs, rank, str(known)))
        return KnownNoise(measured.between, len(measured.runs) - 1, f"of the {len(measured.runs)} runs of {known}")
    try:
        return KnownNoise(known if isinstance(known, float | int) else parse_share(str(known)))
    except ValueError as error:
        raise WrongUse(f"--noise: {error}; nor is it the name of a baseline.") from error
