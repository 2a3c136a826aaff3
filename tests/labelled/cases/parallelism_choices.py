from __future__ import annotations

from labelled.gpu_work import shapes

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
REDUCE_SCATTER = "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ALL_GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
FLASH = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<16, 64, 64, 4> >(Flash_fwd_params)"
# of queries [2, 4, 8, 16] in fp32: 4 KiB
QUERIES = shapes(*[[2, 4, 8, 16]] * 3)
ATTENTION = "aten::_scaled_dot_product_flash_attention"


def collective(trace, name, op, elements, at, launched, ranks=4, dtype="Float", width=4):
    reduce = trace.kernel(name, at, 1_000_000, launched=(launched, 5_000), stream=20)
    trace.add(
        "collective",
        slice_id=reduce,
        op=op,
        dtype=dtype,
        bytes=width * elements,
        in_elements=elements,
        out_elements=elements,
        group_name="0",
        group_size=ranks,
    )


def train(
    trace,
    *,
    micro_batches=2,
    synced=None,
    layers=0,
    optimizer="Adam",
    reduce=3_000_000,
    wrapper=True,
    ranks=4,
    elements=1_000_000,
):
    """Three steps of micro-batches, whose gradients (two buckets, a million in fp32) are reduced in the open."""
    at = 0
    for step in range(3):
        start = at
        for number in range(micro_batches):
            trace.annotation("forward", at, 1_000_000)
            if wrapper:
                trace.annotation("DistributedDataParallel.forward", at + 1_000, 998_000)
            trace.kernel("gemm", at + 20_000, 300_000, launched=(at + 5_000, 5_000))
            for layer in range(layers):
                called = at + 30_000 + 20_000 * layer
                trace.op(ATTENTION, called, 10_000, args=QUERIES)
                trace.kernel(FLASH, at + 330_000 + 10_000 * layer, 10_000, launched=(called + 1_000, 5_000))
            trace.annotation("backward", at + 1_000_000, reduce)
            trace.kernel("gemm", at + 1_020_000, 300_000, launched=(at + 1_005_000, 5_000))
            if synced is None or number in synced:
                bucket = 3 * elements // 4
                collective(trace, ALL_REDUCE, "nccl:all_reduce", bucket, at + 1_400_000, at + 1_050_000, ranks)
                collective(
                    trace, ALL_REDUCE, "nccl:all_reduce", elements - bucket, at + 2_400_000, at + 1_060_000, ranks
                )
            at += 1_000_000 + reduce
        trace.annotation("optimizer", at, 200_000)
        trace.op(f"Optimizer.step#{optimizer}.step", at + 1_000, 190_000)
        trace.kernel("adam", at + 50_000, 100_000, launched=(at + 10_000, 5_000))
        at += 200_000
        trace.annotation(f"ProfilerStep#{step}", start, at - start)


def found(trace):
    """Half of each step is all-reduces of gradients."""
    train(trace)


def found_with_attention(trace):
    """What a layer hands to the next is known: so is what split layers and stages would send."""
    train(trace, layers=3, synced=(1,))


def found_sharded(trace):
    """Parameters are gathered in 16 bits, and gradients reduced in 32."""
    for step in range(3):
        at = 10_000_000 * step
        trace.annotation(f"ProfilerStep#{step}", at, 10_000_000)
        trace.annotation("forward", at, 3_000_000)
        trace.annotation("FSDP::forward", at + 1_000, 2_990_000)
        collective(trace, ALL_GATHER, "nccl:all_gather", 1_000_000, at + 20_000, at + 5_000, dtype="BFloat16", width=2)
        trace.kernel("gemm", at + 1_100_000, 300_000, launched=(at + 15_000, 5_000))
        trace.annotation("backward", at + 3_000_000, 6_000_000)
        trace.annotation("FSDP::post_backward", at + 3_001_000, 5_990_000)
        trace.kernel("gemm", at + 3_050_000, 300_000, launched=(at + 3_005_000, 5_000))
        collective(trace, REDUCE_SCATTER, "nccl:reduce_scatter", 1_000_000, at + 3_400_000, at + 3_020_000)
        trace.annotation("optimizer", at + 9_000_000, 500_000)
        trace.kernel("adam", at + 9_050_000, 100_000, launched=(at + 9_010_000, 5_000))


def found_tensor_parallel(trace):
    """All-reduces between layers, forward and backward, of activations."""
    trace.add("trace", producer="tests", rank=0, world_size=8)
    for step in range(3):
        start = 100_000_000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 50_000_000)
        for number, phase in enumerate(("forward", "backward")):
            at = start + 20_000_000 * number
            trace.annotation(phase, at, 20_000_000)
            for layer in range(8):
                called = at + 2_000_000 * layer
                trace.kernel("gemm", called + 20_000, 500_000, launched=(called + 5_000, 5_000))
                collective(trace, ALL_REDUCE, "nccl:all_reduce", 1_000_000, called + 600_000, called + 12_000, ranks=8)


def clean_hidden(trace):
    """The same gradients beside a long backward pass: a tenth of the step at most."""
    train(trace, micro_batches=1, reduce=30_000_000)


def clean_alone(trace):
    """Nobody to share with."""
    trace.annotation("ProfilerStep#0", 0, 1_000)
    trace.kernel("gemm", 100, 800, launched=(10, 5))


def cannot_tell_bytes_differ(trace):
    """Reductions of which nothing says how many bytes they have."""
    for step in range(3):
        at = 10_000_000 * step
        trace.annotation(f"ProfilerStep#{step}", at, 10_000_000)
        trace.annotation("backward", at, 9_000_000)
        trace.kernel("gemm", at + 20_000, 300_000, launched=(at + 5_000, 5_000))
        trace.kernel(ALL_REDUCE, at + 400_000, 5_000_000, launched=(at + 15_000, 5_000))


def cannot_tell_the_type(trace):
    """Nothing says that PyTorch's DDP reduces them: parameters may have another type."""
    train(trace, wrapper=False)
