"""Calls that wait for the GPU one after another: what the host has not made up of a long one is still owed after a short one."""

from __future__ import annotations

from traceq.analysis.ledger.host_debt import debts


def test_what_is_not_made_up_is_owed_after_a_shorter_wait():
    calls = [(0, 1, 10, 8000, 500), (0, 1, 11, 10, 600), (0, 1, 12, 10, 0)]
    assert list(debts(calls)) == [(10, 8000), (10, 8000), (10, 8000)]


def test_nothing_is_owed_once_the_host_has_been_as_far_ahead_as_it_had_waited():
    calls = [(0, 1, 10, 8000, 8000), (0, 1, 11, 10, 0)]
    assert list(debts(calls)) == [(10, 8000), (11, 10)]


def test_a_longer_wait_takes_the_place_of_a_shorter_one():
    calls = [(0, 1, 10, 10, 0), (0, 1, 11, 8000, 0)]
    assert list(debts(calls)) == [(10, 10), (11, 8000)]


def test_devices_and_processes_owe_nothing_to_one_another():
    calls = [(0, 1, 10, 8000, 0), (0, 2, 11, 10, 0), (1, 2, 12, 10, 0)]
    assert list(debts(calls)) == [(10, 8000), (11, 10), (12, 10)]
