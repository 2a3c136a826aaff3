"""GPUs: which ones there are, and by which number the trace speaks of them.

Three numbers name one GPU: `deviceId` of events is the CUDA ordinal as the process counts
(CUDA_VISIBLE_DEVICES renumbers), TARGET_INFO_GPU.id is nsys' own, and `cuDevice` or TARGET_INFO_CUDA_DEVICE
(from schema 3.17) tie the two. When two processes mean different GPUs by the same ordinal, as under a
launcher that gives each process one visible GPU, the GPUs keep nsys' numbers, because their work must not be
mixed on one device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import to_int32
from traceq.importers.rows import Batches, batches_of

if TYPE_CHECKING:
    from traceq.importers.nsys.source import NsysExport
    from traceq.importers.rows import Notes

# The number of the device of rows that name none.
NO_DEVICE = -1
_PID_SHIFT = 32
_ID_BITS = 24
# Columns of `device`, but max_warps_per_sm; bytes, and bytes per second. As they are described since 2021, and before.
_SIZES = {
    "sm_count": ("smCount", "numMultiprocessors"),
    "memory_bytes": ("totalMemory", "globalMemorySize"),
    "warp_size": ("threadsPerWarp", "numThreadsPerWarp"),
    "max_warps_per_sm": ("maxWarpsPerSm", "maxWarpsPerMultiprocessor"),
    "max_blocks_per_sm": ("maxBlocksPerSm", "maxBlocksPerMultiprocessor"),
    "registers_per_sm": ("maxRegistersPerSm", "maxRegistersPerMultiprocessor"),
    "shared_memory_per_sm": ("maxShmemPerSm", "maxSharedMemoryPerMultiprocessor"),
    "memory_bandwidth": ("memoryBandwidth", "globalMemoryBandwidth"),
}
# Of these, columns of 32 bits.
_NARROW = ("sm_count", "warp_size", "max_threads_per_sm", "max_blocks_per_sm", "registers_per_sm")
# Until 2021 (TARGET_INFO_CUDA_GPU) bandwidth was in CUPTI's kB/s. No GPU has less than 10 GB/s or more than
# 10 TB/s.
_LEAST_BANDWIDTH = 10_000_000_000
_MOST_INT32, _MOST_INT64 = (1 << 31) - 1, (1 << 63) - 1


Gpu = dict[str, Any]
"""Columns of `device` by name."""


class Devices:
    """The GPUs of the capture by the numbers that traceq's tables use, and which of them were used."""

    def __init__(self, source: NsysExport, notes: Notes) -> None:
        """Read every table of the file that describes GPUs; renumbered GPUs are noted in `notes`."""
        self._notes = notes
        self._used: set[int] = set()
        gpus, ordinals = _read_descriptions(source)
        links = _read_links(source)
        if not links:
            old_gpus, links = _read_before_2021(source)
            gpus |= old_gpus
        notes.info(
            "device_unclear",
            sum(pid >> _ID_BITS > 0 for pid, _ in links),
            "GPUs of processes with one process id: the file does not say which GPU is whose; they are taken in its order.",
        )
        self._renumbered = _find_renumbering(links, gpus, notes)
        self._gpus, self._by_nsys_id = _number_gpus(gpus, ordinals, links, self._renumbered)

    def device_numbers(self, device_ids: pa.Array, process_ids: pa.Array) -> pa.Array:
        """Return the device number (int32) of each row by its CUDA ordinal and process, and remember these as used.

        Rows that name no device get NO_DEVICE and are counted in a data-loss note.
        """
        numbers = self.device_numbers_or_null(device_ids, process_ids)
        self._notes.data_loss(
            "no_device", numbers.null_count, f"Rows of GPU work that name no device; they are on device {NO_DEVICE}."
        )
        numbers = numbers.fill_null(NO_DEVICE)
        self._used.update(pc.unique(numbers).to_pylist())
        return numbers

    def device_numbers_or_null(self, device_ids: pa.Array, process_ids: pa.Array) -> pa.Array:
        """Return the device number (int32) of each row by its CUDA ordinal and process, NULL where it names no device."""
        ordinals = to_int32(device_ids, "deviceId", self._notes)
        if not self._renumbered:
            return ordinals
        pids = process_ids.fill_null(0)
        # A process that shares its id with others, and its GPU too, is described once.
        own_pids = pc.bit_wise_and(pids, (1 << _ID_BITS) - 1)
        return pc.coalesce(self._find_renumbered(pids, ordinals), self._find_renumbered(own_pids, ordinals), ordinals)

    def _find_renumbered(self, pids: pa.Array, ordinals: pa.Array) -> pa.Array:
        keys = pc.add(pc.shift_left(pids, _PID_SHIFT), ordinals.cast(pa.int64()))
        found = pc.index_in(keys, value_set=pa.array(list(self._renumbered), pa.int64()))
        return pa.array(list(self._renumbered.values()), pa.int32()).take(found)

    def numbers_of_nsys_ids(self, nsys_ids: pa.Array) -> pa.Array:
        """Return device numbers (int32) for the GPU ids of nsys' own that GPU metrics use, and remember these as used.

        An id that no table describes stays as it is.
        """
        known = list(self._by_nsys_id)
        found = pc.index_in(nsys_ids, value_set=pa.array(known, pa.int64()))
        mapped = pa.array([self._by_nsys_id[one] for one in known], pa.int32()).take(found)
        numbers = pc.coalesce(mapped, to_int32(nsys_ids, "GPU id", self._notes))
        self._used.update(one for one in pc.unique(numbers).to_pylist() if one is not None)
        return numbers

    def build_batches(self) -> Batches:
        """Return the rows of `device`, by number, for all GPUs that are described or were used."""
        unknown = _gpu_row(None, None, None, [None] * len(_SIZES))
        numbers = sorted(self._used | set(self._gpus))
        gpus = [self._gpus.get(number, unknown) for number in numbers]
        for column in _NARROW:
            fitting = to_int32(pa.array([gpu[column] for gpu in gpus], pa.int64()), column, self._notes)
            gpus = [{**gpu, column: number} for gpu, number in zip(gpus, fitting.to_pylist(), strict=True)]
        rows = [
            {"device": number, "source": "trace" if number in self._gpus else "unknown", **gpu}
            for number, gpu in zip(numbers, gpus, strict=True)
        ]
        return batches_of("device", rows)


