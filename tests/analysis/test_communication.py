"""What names say of communication: library, operation, algorithm."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

KERNELS = """
ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem) | NCCL all_reduce ring
ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*) | NCCL unknown ring
ncclSendRecvKernel_copy_i8(ncclWorkElem) | NCCL send_recv -
ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*) | NCCL send_recv -
ncclAllReduceRingLLKernel_sum_f16(ncclColl) | NCCL all_reduce ring
ncclDevKernel_AllGather_RING_LL(ncclDevComm*, unsigned long, ncclWork*) | NCCL all_gather ring
ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*) | NCCL reduce_scatter ring
ncclDevKernel_ReduceScatter_Sum_bf16_PAT_SIMPLE(ncclDevComm*) | NCCL reduce_scatter pat
ncclDevKernel_AllReduce_Sum_f32_TREE_LL(ncclDevKernelArgsStorage<4096ul>) | NCCL all_reduce tree
ncclDevKernel_AllReduce_Sum_f32_NVLS_TREE_SIMPLE(ncclDevComm*) | NCCL all_reduce nvls_tree
ncclDevKernel_Broadcast_RING_LL(ncclDevComm*) | NCCL broadcast ring
ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevComm*) | NCCL reduce ring
ncclDevKernel_Generic_1(ncclDevComm*, unsigned long, ncclWork*) | NCCL unknown -
ncclSymkDevKernel_AllReduce_AGxLL_R_sum(ncclSymkDevWorkArgs) | NCCL all_reduce symmetric
rcclGenericKernel_1(ncclDevComm*) | RCCL unknown -
mscclKernel_Sum_half_LL(ncclDevComm*, mscclAlgo*) | MSCCL unknown -
void mscclpp::allreduce<half>() | MSCCL all_reduce -
nvshmemi_broadcast_on_stream_kernel | NVSHMEM broadcast -
nvshmemi_barrier_on_stream_kernel | NVSHMEM barrier -
void deep_ep::internode::dispatch<true, 8>() | DeepEP all_to_all -
void deep_ep::intranode::combine<__nv_bfloat16>() | DeepEP all_to_all -
_ZN7deep_ep9internode8dispatchILb1EEEv | DeepEP all_to_all -
void dpsk::ep::intranode::combine() | DeepEP all_to_all -
void vllm::cross_device_reduce_2stage<half, 8>() | custom all_reduce two_shot
void vllm::cross_device_reduce_1stage<half, 8>() | custom all_reduce one_shot
void quickreduce::allreduce_prototype_twoshot<half>() | custom all_reduce two_shot
void sglang::oneShotAllReduce<half>() | custom all_reduce one_shot
two_shot_all_reduce_kernel | custom all_reduce two_shot
multimem_all_reduce_kernel<float> | symmetric memory all_reduce multimem
multimem_all_gather_kernel<16> | symmetric memory all_gather multimem
void c10d::symmetric_memory::barrier_kernel() | symmetric memory barrier symmetric
void userbuffers_fp16_sum_inplace_gpu_rr_rs<8>() | Transformer Engine reduce_scatter -
kuserbuffers_pushrecv | Transformer Engine recv -
"""

COMPUTE = """
triton_poi_fused_all_reduce_lift_fresh_0
triton_red_fused__to_copy_all_gather_into_tensor_wait_tensor_3
warpAllReduceSoftmax
void blockAllReduceSum<float>()
fused_all_gather_matmul_kernel
_ZN7deep_ep6layout19get_dispatch_layoutEv
void deep_ep::layout::get_dispatch_layout<256>()
void at::native::reduce_kernel<512, 1>()
void at::native::split_with_sizes_copy_out_contiguous_no_cast_kernel()
"""

RANGES = """
nccl:_all_gather_base | NCCL all_gather all
nccl:coalesced | NCCL unknown all
nccl:all_to_all | NCCL all_to_all all
ncclSend | NCCL send all
ncclGroupEnd | NCCL unknown all
gloo:all_reduce | Gloo all_reduce all
MPI_Allgatherv | MPI all_gather all
MPI_Irecv | MPI recv all
ucp_tag_send_nbx | UCX send all
c10d::_reduce_scatter_base_ | - reduce_scatter all
c10d::broadcast_ | - broadcast all
record_param_comms | - unknown all
FSDP::all_gather (layers.0) | - all_gather copies
symm_mem::fused_all_gather_matmul | symmetric memory all_gather copies
"""

NAMES = (
    "select name || ' | ' || concat_ws(' ', coalesce(library, '-'), op, coalesce({last}, '-')) from communication_name"
)


@pytest.fixture(scope="module")
def named():
    trace = TraceBuilder()
    ts = 0
    for line in [*KERNELS.strip().splitlines(), *COMPUTE.strip().splitlines()]:
        trace.kernel(line.split(" | ")[0], ts := ts + 10, 10)
    for line in [
        *RANGES.strip().splitlines(),
        "forward",
        "aten::all",
        "FSDP::pre_forward",
        "c10::x",
        "encoder.scatter",
    ]:
        trace.annotation(line.split(" | ")[0], ts := ts + 10, 10)
    return trace.fill()


def test_kernels(named):
    found = named.rows(NAMES.format(last="algorithm") + " where kind = 'kernel'")
    assert sorted(line for (line,) in found) == sorted(KERNELS.strip().splitlines())


def test_kernels_named_like_communication_that_are_none(named):
    rows = named.rows("select name from kernel where not is_communication")
    assert sorted(name for (name,) in rows) == sorted(COMPUTE.strip().splitlines())


def test_ranges(named):
    found = named.rows(NAMES.format(last="scope") + " where kind = 'range'")
    assert sorted(line for (line,) in found) == sorted(RANGES.strip().splitlines())


def test_peer_copies_are_communication_where_a_library_or_fsdp_makes_them():
    trace = TraceBuilder()
    trace.annotation("FSDP::all_gather (layers.0)", 0, 10)
    trace.kernel("split_with_sizes_copy", 20, 10, launched=(1, 1))
    trace.memcpy("p2p", 30, 10, launched=(3, 1))
    trace.op("symm_mem::fused_all_gather_matmul", 100, 10)
    trace.op("aten::copy_", 101, 5)
    trace.memcpy("p2p", 120, 10, launched=(102, 1))
    trace.kernel("gemm", 130, 10, launched=(108, 1))
    trace.op("aten::copy_", 200, 10)
    trace.memcpy("p2p", 220, 10, launched=(201, 1))
    trace.fill("collective_slice")
    assert trace.text(
        "select name, is_communication, library, op, algorithm"
        " from gpu_slice left join collective_slice using (slice_id) order by gpu_slice.ts"
    ).splitlines() == [
        "split_with_sizes_copy False - - -",
        "Memcpy p2p True - all_gather copy_engine",
        "Memcpy p2p True symmetric memory all_gather copy_engine",
        "gemm False - - -",
        "Memcpy p2p False - - -",
    ]
