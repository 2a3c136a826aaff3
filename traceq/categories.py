"""The categories of the ledger, in the order in which time is given to them; the database knows no others."""

from __future__ import annotations

BUSY = ("compute", "communication", "copy_h2d", "copy_d2h", "copy_other", "memset")
IDLE = (
    "idle_data",
    "idle_sync",
    "idle_allocation",
    "idle_compile",
    "idle_launch",
    "idle_python",
    "idle_os",
    "idle_checkpoint",
    "idle_communication",
    "idle_dependency",
    "idle_launch_latency",
    "idle_profiler",
    "idle_unattributed",
)
CATEGORIES = (*BUSY, *IDLE)