def _read_descriptions(source: NsysExport) -> tuple[dict[int, Gpu], dict[int, int]]:
    """Return the rows of TARGET_INFO_GPU by nsys' GPU id, and the CUDA ordinals by that id where the table has them."""
    gpus: dict[int, Gpu] = {}
    ordinals: dict[int, int] = {}
    wanted = [
        "id",
        "deviceId",
        "cuDevice",
        "name",
        "computeMajor",
        "computeMinor",
        *(new for new, _ in _SIZES.values()),
    ]
    for own, device, ordinal, name, major, minor, *sizes in source.fetch_rows("TARGET_INFO_GPU", wanted):
        key = next((one for one in (own, device, ordinal) if _is_number(one)), len(gpus))
        gpus.setdefault(key, _gpu_row(name, major, minor, sizes))
        number = ordinal if _is_number(ordinal) else device
        if _is_number(number) and number not in ordinals.values():
            ordinals.setdefault(key, number)
    return gpus, ordinals


def _is_number(value: object) -> TypeGuard[int]:
    """Return whether the value can be the number of a GPU or the id of a process; damaged files hold other values."""
    return isinstance(value, int) and 0 <= value <= _MOST_INT32


def _gpu_row(name: object, major: object, minor: object, sizes: Sequence[object]) -> Gpu:
    """Return the columns of `device` that describe one GPU, from its values in the file.

    `sizes` are the values of the columns of _SIZES, in that order; 0, which nsys writes for unknown, becomes None.
    """
    known = {
        column: one if isinstance(one, int) and one > 0 else None for column, one in zip(_SIZES, sizes, strict=True)
    }
    warps, warp = known.pop("max_warps_per_sm"), known["warp_size"]
    return {
        "name": name if isinstance(name, str) and name else None,
        "compute_capability": f"{major}.{minor}" if isinstance(major, int) and major > 0 else None,
        # The product of damaged numbers may not fit; too many threads are left out with a note (_NARROW).
        "max_threads_per_sm": min(warps * warp, _MOST_INT64) if warps and warp else None,
        **known,
    }


