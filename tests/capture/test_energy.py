"""Joules by NVML, with a library and GPUs made by hand."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from traceq.capture import run_trial


class Nvml:
    """GPUs by identity, with the millijoules they have used."""

    def __init__(self, used):
        self.used = used
        self.names = list(used)

    def nvmlInit_v2(self):  # noqa: N802 - NVML's name
        return 0

    def nvmlDeviceGetHandleByUUID(self, identity, handle):  # noqa: N802
        if identity not in self.used:
            return 6
        handle._obj.value = self.names.index(identity) + 1
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, handle, used):  # noqa: N802
        found = self.used[self.names[handle.value - 1]]
        used._obj.value = found or 0
        return 0 if found is not None else 3


def make_torch(*allocated, used=True):
    cuda = SimpleNamespace(
        is_initialized=lambda: used,
        device_count=lambda: len(allocated),
        max_memory_allocated=lambda device: allocated[device],
        get_device_properties=lambda device: SimpleNamespace(uuid=f"id{device}"),
    )
    return SimpleNamespace(cuda=cuda)


@pytest.fixture
def nvml(monkeypatch):
    def put(**used):
        library = Nvml({f"GPU-{name}".encode(): value for name, value in used.items()})
        monkeypatch.setattr(ctypes, "CDLL", lambda _name: library)

    return put


def test_devices_with_tensors_are_added_up(nvml):
    nvml(id0=1500, id1=9000, id2=500)
    assert run_trial.Energy(make_torch(10, 0, 10)).read_joules() == 2.0


def test_what_is_not_known_of_one_is_not_known(nvml):
    nvml(id0=1500)
    assert run_trial.Energy(make_torch(10, 10)).read_joules() is None
    nvml(id0=1500, id1=None)
    assert run_trial.Energy(make_torch(10, 10)).read_joules() is None


def test_without_a_gpu_in_use_or_nvml(nvml, monkeypatch):
    nvml(id0=1500)
    assert run_trial.Energy(make_torch(10, used=False)).read_joules() is None

    def absent(_name):
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", absent)
    assert run_trial.Energy(make_torch(10)).read_joules() is None
