"""Runs made by hand, one in a line."""

from __future__ import annotations

import handmade_runs

from traceq.runs.trials.tradeoff import Taken, TradeoffTerms

MS = 1_000_000


def run(*durations, ledger=None, name="run.json", **facts):
    """Counted steps of these durations (ns); `ledger` holds shares of each, compute all of it if it is not given."""
    shares = {"compute": 1.0} if ledger is None else ledger
    whole = [int(dur) for dur in durations]
    parts = [{key: int(dur * share) for key, share in shares.items()} for dur in whole] if shares else {}
    return handmade_runs.run(*whole, ledger=parts, name=name, **facts)


def about(middle, count=20, spread=0.02):
    """`count` durations around `middle`, which is their typical one, in no order of size."""
    order = sorted(range(count), key=lambda number: (number * 7) % count)
    return [middle * (1 + spread * (2 * place - count + 1) / count) for place in order]


def series(cost, values, ledger=None, **facts):
    """A run at each value whose typical step is cost(value) ns; `ledger` makes shares of a value."""
    return [
        Taken(
            float(value),
            run(
                *about(cost(value)), ledger=None if ledger is None else ledger(value), name=f"run{value}.json", **facts
            ),
        )
        for value in values
    ]


def batch(**facts):
    """A setting for batch sizes."""
    return TradeoffTerms(**({"knob": "batch_size", "is_amount": True, "work": "batch_size"} | facts))