def _read_links(source: NsysExport) -> dict[tuple[int, int], int]:
    """Return nsys' GPU id by (pid, CUDA ordinal), from TARGET_INFO_CUDA_DEVICE; {} in files without that table."""
    links: dict[tuple[int, int], int] = {}
    for pid, ordinal, gpu in source.fetch_rows("TARGET_INFO_CUDA_DEVICE", ["pid", "cudaId", "gpuId"]):
        if _is_number(pid) and _is_number(ordinal) and _is_number(gpu):
            # Of processes with one process id the next one is meant, as class ProcessIds numbers them.
            own_pid = pid
            while links.get((own_pid, ordinal), gpu) != gpu:
                own_pid += 1 << _ID_BITS
            links[own_pid, ordinal] = gpu
    return links


def _read_before_2021(source: NsysExport) -> tuple[dict[int, Gpu], dict[tuple[int, int], int]]:
    """Return, from TARGET_INFO_CUDA_GPU of old files, the GPUs by a number, and that number by (pid, CUDA ordinal).

    The table has a row per process and GPU: rows with the same PCI address are one GPU.
    """
    gpus: dict[int, Gpu] = {}
    links: dict[tuple[int, int], int] = {}
    keys: dict[object, int] = {}
    wanted = ["deviceId", "pid", "pciBusId", "name", "computeCapabilityMajor", "computeCapabilityMinor"]
    wanted += [old for _, old in _SIZES.values()]
    for device, pid, bus, name, major, minor, *sizes in source.fetch_rows("TARGET_INFO_CUDA_GPU", wanted):
        if not _is_number(device):
            continue
        bandwidth = sizes[-1]
        if isinstance(bandwidth, int) and bandwidth < _LEAST_BANDWIDTH:
            sizes[-1] = bandwidth * 1000
        # The first ordinal a GPU is seen under becomes its number.
        free = device if device not in keys.values() else max(keys.values()) + 1
        key = keys.setdefault(bus or f"device {device}", free)
        gpus.setdefault(key, _gpu_row(name, major, minor, sizes))
        links[pid if _is_number(pid) else 0, device] = key
    return gpus, links


def _find_renumbering(links: dict[tuple[int, int], int], gpus: dict[int, Gpu], notes: Notes) -> dict[int, int]:
    """Return nsys' GPU id by (pid << 32) + CUDA ordinal where ordinals and GPUs do not match one to one; otherwise {}.

    `links` are nsys' GPU ids by (pid, CUDA ordinal). A renumbering is told in `notes`.
    """
    pairs = {(ordinal, gpu) for (_, ordinal), gpu in links.items()}
    if len(pairs) == len({ordinal for ordinal, _ in pairs}) == len({gpu for _, gpu in pairs}):
        return {}
    notes.info(
        "devices_renumbered",
        len({*links.values()} | set(gpus)),
        "GPUs have the numbers of nsys, because CUDA ordinals differ between processes.",
    )
    return {(pid << _PID_SHIFT) + ordinal: gpu for (pid, ordinal), gpu in links.items()}


def _number_gpus(
    gpus: dict[int, Gpu], ordinals: dict[int, int], links: dict[tuple[int, int], int], renumbered: dict[int, int]
) -> tuple[dict[int, Gpu], dict[int, int]]:
    """Return the GPUs' rows by device number, and device numbers by nsys' GPU id.

    The number is nsys' id if `renumbered`, else the CUDA ordinal. A GPU that no process could see may be left out.
    """
    if renumbered:
        numbers = {key: key for key in gpus}
    elif links:
        # GPUs no process could see have no number in this trace.
        numbers = {gpu: ordinal for (_, ordinal), gpu in links.items()}
    else:
        numbers = {key: ordinals.get(key, key) for key in gpus}
    return {number: gpus[key] for key, number in numbers.items() if key in gpus}, numbers
