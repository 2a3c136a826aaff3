"""GPU idle: the launching thread is in a call of the operating system.

What it finds
    Time in which nothing runs on the GPU because the thread that launches reads or writes a file, waits for a lock,
    sleeps, or polls.

Why it matters
    A thread that is blocked launches nothing. Other threads can do what it waits for, or the wait can go.

How it is measured
    The pieces of cause idle_os in the counted steps (idle_piece), all of them. Calls inside CUDA calls count as
    those, and calls inside ranges of input or checkpoints as that. Only nsys records such calls (--trace=osrt), and
    only those above a threshold (1 us). Low 0.3, likely 1, high 1: what the thread waits for may take its time
    elsewhere.

What to try
    Terminals and pipes: give the input as a file. Files: read ahead and write in a thread of their own. Locks: who
    holds them? Sleeping and polling: wait for the event instead. Shells and processes started inside the loop: once,
    before it.

References
    https://docs.nvidia.com/nsight-systems/UserGuide/index.html
"""

from __future__ import annotations

import re
from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import shares, time
from traceq.diagnosis.subject import Subject

# What the names of calls say of what to do; the first that matches counts.
_CALLS = (
    (
        r"^(sem_|pthread_(mutex|cond|rwlock|join|barrier)|futex)",
        (
            "The thread waits for another one: look at what that thread does at this time, and hand over work without waiting "
            "(a queue.Queue with more than one place)."
        ),
    ),
    (
        r"sleep",
        "Remove the sleep, or wait for what it stands for: an event, a future, a queue.",
    ),
    (
        r"^(p?poll|select|epoll|recv|accept|connect|send)",
        (
            "The thread waits for another process, a device or the network: let a thread of its own wait, and hand the "
            "result over when it is there."
        ),
    ),
    (
        r"^(f?getc(_unlocked|har)?|getchar|gets|getline|v?scanf)$",
        (
            "Somebody, or another process, is waited for where one such call takes long (a terminal, a pipe): give the input as "
            "an argument or a file. A file is read in large pieces (fread), before the loop or in a thread of its own."
        ),
    ),
    (
        r"^(f?(read|get)|p?readv?|open|stat|lstat|fstat|fopen|access|getc|scanf|fscanf)",
        (
            "Read ahead in a thread of its own, and in large pieces (in Python: "
            "`future = concurrent.futures.ThreadPoolExecutor(1).submit(read, path)`, used when the result is needed)."
        ),
    ),
    (
        r"^(f?(write|put|print|sync|flush|close)|p?writev?|puts|putc|fdatasync|vfprintf)",
        "Write behind in a thread of its own (in Python: `concurrent.futures.ThreadPoolExecutor(1).submit(write, data)`).",
    ),
    (
        r"^ioctl",
        (
            "The GPU's driver does this: it sets up the GPU, or maps memory. Allocate and register memory once, before the loop; "
            "at the start of a program it is part of starting up."
        ),
    ),
    (
        r"^(mmap|munmap|madvise|brk|mprotect)",
        "Reuse memory of the host instead of mapping it anew: allocate buffers once, before the loop.",
    ),
    (
        r"^(fork|vfork|execve|posix_spawn|system|waitpid|wait4|pthread_create|clone)",
        "Start threads and processes once, before the loop (DataLoader: persistent_workers=True).",
    ),
)
_ANY = "Take it out of the thread that launches."


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """All of idle_os."""
    calls = subject.ask("blocking_os_call_facts")
    hint = next((text for pattern, text in _CALLS if re.search(pattern, calls[0]["name"])), _ANY)
    return {
        "fix": f"{hint} By call: {shares(calls)}; up to {time(claim.row['longest_ns'])} at a time.",
    }
