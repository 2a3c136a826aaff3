from __future__ import annotations

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rank(trace, number, late, *, group="0", sequences=True):
    """Three steps of a rank of two whose first kernel begins `late`; the all-reduce ends at the same time on all."""
    trace.add("trace", producer="tests", rank=number, world_size=2, utc_origin_ns=1_000_000_000)
    for step, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{step}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + late + 40, 950 - late)
        trace.annotation("forward", start + late + 1, 10)
        trace.kernel("gemm", start + late + 20, 300, launched=(start + late + 5, 5))
        trace.annotation("backward", start + late + 20, 15)
        begin = start + late + 320
        reduce = trace.kernel(NAME, begin, start + 900 - begin, launched=(start + late + 25, 5), stream=20)
        trace.add(
            "collective",
            slice_id=reduce,
            op="allreduce",
            bytes=26214400,
            group_name=group,
            group_size=2,
            sequence=step if sequences else None,
        )


def found(trace):
    """The other rank comes 400 ns later, in every step."""
    rank(trace, 0, 0)
    rank(trace.other_rank(), 1, 400)


def found_late(trace):
    """This rank is the late one: nothing to claim, but to say."""
    rank(trace, 0, 400)
    rank(trace.other_rank(), 1, 0)


def found_by_world(trace):
    """Groups are known by addresses only, but have all ranks."""
    rank(trace, 0, 0, group="93825114103440")
    rank(trace.other_rank(), 1, 400, group="93825133358160")


def clean(trace):
    """Both come at the same time, and the all-reduce takes as long."""
    rank(trace, 0, 0)
    rank(trace.other_rank(), 1, 0)


def cannot_tell(trace):
    """The other rank is not in the database."""
    rank(trace, 0, 0)


def cannot_tell_without_sequences(trace):
    """Nothing says which all-reduce of the other rank is the same."""
    rank(trace, 0, 0, sequences=False)
    rank(trace.other_rank(), 1, 400, sequences=False)
