"""The GPU ran out of memory.

What it finds
    Allocations that failed, in the history of a memory snapshot: how much was requested, how much the device had
    left, what was unused in the allocator's segments, which code held most, and what would have been enough.

Why it matters
    Nothing else in the snapshot matters until this is fixed: the program ends, or computes its batch again.

How it is measured
    The last `oom` event of each device (memory_failure). The allocator asks the device for a segment: 2 MiB for requests of
    up to 1 MiB, 20 MiB for less than 10 MiB, else a multiple of 2 MiB; the part of that which was not free is the
    shortage. If as much is unused in segments that the request could use, but no free block is as large as the
    request, memory is fragmented; if it is in segments of other streams or pools, that is the reason; if the device
    had enough, the reason is a limit of the process, or another process that has released memory since. Otherwise
    memory is full. Held is what was allocated and not released at that moment, by the innermost line of the program
    itself (memory_failure_holder).

What to try
    Expandable segments if memory is fragmented. Otherwise use less memory before that line: a smaller batch,
    checkpointing, the loss in chunks, sharded optimizer states.

References
    https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
    https://docs.pytorch.org/docs/stable/notes/cuda.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from traceq.common.units import mebibytes, share, some
from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.wording import cut_name
from traceq.diagnosis.subject import Subject

_MOST = 0.5
_EXPANDABLE = (
    "Set `PYTORCH_ALLOC_CONF=expandable_segments:True` before Python starts (before 2.9 `PYTORCH_CUDA_ALLOC_CONF`)."
)
_CHUNKS = (
    "compute the cross entropy in chunks (fused with the linear layer, or with `torch.utils.checkpoint` around "
    "parts of the batch) and keep the logits in 16 bits"
)


def judge(subject: Subject) -> Iterator[Remark]:
    """Yield a remark for each device on which memory ran out."""
    subject.only_for("pytorch")
    subject.needs("allocations")
    rows = subject.ask("out_of_memory")
    if not rows:
        raise NothingThere("no allocation failed in the history")
    for row in rows:
        yield Remark(
            text=" ".join(
                filter(None, (_describe_shortage(row), _describe_idle_segments(row), _describe_holders(row)))
            ),
            query="out_of_memory",
            fix=_fix_by_cause(subject, row),
            title=_title_of_failure(row),
            key=str(row["device"]) if len(rows) > 1 else "",
        )


def _title_of_failure(row: Mapping[str, Any]) -> str:
    asked = mebibytes(row["asked_bytes"])
    what = f"{cut_name(row['asked_by'])} requested {asked}" if row["asked_by"] else f"{asked} were requested"
    free = "" if row["free_bytes"] is None else f", {mebibytes(row['free_bytes'])} were free"
    return f"Out of memory on GPU {row['device']}: {what}{free}"


def _describe_shortage(row: Mapping[str, Any]) -> str:
    """Return a sentence on how many bytes the last failed allocation lacked, and how often allocations failed."""
    often = (
        f" Allocations failed {some(row['failures'], 'time')} in the history; this is the last one."
        if row["failures"] > 1
        else ""
    )
    if row["short_bytes"] is None:
        return f"The file does not say how much the device had left.{often}"
    if row["short_bytes"] == 0:
        return f"The device had enough memory: its size is not what limits this process.{often}"
    by = f"Short by {mebibytes(row['short_bytes'])}"
    if row["asked_bytes"] <= row["free_bytes"]:
        by += f", because the allocator takes whole segments, here of {mebibytes(row['needed_bytes'])}"
    return f"{by}.{often}"


def _describe_idle_segments(row: Mapping[str, Any]) -> str:
    """Say how much lay idle in segments, and whether that is the reason."""
    if row["reserved_bytes"] is None:
        return (
            "What the allocator held at that time is not known, because segments and events in the file "
            "contradict each other."
        )
    most = "" if row["is_exact"] else "at most "
    text = (
        f"The allocator held {mebibytes(row['reserved_bytes'])} at that time, of which "
        f"{most}{mebibytes(row['idle_bytes'])} were unused"
    )
    if row["largest_free_bytes"]:
        text += f"; the largest free block had {most}{mebibytes(row['largest_free_bytes'])}"
    told = {
        "fragmented": "that is enough, but in pieces that are too small: memory is fragmented",
        "elsewhere": (
            f"{mebibytes(row['idle_elsewhere_bytes'])} of that is in segments of other streams or pools, which "
            "this request may not use"
        ),
        "awaiting": (
            f"{mebibytes(row['awaiting_bytes'])} had been released, but waited for another stream that might "
            "still use them"
        ),
        "full": "that is too little: memory is full" if row["idle_bytes"] else "memory is full",
    }.get(row["cause"], "")
    return f"{text}{': ' if told else ''}{told}.{_describe_other_holders(row)}"


def _describe_other_holders(row: Mapping[str, Any]) -> str:
    """Return a sentence on how much of the GPU other processes held; "" as far as that is unknown or nothing."""
    if row["free_bytes"] is None:
        return ""
    if row["others_bytes"]:
        return (
            f" Other processes, contexts and communication libraries held {mebibytes(row['others_bytes'])} of "
            "the GPU's memory."
        )
    if row["others_bytes"] is None and row["cause"] in ("full", "limit"):
        seen = mebibytes(row["reserved_bytes"] + row["free_bytes"])
        return f" Others held whatever the GPU has beyond {seen}; the snapshot does not say how large its memory is."
    return ""


def _describe_holders(row: Mapping[str, Any]) -> str:
    """Return a sentence on which code held most of the memory in use, and which asked for the largest tensor; "" if none was."""
    used, ownerless = row["used_bytes"], row["ownerless_bytes"]
    if not used:
        return ""
    in_use = f"Of {mebibytes(used)} in use"
    if not row["holder"]:
        return f"{in_use}, no stack is known."
    holder = f"{cut_name(row['holder'])} held most"
    held = f"{mebibytes(row['holder_bytes'])} ({share(row['holder_bytes'] / used)})"
    if ownerless > row["holder_bytes"]:
        known = f"{in_use}, no stack is known for {mebibytes(ownerless)} ({share(ownerless / used)})"
        return f"{known}; of the rest, {holder}: {held}."
    text = f"{in_use}, {holder}: {held}."
    if row["largest_tensor_by"] and row["largest_tensor_bytes"] < row["holder_bytes"]:
        largest = mebibytes(row["largest_tensor_bytes"])
        text += f" The largest tensor, {largest}, was allocated by {cut_name(row['largest_tensor_by'])}."
    return text


def _fix_by_cause(subject: Subject, row: Mapping[str, Any]) -> str:
    """Return advice on what would have let the allocation succeed, by the cause of the failure."""
    idle, elsewhere, awaiting, lacked, largest = (
        mebibytes(row[f"{name}_bytes"] or 0) for name in ("idle", "idle_elsewhere", "awaiting", "short", "largest_free")
    )
    match row["cause"]:
        case "full":
            text = _ways_to_use_less(subject, row)
        case "fragmented" if row["is_expandable"]:
            text = (
                "Use batches with few different shapes, the largest first, and allocate long-lived tensors "
                f"first: expandable segments are already on. {_ways_to_use_less(subject, row)}"
            )
        case "fragmented":
            most = "" if row["is_exact"] else "up to "
            covered = f"The {most}{idle} that were unused would have covered the missing {lacked}."
            text = f"{_EXPANDABLE} {covered} {_ways_to_use_less(subject, row)}"
        case "elsewhere":
            text = (
                "Let streams and graphs share a pool (`torch.cuda.graph_pool_handle()`), or release what they "
                f"cache beforehand: {elsewhere} unused there would have covered the missing {lacked}."
            )
        case "awaiting":
            text = (
                "Make the streams wait for each other before the tensors are released, instead of using "
                f"`record_stream()`: that would have freed {awaiting}, more than the missing {lacked}."
            )
        case "limit":
            text = (
                "Look for a limit set for this process: `torch.cuda.set_per_process_memory_fraction()`. If "
                f"there is none, another process has released its memory since: "
                f"`{subject.program.words['smi']}` shows who else is on the GPU."
            )
        case "others":
            others = f"`{subject.program.words['smi']}` shows who else is on it"
            text = f"Give the process its own GPU: {others}. {_ways_to_use_less(subject, row)}"
        case _ if row["is_exact"] and row["largest_free_bytes"]:
            text = (
                f"Look for what keeps the free block of {largest} from the request: `max_split_size_mb` of"
                " `PYTORCH_ALLOC_CONF`, or a separate pool."
            )
        case _:
            text = (
                "Take a snapshot at the moment of the failure: `torch._C._cuda_attach_out_of_memory_observer()` with a"
                " function that calls `torch.cuda.memory._dump_snapshot()`."
            )
    return text


def _ways_to_use_less(subject: Subject, row: Mapping[str, Any]) -> str:
    """Return a sentence with ways to have at least as many bytes less in use as the allocation lacked."""
    lacked, used = row["short_bytes"] or 0, max(row["used_bytes"], 1)
    text = f"Using at least {mebibytes(lacked)} less would have been enough: " if lacked else ""
    scaled = row["scaled_bytes"] + (row["asked_bytes"] if row["is_scaled"] else 0)
    ways = []
    if row["is_loss"] or row["loss_bytes"] >= max(lacked, 1):
        ways.append(_CHUNKS)
    elif row["is_cast"] or (row["is_largest_cast"] and row["largest_tensor_bytes"] / 2 >= lacked):
        ways.append("avoid the copy into another type (`.to()`, `.float()`), which exists alongside the original")
    if 0 < lacked < scaled:
        ways.append(
            f"a batch smaller by at least {share(lacked / scaled)} (activations, input and the request take "
            f"{mebibytes(scaled)})"
        )
    if row["activation_bytes"] >= max(lacked, 1):
        ways.append("checkpointing of layers (`torch.utils.checkpoint`)")
    if subject.program.trains and row["optimizer_bytes"] >= max(lacked, 1) and not ways:
        ways.append("optimizer states in 8 bits, or sharded over ranks (FSDP)")
    if not ways and row["ownerless_bytes"] > _MOST * used:
        ways.append(
            "to see what holds the memory, call `torch.cuda.memory._record_memory_history()` before the model "
            "is created and take another snapshot"
        )
    if not ways:
        ways.append("a smaller batch, or the model's states sharded over ranks (FSDP)")
    told = "; or ".join(ways)
    return f"{text}{told}." if text else f"{told[:1].upper()}{told[1:]}."
