"""The GPUs that traceq knows, by the names that people give them."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from traceq.analysis.kernels.ceiling import Gpu, cache_of
from traceq.analysis.kernels.signature_ceiling import PEAKS
from traceq.database.sql import parse, statement
from traceq.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

_MOST_NAMED = 5
_CLOSE = 0.4

_MODELS = f"""
select
    model, pattern, compute_capability, sm_count, memory_bandwidth, host_link, host_link_bandwidth, peer_link,
    peer_link_bandwidth, [{", ".join(PEAKS)}] as peaks
from gpu_model
order by rank_order
"""  # noqa: S608 - names of columns


class KnownGpu(msgspec.Struct, frozen=True):
    """The figures that a maker publishes of a GPU; None for others. Links in GB/s per direction, peaks in dense TFLOP/s."""

    model: str
    pattern: str
    compute_capability: str | None
    sm_count: int | None
    memory_bandwidth: int | None
    host_link: str | None
    host_link_bandwidth: float | None
    peer_link: str | None
    peer_link_bandwidth: float | None
    peaks: tuple[float | None, ...]

    def peak_of(self, arithmetic: str) -> float | None:
        """Return the peak of an arithmetic (fp32, tf32, bf16, ...) in TFLOP/s."""
        return self.peaks[PEAKS.index(arithmetic)] if arithmetic in PEAKS else None

    def limits_in(self, arithmetic: str) -> Gpu:
        """Return what limits operators in this arithmetic."""
        peak = self.peak_of(arithmetic)
        return Gpu(
            self.sm_count,
            None if peak is None else peak * 1e12,
            self.memory_bandwidth,
            cache_of(self.compute_capability),
        )


class ChosenGpu(NamedTuple):
    """The GPU that a name means, and the models that it might mean as well."""

    gpu: KnownGpu
    others: tuple[str, ...]


def read_gpus(connection: duckdb.DuckDBPyConnection) -> list[KnownGpu]:
    """Make the tables of GPUs on a connection without them, and return their rows."""
    for part in parse(statement("analysis/kernels/gpu_model.sql")):
        if "create or replace table" in part.query:
            connection.execute(part)
    return list_models(connection)


def list_models(connection: duckdb.DuckDBPyConnection) -> list[KnownGpu]:
    """Return the rows of gpu_model of a connection that has the tables of GPUs."""
    found = connection.sql(_MODELS).to_arrow_table()
    return [msgspec.convert(row, KnownGpu) for row in found.to_pylist()]


def choose_gpu(name: str, known: Sequence[KnownGpu]) -> ChosenGpu:
    """Return the GPU of a name: of a model, a trace's name of it, or words of a model, as H100 or "a100 80gb".

    Of several models the one with the highest peak and bandwidth is meant, of equals the later one. Raises WrongUse, with
    names that are near, for a name that is of none.
    """
    wanted = _split_words(name)
    for gpu in known:
        if _split_words(gpu.model) == wanted or re.search(gpu.pattern, name):
            return ChosenGpu(gpu, ())
    matching = [gpu for gpu in known if wanted and set(wanted) <= set(_split_words(gpu.model))]
    if not matching:
        models = {gpu.model.casefold(): gpu.model for gpu in known}
        near = difflib.get_close_matches(name.casefold(), models, n=_MOST_NAMED, cutoff=_CLOSE)
        listed = ", ".join(models[model] for model in near)
        way = f"; did you mean {listed}?" if near else f"; known are {', '.join(gpu.model for gpu in known)}."
        raise WrongUse(f"--gpu: traceq knows no GPU {name!r}{way}")
    best = max(matching[::-1], key=lambda gpu: (gpu.peak_of("fp16") or 0, gpu.memory_bandwidth or 0))
    return ChosenGpu(best, tuple(gpu.model for gpu in matching if gpu is not best))


def _split_words(name: str) -> list[str]:
    """Return the words of a name in lower case, without those that all models of a maker share."""
    words = re.findall(r"[a-z0-9]+", name.casefold())
    return [word for word in words if word not in ("nvidia", "amd", "instinct", "geforce", "tesla")]
