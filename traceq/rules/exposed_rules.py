"""Rules about time in which a GPU only communicates, copies or sets memory."""

from __future__ import annotations

from traceq.rules.ledger_rule import LedgerRule

_CERTAIN = "The time is measured, not inferred; how much of it a fix wins back is not certain: "

EXPOSED: tuple[LedgerRule, ...] = (
    LedgerRule(
        "exposed-communication",
        "communication",
        "Exposed communication",
        "medium",
        _CERTAIN + "part of it can be waiting for a late rank, and compute that depends on the result cannot move.",
        "no communication ran on any GPU",
        "Let collectives start earlier, so that compute runs beside them: tune bucket_cap_mb of"
        " DistributedDataParallel, set backward_prefetch or forward_prefetch in FSDP, or issue them with"
        " async_op=True and call wait() only where the result is used. If they are longer than the compute"
        " that could hide them, send less or less often (no_sync() during gradient accumulation, bf16"
        " gradients by bf16_compress_hook), and compare the ranks, because waiting for a late rank looks"
        " the same here.",
    ),
    LedgerRule(
        "exposed-copy-h2d",
        "copy_h2d",
        "Exposed host-to-device copies",
        "medium",
        _CERTAIN + "a copy can hide only behind compute that does not need its data.",
        "no host-to-device copy ran on any GPU",
        "Put batches in pinned memory (DataLoader(pin_memory=True)) and copy them with .to(device,"
        " non_blocking=True) on a side stream one batch ahead, so that the copy runs during the previous"
        " batch's compute. Also copy less: send compact types (uint8 images, int32 tokens) and convert on"
        " the GPU, and create constants and masks there with device=....",
    ),
    LedgerRule(
        "exposed-copy-d2h",
        "copy_d2h",
        "Exposed device-to-host copies",
        "medium",
        _CERTAIN + "the host often waits for such a copy: idle time after it can shrink too, or take its place.",
        "no device-to-host copy ran on any GPU",
        "Look for .item(), .cpu(), .tolist(), printing and logging of tensors inside the step; keep"
        " metrics on the GPU and read them every some hundred steps. Where a copy is needed, make it to"
        " pinned memory with non_blocking=True and wait for it with an event when the value is used.",
    ),
    LedgerRule(
        "exposed-copy-other",
        "copy_other",
        "Exposed other copies (GPU to GPU, unified memory)",
        "medium",
        _CERTAIN + "a copy whose result the next kernel reads cannot hide, it can only be avoided.",
        "no other copy ran on any GPU",
        "Avoid copies inside the GPU: write into preallocated tensors instead of torch.cat, clone() and"
        " contiguous(), and let torch.compile fuse what remains. For unified memory prefetch"
        " (cudaMemPrefetchAsync) or copy explicitly, because migration on page faults is slow.",
    ),
    LedgerRule(
        "exposed-memset",
        "memset",
        "Exposed memsets",
        "medium",
        _CERTAIN + "some libraries need cleared workspaces.",
        "no memset ran on any GPU",
        "Use optimizer.zero_grad(set_to_none=True) and torch.empty where every element is written anyway."
        " Many small memsets come from libraries' workspaces; torch.compile or CUDA graphs make their"
        " launches cheaper but keep them.",
    ),
)
