"""What GPUs have used up, by NVML's own library, as a program has no other way without a package."""

from __future__ import annotations

import ctypes
from typing import Any

_OK = 0
# The counter moves ten to fifty times a second: less time than this cannot be told, s.
SHORTEST = 1.0


class Energy:
    """Joules of the GPUs that this process has memory on; None where NVML does not say."""

    def __init__(self, torch: Any) -> None:
        self._handles: list[ctypes.c_void_p] = []
        try:
            self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        if self._nvml.nvmlInit_v2() == _OK:
            handles = [self._handle(torch, device) for device in _used(torch)]
            # What one device uses is not known, such as a part of a GPU (MIG): then it is not known of all.
            self._handles = [] if None in handles else [each for each in handles if each is not None]

    def _handle(self, torch: Any, device: int) -> ctypes.c_void_p | None:
        handle = ctypes.c_void_p()
        # Devices of a process have numbers of its own; the identity is the same everywhere.
        identity = f"GPU-{torch.cuda.get_device_properties(device).uuid}".encode()
        found = self._nvml.nvmlDeviceGetHandleByUUID(identity, ctypes.byref(handle))
        return handle if found == _OK else None

    def joules(self) -> float | None:
        """Since the driver was loaded, over all these devices."""
        total = 0
        for handle in self._handles:
            used = ctypes.c_ulonglong()
            if self._nvml.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(used)) != _OK:
                return None
            total += used.value
        return total / 1000 if self._handles else None


def _used(torch: Any) -> list[int]:
    if not torch.cuda.is_initialized():
        return []
    return [each for each in range(torch.cuda.device_count()) if torch.cuda.max_memory_allocated(each)]
