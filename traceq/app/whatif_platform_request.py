"""The request of a what-if about another GPU or more ranks: arguments of Python and of the command line."""

from __future__ import annotations

from math import isfinite, sqrt
from typing import NamedTuple

from traceq.common.factor_range import FactorRange
from traceq.errors import WrongUse

# How much longer one thread takes on the CPU of another server: their highest clocks lie between 3.1 GHz (NVIDIA Grace, data
# sheet) and 4.1 GHz (Intel Xeon Platinum 8462Y+, data sheet; AMD's EPYC 9654: 3.7 GHz), so one is up to a third faster.
HOST_FACTORS = (0.75, 1.33)

# Below this a figure of an option is a slip.
_LEAST_FACTOR = 0.01

# GPUs of a server.
_RANKS_PER_NODE = 8


class PlatformRequest(NamedTuple):
    """Another GPU by name, another number of ranks, and figures of the host and of the links between ranks.

    `host_factor` is LOW-HIGH or one number: how much longer the host takes; `link` and `network` are GB/s per rank and
    direction, within a node of `ranks_per_node` and between nodes.
    """

    gpu: str | None = None
    ranks: int | None = None
    host_factor: str | None = None
    link: float | None = None
    network: float | None = None
    ranks_per_node: int = _RANKS_PER_NODE

    def check_figures(self) -> None:
        """Raise WrongUse for bandwidths and numbers of ranks that no job has."""
        for option, bandwidth in (("link", self.link), ("network", self.network)):
            if bandwidth is not None and not (isfinite(bandwidth) and bandwidth > 0):
                raise WrongUse(f"--{option} {bandwidth:g}: give GB/s per rank and direction, as 50.")
        for option, number in (("ranks", self.ranks), ("ranks-per-node", self.ranks_per_node)):
            if number is not None and number < 1:
                raise WrongUse(f"--{option} {number}: give at least 1.")

    def parse_host_factor(self) -> FactorRange:
        """Return the factor of the host's time. Raises WrongUse for a text that is neither LOW-HIGH nor one number.

        By default it is that of another machine where the GPU is another one, else 1.
        """
        if self.host_factor is None:
            low, high = (1.0, 1.0) if self.gpu is None else HOST_FACTORS
            return FactorRange(low, 1.0, high)
        first, dash, last = self.host_factor.partition("-")
        try:
            low, high = float(first), float(last if dash else first)
        except ValueError:
            low, high = 0.0, 0.0
        if not isfinite(low) or not isfinite(high) or not _LEAST_FACTOR <= low <= high:
            raise WrongUse(
                f"--host-factor {self.host_factor!r}: give how much longer the host takes, as 1, or 0.8-1.25."
            )
        return FactorRange(low, 1.0 if low <= 1 <= high else sqrt(low * high), high)
