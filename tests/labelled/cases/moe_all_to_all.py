from __future__ import annotations

NAME = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def steps(trace, around, exchange=450):
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 60, 930)
        trace.annotation(around, start + 10, 40)
        trace.kernel("gemm", start + 50, 400, launched=(start + 1, 1))
        trace.op("c10d::alltoall_base_", start + 20, 20)
        trace.kernel(NAME, start + exchange, 300, launched=(start + 25, 1), stream=20)


def found(trace):
    """Tokens go to their experts while nothing computes."""
    steps(trace, "MoELayer.dispatch")


def found_embeddings(trace):
    """So do embeddings."""
    steps(trace, "## forward:all2all_global_emb ##")


def found_unknown(trace):
    """And what nothing names."""
    steps(trace, "something")


def clean(trace):
    """The same exchange beside compute."""
    steps(trace, "MoELayer.dispatch", 100)


def clean_send(trace):
    """The same kernel, asked for as a send."""
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 60, 930)
        trace.kernel("gemm", start + 50, 400, launched=(start + 1, 1))
        trace.op("c10d::send", start + 20, 20)
        trace.kernel(NAME, start + 450, 300, launched=(start + 25, 1), stream=20)


def cannot_tell(trace):
    """No GPU."""
    trace.op("c10d::alltoall_base_", 0, 100)
