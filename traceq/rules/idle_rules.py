"""Rules about the time in which nothing runs on a GPU, one per cause; docs/metrics.md defines them."""

from __future__ import annotations

from traceq.rules.ledger_rule import LedgerRule

_NEVER = "no gap in the counted steps has this cause"

IDLE: tuple[LedgerRule, ...] = (
    LedgerRule(
        "idle-data",
        "idle_data",
        "GPU idle: the host fetches data",
        "high",
        "The launching thread was inside a data fetch while the GPU had nothing to do; when it goes, "
        "another wait can take its place.",
        _NEVER,
        "Let more DataLoader workers prepare batches ahead: num_workers above 0, "
        "persistent_workers=True, a larger prefetch_factor, pin_memory=True. Where the workers are "
        "busy all the time, make a sample cheaper: decode and augment on the GPU, store decoded or "
        "packed samples, read larger blocks.",
    ),
    LedgerRule(
        "idle-sync",
        "idle_sync",
        "GPU idle: the host waits for the GPU",
        "high",
        "The launching thread was in a synchronizing call while the GPU had run dry; what follows the"
        " call adds to it and counts under its own cause.",
        _NEVER,
        "Take synchronizing calls out of the step: .item(), .cpu(), .tolist(), printing of tensors, "
        "torch.cuda.synchronize(), copies of pageable memory, boolean indexing and nonzero(). Read "
        "metrics every some hundred steps, or copy them to pinned memory and wait for an event. "
        "idle_gap.drained_by names the calls.",
    ),
    LedgerRule(
        "idle-allocation",
        "idle_allocation",
        "GPU idle: the host allocates memory",
        "high",
        "The launching thread was in an allocation call of the driver while the GPU had nothing to do.",
        _NEVER,
        "Allocation calls inside steps mean that the caching allocator does not hold what is needed: "
        "no torch.cuda.empty_cache() in the loop, fixed or bucketed shapes, "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and pinned buffers made once.",
    ),
    LedgerRule(
        "idle-compile",
        "idle_compile",
        "GPU idle: code is compiled or loaded",
        "high",
        "The launching thread was compiling, tuning or loading code while the GPU had nothing to do.",
        _NEVER,
        "Warm up before what is measured; stop recompilation by fixed or bucketed shapes or "
        "mark_dynamic; keep compiler caches between runs; CUDA_MODULE_LOADING=EAGER moves loading of "
        "kernels to the start.",
    ),
    LedgerRule(
        "idle-launch",
        "idle_launch",
        "GPU idle: work is launched too slowly",
        "medium",
        "The launching thread was inside operators and launching calls; how much a fix wins depends "
        "on how much faster it launches.",
        _NEVER,
        'Launch less or cheaper: torch.compile(mode="reduce-overhead") or CUDA graphs, fused and '
        "foreach optimizers, fused attention and norms, a larger batch.",
    ),
    LedgerRule(
        "idle-python",
        "idle_python",
        "GPU idle: Python between operators",
        "medium",
        "The launching thread ran code between operators; what exactly, only Python stacks tell (with_stack=True).",
        _NEVER,
        "Take Python work out of the loop: logging, metrics, garbage collection (gc.freeze()), loops "
        "over parameters. What must stay can run after the step's work has been launched, so that the"
        " GPU is busy meanwhile; torch.compile and CUDA graphs remove most of the rest.",
    ),
    LedgerRule(
        "idle-os",
        "idle_os",
        "GPU idle: the host is in the operating system",
        "medium",
        "The launching thread was in a system call; a wait there can have causes outside this trace.",
        _NEVER,
        "See which call it is (idle_gap_cause.cpu_slice_id): files and sockets belong into other "
        "threads, locks (futex, sem_wait) point at a thread that holds them, and CPU limits or "
        "oversubscription show as waits as well.",
    ),
    LedgerRule(
        "idle-checkpoint",
        "idle_checkpoint",
        "GPU idle: a checkpoint is saved",
        "high",
        "The launching thread was saving while the GPU had nothing to do.",
        _NEVER,
        "Save less often, or asynchronously (torch.distributed.checkpoint.async_save): copy to pinned"
        " memory, and write from another thread or process.",
    ),
    LedgerRule(
        "idle-communication",
        "idle_communication",
        "GPU idle: the host waits for other processes",
        "high",
        "The launching thread was in a collective or barrier of the host while the GPU had nothing to do.",
        _NEVER,
        "Take barriers and CPU-side collectives (gloo, MPI) out of the step, or move them to the GPU."
        " Compare the ranks: all but the late one wait here.",
    ),
    LedgerRule(
        "idle-dependency",
        "idle_dependency",
        "GPU idle: launched work waits for other work",
        "medium",
        "The work was launched before the gap began and its stream waited for an event; whether the "
        "wait is needed is not known.",
        _NEVER,
        "Look at the event waited for (synchronization) and at work of other devices in the gap; "
        "record events earlier, drop waits that order what is independent, and give work that does "
        "not depend on each other streams of its own.",
    ),
    LedgerRule(
        "idle-launch-latency",
        "idle_launch_latency",
        "GPU idle: launches on their way",
        "low",
        "From the launching call to the start on the device; a few microseconds of it belong to every"
        " launch into an empty queue.",
        _NEVER,
        "Keep the queue filled, so that launches overlap with work: fewer synchronizing calls, CUDA "
        "graphs, larger kernels. A latency of far more than 10 us points at something on the device "
        "that is not in the trace: another process, a debugger, power saving.",
    ),
    LedgerRule(
        "idle-profiler",
        "idle_profiler",
        "GPU idle: the profiler itself",
        "high",
        "The launching thread was in the profiler's own code: without it this time is not there.",
        _NEVER,
        "Leave it out of what is judged: capture fewer events (no Python stacks, no memory events), "
        "warm the profiler up, and flush outside the steps.",
    ),
    LedgerRule(
        "idle-unattributed",
        "idle_unattributed",
        "GPU idle: no cause in the trace",
        "low",
        "Nothing recorded explains these gaps.",
        _NEVER,
        "Capture more: the runtime API (nsys --trace=cuda,nvtx,osrt; ProfilerActivity.CPU), Python "
        "stacks (with_stack=True), and annotations (traceq.annotate).",
    ),
)
