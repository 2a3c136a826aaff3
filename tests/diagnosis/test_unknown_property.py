from __future__ import annotations

from traceq.diagnosis.program import program_from


def test_an_unknown_property_says_nothing():
    """A database that somebody changed may hold any word."""
    assert program_from([("nan", "PyTorch"), ("framework", "JAX")]) == program_from([("framework", "JAX")])
