from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000)


def migrate(trace, ts, dur, size=65_536, way="HtoD"):
    trace.gpu("memcpy", f"Memcpy {way} (Unified)", ts, dur, copy_kind="um", bytes=size, stream=0)


def step(trace, start, length=1_000_000):
    trace.annotation("outer", start, length)
    trace.kernel("jacobi", start + 600_000, 380_000, launched=(start + 590_000, 5_000))
    trace.call("cudaDeviceSynchronize", start + 596_000, 390_000)


def found(trace):
    """Pages come in before the kernel starts."""
    for start in STEPS:
        step(trace, start)
        migrate(trace, start + 300_000, 100_000)


def found_faults_of_a_kernel(trace):
    """Small pieces come in while the kernel runs."""
    for start in STEPS:
        step(trace, start)
        for piece in range(30):
            migrate(trace, start + 610_000 + 10_000 * piece, 8_000)


def found_page_faults(trace):
    """One small migration, and faults that take long."""
    for start in STEPS:
        step(trace, start)
        migrate(trace, start + 610_000, 1_000, 4096)
        trace.add(
            "page_fault", processor="gpu", device=0, ts=start + 650_000, dur=250_000, faults=64, access="read", pid=1
        )


def clean(trace):
    """Prefetched in whole blocks beside the kernel."""
    for start in STEPS:
        step(trace, start)
        migrate(trace, start + 610_000, 200_000, 2 << 20)


def clean_without(trace):
    """No managed memory."""
    for start in STEPS:
        step(trace, start)
        trace.memcpy("h2d", start + 300_000, 100_000, launched=(start + 290_000, 5_000))


def cannot_tell(trace):
    """No GPU."""
    trace.op("aten::mm", 0, 1000)
