-- What makers publish of their GPUs. Peaks are dense (datasheets of NVIDIA since 2020 print twice that, with sparsity), half
-- precision accumulates in single precision, as frameworks do. NULL: not published, or not known for sure. Links are per
-- direction; what datasheets call NVLink bandwidth is the sum of both.

-- Tables, not views over values: to plan those again in every query that asks for a peak takes longer than the query.
--: One row per compute capability of NVIDIA, 7.0 to 12.1: the limits of a multiprocessor. From the CUDA C++ Programming
--: Guide, table Technical Specifications per Compute Capability, and the occupancy calculator of the CUDA Toolkit
--: (cuda_occupancy.h).
create or replace table gpu_architecture as
select * from (values
    ('7.0', 2048, 32, 65536, 98304, 98304, 0, 256),
    ('7.2', 2048, 32, 65536, 98304, 98304, 0, 256),
    ('7.5', 1024, 16, 65536, 65536, 65536, 0, 256),
    ('8.0', 2048, 32, 65536, 167936, 166912, 1024, 128),
    ('8.6', 1536, 16, 65536, 102400, 101376, 1024, 128),
    ('8.7', 1536, 16, 65536, 167936, 166912, 1024, 128),
    ('8.9', 1536, 24, 65536, 102400, 101376, 1024, 128),
    ('9.0', 2048, 32, 65536, 233472, 232448, 1024, 128),
    ('10.0', 2048, 32, 65536, 233472, 232448, 1024, 128),
    ('10.3', 2048, 32, 65536, 233472, 232448, 1024, 128),
    ('11.0', 1536, 24, 65536, 233472, 232448, 1024, 128),
    ('12.0', 1536, 24, 65536, 102400, 101376, 1024, 128),
    ('12.1', 1536, 24, 65536, 102400, 101376, 1024, 128)
) as t (
    compute_capability, max_threads_per_sm, max_blocks_per_sm, registers_per_sm, shared_memory_per_sm,
    shared_memory_per_block, reserved_shared_memory, shared_memory_unit
);
comment on column gpu_architecture.compute_capability is 'Compute capability, e.g. 9.0.';
comment on column gpu_architecture.max_threads_per_sm is 'Most resident threads.';
comment on column gpu_architecture.max_blocks_per_sm is 'Most resident blocks.';
comment on column gpu_architecture.registers_per_sm is '32-bit registers.';
comment on column gpu_architecture.shared_memory_per_sm is 'Shared memory, bytes.';
comment on column gpu_architecture.shared_memory_per_block is 'Most shared memory that a block may have when it opts in, bytes; without, 49,152.';
comment on column gpu_architecture.reserved_shared_memory is 'Shared memory that the system takes per block, bytes.';
comment on column gpu_architecture.shared_memory_unit is 'Shared memory is given out in multiples of this, bytes.';

-- Patterns match to the end of the name: what follows tells another GPU, or a part of one (MIG, a virtual function).
--: One row per GPU that traceq knows, the same in every database: what its maker publishes. NULL: not published, or not
--: known for sure.
create or replace table gpu_model as
with
model as (
    from (values
        (10, 'V100 SXM2 16GB', '\bV100-SXM2-16GB$', '7.0', 80, 16, 900, 7.8, null, 15.7, null, 125, null, null, null, 'PCIe 3.0 x16', 'NVLink 2', 150, 'NVIDIA V100 datasheet; multiprocessors: NVIDIA V100 GPU architecture whitepaper'),
        (11, 'V100 SXM2 32GB', '\bV100-SXM2-32GB$', '7.0', 80, 32, 900, 7.8, null, 15.7, null, 125, null, null, null, 'PCIe 3.0 x16', 'NVLink 2', 150, 'NVIDIA V100 datasheet; multiprocessors: NVIDIA V100 GPU architecture whitepaper'),
        (12, 'V100 PCIe 16GB', '\bV100-PCIE-16GB$', '7.0', 80, 16, 900, 7, null, 14, null, 112, null, null, null, 'PCIe 3.0 x16', null, null, 'NVIDIA V100 datasheet; multiprocessors: NVIDIA V100 GPU architecture whitepaper'),
        (13, 'V100 PCIe 32GB', '\bV100-PCIE-32GB$', '7.0', 80, 32, 900, 7, null, 14, null, 112, null, null, null, 'PCIe 3.0 x16', null, null, 'NVIDIA V100 datasheet; multiprocessors: NVIDIA V100 GPU architecture whitepaper'),
        (14, 'V100S PCIe 32GB', '\bV100S-PCIE-32GB$', '7.0', 80, 32, 1134, 8.2, null, 16.4, null, 130, null, null, null, 'PCIe 3.0 x16', null, null, 'NVIDIA V100 datasheet; multiprocessors: NVIDIA V100 GPU architecture whitepaper'),
        (20, 'T4', '\bT4$', '7.5', 40, 16, 320, null, null, 8.1, null, 65, null, null, 130, 'PCIe 3.0 x16', null, null, 'NVIDIA T4 product brief'),
        (21, 'Quadro RTX 6000', '\bQuadro RTX 6000$', '7.5', 72, 24, 672, null, null, 16.3, null, 130.5, null, null, 261, 'PCIe 3.0 x16', 'NVLink 2 bridge', 50, 'NVIDIA Turing GPU architecture whitepaper'),
        (22, 'TITAN RTX', '\bTITAN RTX$', '7.5', 72, 24, 672, null, null, 16.3, null, 130, null, null, null, 'PCIe 3.0 x16', 'NVLink 2 bridge', 50, 'NVIDIA TITAN RTX product page'),
        (23, 'GeForce RTX 2080 Ti', '\bRTX 2080 Ti$', '7.5', 68, 11, 616, null, null, 13.4, null, 53.8, null, null, 215.2, 'PCIe 3.0 x16', 'NVLink 2 bridge', 50, 'NVIDIA Turing GPU architecture whitepaper, reference clocks'),
        (30, 'A100 PCIe 40GB', '\bA100-PCIE-40GB$', '8.0', 108, 40, 1555, 9.7, 19.5, 19.5, 156, 312, 312, null, 624, 'PCIe 4.0 x16', 'NVLink 3 bridge', 300, 'NVIDIA A100 datasheet; multiprocessors: NVIDIA A100 GPU architecture whitepaper'),
        (31, 'A100 SXM 40GB', '\bA100-SXM4-40GB$', '8.0', 108, 40, 1555, 9.7, 19.5, 19.5, 156, 312, 312, null, 624, 'PCIe 4.0 x16', 'NVLink 3', 300, 'NVIDIA A100 datasheet; multiprocessors: NVIDIA A100 GPU architecture whitepaper'),
        (32, 'A100 PCIe 80GB', '\bA100( 80GB PCIe|-PCIE-80GB)$', '8.0', 108, 80, 1935, 9.7, 19.5, 19.5, 156, 312, 312, null, 624, 'PCIe 4.0 x16', 'NVLink 3 bridge', 300, 'NVIDIA A100 80GB datasheet; multiprocessors: NVIDIA A100 GPU architecture whitepaper'),
        (33, 'A100 SXM 80GB', '\bA100-SXM4?-80GB$', '8.0', 108, 80, 2039, 9.7, 19.5, 19.5, 156, 312, 312, null, 624, 'PCIe 4.0 x16', 'NVLink 3', 300, 'NVIDIA A100 80GB datasheet; multiprocessors: NVIDIA A100 GPU architecture whitepaper'),
        (35, 'A800 SXM 80GB', '\bA800-SXM4-80GB$', '8.0', 108, 80, 2039, 9.7, 19.5, 19.5, 156, 312, 312, null, 624, 'PCIe 4.0 x16', 'NVLink 3', 200, 'NVIDIA A800 datasheet; all but the link are those of the A100'),
        (34, 'A30', '\bA30$', '8.0', 56, 24, 933, 5.2, 10.3, 10.3, 82, 165, 165, null, 330, 'PCIe 4.0 x16', 'NVLink 3 bridge', 100, 'NVIDIA A30 datasheet'),
        (40, 'A10', '\bA10$', '8.6', 72, 24, 600, null, null, 31.2, 62.5, 125, 125, null, 250, 'PCIe 4.0 x16', null, null, 'NVIDIA A10 datasheet'),
        (41, 'A40', '\bA40$', '8.6', 84, 48, 696, null, null, 37.4, 74.8, 149.7, 149.7, null, 299.3, 'PCIe 4.0 x16', 'NVLink 3 bridge', 56.25, 'NVIDIA A40 datasheet'),
        (42, 'RTX A6000', '\bRTX A6000$', '8.6', 84, 48, 768, null, null, 38.7, 77.4, 154.8, 154.8, null, 309.7, 'PCIe 4.0 x16', 'NVLink 3 bridge', 56.25, 'NVIDIA Ampere GA102 GPU architecture whitepaper'),
        (43, 'GeForce RTX 3080', '\bRTX 3080$', '8.6', 68, 10, 760, null, null, 29.8, 29.8, 59.5, 59.5, null, 238, 'PCIe 4.0 x16', null, null, 'NVIDIA Ampere GA102 GPU architecture whitepaper'),
        (45, 'GeForce RTX 3070', '\bRTX 3070$', '8.6', 46, 8, 448, null, null, 20.3, 20.3, 40.6, 40.6, null, 162.6, 'PCIe 4.0 x16', null, null, 'NVIDIA Ampere GA102 GPU architecture whitepaper'),
        (46, 'GeForce RTX 3070 Ti', '\bRTX 3070 Ti$', '8.6', 48, 8, 608, null, null, 21.7, 21.7, 43.5, 43.5, null, 174, 'PCIe 4.0 x16', null, null, 'NVIDIA GeForce RTX 3070 Ti product page; peaks in proportion to the RTX 3070 by multiprocessors and clock'),
        (44, 'GeForce RTX 3090', '\bRTX 3090$', '8.6', 82, 24, 936, null, null, 35.6, 35.6, 71, 71, null, 284, 'PCIe 4.0 x16', 'NVLink 3 bridge', 56.25, 'NVIDIA Ampere GA102 GPU architecture whitepaper'),
        (50, 'GeForce RTX 4060 Ti', '\bRTX 4060 Ti$', '8.9', 34, null, 288, null, null, 22, null, null, null, null, null, 'PCIe 4.0 x8', null, null, 'NVIDIA GeForce RTX 4060 Ti product page'),
        (51, 'GeForce RTX 4090', '\bRTX 4090$', '8.9', 128, 24, 1008, null, null, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6, 'PCIe 4.0 x16', null, null, 'NVIDIA Ada GPU architecture whitepaper'),
        (52, 'RTX 6000 Ada Generation', '\bRTX 6000 Ada Generation$', '8.9', 142, 48, 960, null, null, 91.1, 182.1, 364.2, 364.2, 728.5, 728.5, 'PCIe 4.0 x16', null, null, 'NVIDIA Ada GPU architecture whitepaper'),
        (53, 'L4', '\bL4$', '8.9', 58, 24, 300, null, null, 30.3, 60, 121, 121, 242.5, 242.5, 'PCIe 4.0 x16', null, null, 'NVIDIA L4 datasheet, halved: printed with sparsity'),
        (54, 'L40', '\bL40$', '8.9', 142, 48, 864, null, null, 90.5, 90.5, 181, 181, 362, 362, 'PCIe 4.0 x16', null, null, 'NVIDIA L40 datasheet'),
        (55, 'L40S', '\bL40S$', '8.9', 142, 48, 864, null, null, 91.6, 183, 362, 362, 733, 733, 'PCIe 4.0 x16', null, null, 'NVIDIA L40S datasheet'),
        (60, 'H100 PCIe', '\bH100 PCIe$', '9.0', 114, 80, 2039, 25.6, 51.2, 51.2, 378, 756, 756, 1513, 1513, 'PCIe 5.0 x16', 'NVLink 4 bridge', 300, 'NVIDIA H100 GPU architecture whitepaper'),
        (61, 'H100 SXM', '\bH100( 80GB HBM3|-SXM5?-80GB)$', '9.0', 132, 80, 3352, 33.5, 66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9, 'PCIe 5.0 x16', 'NVLink 4', 450, 'NVIDIA H100 GPU architecture whitepaper'),
        (62, 'H100 NVL', '\bH100 NVL$', '9.0', 132, 94, 3900, 30, 60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5, 'PCIe 5.0 x16', 'NVLink 4 bridge', 300, 'NVIDIA H100 datasheet, tensor figures halved: printed with sparsity'),
        (63, 'H800 SXM', '\bH800(-SXM5?(-80GB)?)?$', '9.0', 132, 80, 3352, null, null, null, 494.7, 989.4, 989.4, 1978.9, 1978.9, 'PCIe 5.0 x16', 'NVLink 4', 200, 'NVIDIA H800 datasheet; tensor figures and memory are those of the H100 SXM'),
        (64, 'H200 SXM', '\bH200$', '9.0', 132, 141, 4800, 34, 67, 67, 494.5, 989.5, 989.5, 1979, 1979, 'PCIe 5.0 x16', 'NVLink 4', 450, 'NVIDIA H200 datasheet, tensor figures halved: printed with sparsity'),
        (65, 'GH200 96GB', '\bGH200 (480GB|120GB)$', '9.0', 132, 96, 4000, 34, 67, 67, 494.5, 989.5, 989.5, 1979, 1979, 'NVLink-C2C', 'NVLink 4', 450, 'NVIDIA GH200 Grace Hopper datasheet, tensor figures halved: printed with sparsity'),
        (66, 'GH200 144GB', '\bGH200 144G( HBM3e)?$', '9.0', 132, 144, 4900, 34, 67, 67, 494.5, 989.5, 989.5, 1979, 1979, 'NVLink-C2C', 'NVLink 4', 450, 'NVIDIA GH200 Grace Hopper datasheet, tensor figures halved: printed with sparsity'),
        (67, 'H20', '\bH20$', '9.0', 78, 96, 4000, 1, 1, 44, 74, 148, 148, 296, 296, 'PCIe 5.0 x16', 'NVLink 4', 450, 'NVIDIA H20 product brief'),
        (70, 'B100', '\bB100$', '10.0', null, 192, 8000, null, 30, null, null, 1750, 1750, 3500, 3500, 'PCIe 5.0 x16', 'NVLink 5', 900, 'NVIDIA Blackwell architecture technical brief'),
        (71, 'B200', '\bB200$', '10.0', 148, 180, 8000, 37, 37, 75, 1125, 2250, 2250, 4500, 4500, 'PCIe 5.0 x16', 'NVLink 5', 900, 'NVIDIA Blackwell architecture technical brief; memory, FP64, FP32 and TF32: NVIDIA HGX B200 datasheet, an eighth, tensor figures halved'),
        (72, 'GB200', '\bGB200$', '10.0', null, 186, 8000, 40, 40, 80, 1250, 2500, 2500, 5000, 5000, null, 'NVLink 5', 900, 'NVIDIA Blackwell architecture technical brief, half of a superchip; memory, FP64 and FP32: NVIDIA GB200 NVL72 datasheet, a 72nd'),
        (73, 'B300', '\bB300( SXM6 AC)?$', '10.3', 148, 288, 8000, 1.25, 1.25, 75, 1125, 2250, 2250, 4500, null, 'PCIe 5.0 x16', 'NVLink 5', 900, 'NVIDIA HGX B300 datasheet, an eighth, tensor figures halved'),
        (74, 'GB300', '\bGB300$', '10.3', null, 288, 8000, 1.3, 1.3, 80, 1250, 2500, 2500, 5000, null, null, 'NVLink 5', 900, 'NVIDIA GB300 NVL72 datasheet, a 72nd, tensor figures halved'),
        (80, 'GeForce RTX 5090', '\bRTX 5090$', '12.0', 170, 32, 1792, null, null, 104.8, 104.8, 209.5, 209.5, 419, 838, 'PCIe 5.0 x16', null, null, 'NVIDIA RTX Blackwell GPU architecture whitepaper'),
        (81, 'RTX PRO 6000 Blackwell Workstation', '\bRTX PRO 6000 Blackwell Workstation Edition$', '12.0', 188, 96, 1792, null, null, 125, null, null, null, null, null, 'PCIe 5.0 x16', null, null, 'NVIDIA RTX PRO 6000 Blackwell Workstation Edition datasheet'),
        (82, 'RTX PRO 6000 Blackwell Server', '\bRTX PRO 6000 Blackwell Server Edition$', '12.0', 188, 96, 1597, null, null, 120, null, null, null, null, null, 'PCIe 5.0 x16', null, null, 'NVIDIA RTX PRO 6000 Blackwell Server Edition datasheet'),
        (90, 'MI210', '(?i)(^|Instinct )MI210$', null, 104, 64, 1638, 22.6, 45.3, 22.6, null, 181, 181, null, 181, 'PCIe 4.0 x16', null, null, 'AMD Instinct MI210 datasheet'),
        (91, 'MI250X (one of two dies)', '(?i)(^|Instinct )MI250X( \(MCM\).*)?$', null, 110, 64, 1638, 23.95, 47.85, 23.95, null, 191.5, 191.5, null, 191.5, null, null, null, 'AMD Instinct MI250X datasheet, halved: a device is one of two dies'),
        (92, 'MI250 (one of two dies)', '(?i)(^|Instinct )MI250( \(MCM\).*)?$', null, 104, 64, 1638, 22.65, 45.25, 22.65, null, 181.05, 181.05, null, 181.05, null, null, null, 'AMD Instinct MI250 datasheet, halved: a device is one of two dies'),
        (93, 'MI300X', '(^|Instinct )MI300X( OAM| VF)?$', null, 304, 192, 5325, 81.7, 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9, 'PCIe 5.0 x16', 'xGMI', 448, 'AMD Instinct MI300X datasheet'),
        (97, 'MI300A', '(^|Instinct )MI300A$', null, 228, 128, 5325, 61.3, 122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 1961.2, null, null, null, 'AMD Instinct MI300A datasheet'),
        (94, 'MI325X', '(^|Instinct )MI325X( OAM)?$', null, 304, 256, 6000, 81.7, 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9, 'PCIe 5.0 x16', 'xGMI', 448, 'AMD Instinct MI325X datasheet'),
        (95, 'MI350X', '(^|Instinct )MI350X( OAM)?$', null, 256, 288, 8000, 72.1, 72.1, 144.2, null, 2306.9, 2306.9, 4613.7, 4613.7, 'PCIe 5.0 x16', 'xGMI', 537.6, 'AMD Instinct MI350X datasheet'),
        (96, 'MI355X', '(^|Instinct )MI355X( OAM)?$', null, 256, 288, 8000, 78.6, 78.6, 157.3, null, 2516.6, 2516.6, 5033.2, 5033.2, 'PCIe 5.0 x16', 'xGMI', 537.6, 'AMD Instinct MI355X datasheet')
    ) as t (
        rank_order, model, pattern, compute_capability, sm_count, memory_gigabytes, memory_gigabytes_per_second, fp64, fp64_tensor, fp32,
        tf32, fp16, bf16, fp8, int8, host_link, peer_link, peer_link_bandwidth, source
    )
),

-- gigatransfers per second, 16 or 8 lanes, 128 of 130 bits
link as (
    from (values
        ('PCIe 3.0 x16', 15.754, 'PCI Express Base Specification 3.0'),
        ('PCIe 4.0 x8', 15.754, 'PCI Express Base Specification 4.0'),
        ('PCIe 4.0 x16', 31.508, 'PCI Express Base Specification 4.0'),
        ('PCIe 5.0 x16', 63.015, 'PCI Express Base Specification 5.0'),
        ('NVLink-C2C', 450, 'NVIDIA Grace Hopper Superchip architecture whitepaper')
    ) as t (host_link, bandwidth, source)
)

select
    --: Names are compared in this order; the first that matches counts.
    m.rank_order,
    --: Model.
    m.model,
    --: Regular expression that finds the model in device.name.
    m.pattern,
    --: Compute capability; NULL for other makers than NVIDIA.
    m.compute_capability,
    --: Streaming multiprocessors; compute units on AMD.
    m.sm_count,
    --: Memory as advertised, bytes (decimal); the trace knows better what is usable.
    m.memory_gigabytes::bigint * 1000000000 as memory_bytes,
    --: Peak memory bandwidth, bytes per second.
    m.memory_gigabytes_per_second::bigint * 1000000000 as memory_bandwidth,
    a.* exclude (compute_capability, reserved_shared_memory, shared_memory_unit),
    columns(['fp64', 'fp64_tensor', 'fp32', 'tf32', 'fp16', 'bf16', 'fp8', 'int8'])::double,
    --: Link to the host.
    m.host_link,
    --: Its bandwidth per direction, GB/s (bytes per ns).
    l.bandwidth::double as host_link_bandwidth,
    --: Link to other GPUs; a bridge need not be there.
    m.peer_link,
    --: Its bandwidth per direction, GB/s, over all links.
    m.peer_link_bandwidth::double as peer_link_bandwidth,
    --: Document that gives multiprocessors, memory, peaks and the peer link.
    m.source as source,
    --: Document that gives the limits of a multiprocessor.
    if(a.compute_capability is not null, 'CUDA C++ Programming Guide, technical specifications per compute capability', null) as limits_source,
    --: Document that gives the bandwidth of the host link.
    l.source as host_link_source
from model as m
left join gpu_architecture as a using (compute_capability)
left join link as l using (host_link);
comment on column gpu_model.max_threads_per_sm is 'Most resident threads per multiprocessor.';
comment on column gpu_model.max_blocks_per_sm is 'Most resident blocks per multiprocessor.';
comment on column gpu_model.registers_per_sm is '32-bit registers per multiprocessor.';
comment on column gpu_model.shared_memory_per_sm is 'Shared memory per multiprocessor, bytes.';
comment on column gpu_model.shared_memory_per_block is 'Most shared memory per block, opted in, bytes.';
comment on column gpu_model.fp64 is 'Peak in double precision without tensor cores, TFLOP/s.';
comment on column gpu_model.fp64_tensor is 'The same on tensor (matrix) cores.';
comment on column gpu_model.fp32 is 'Peak in single precision without tensor cores, TFLOP/s.';
comment on column gpu_model.tf32 is 'Dense peak of TF32 on tensor cores, TFLOP/s.';
comment on column gpu_model.fp16 is 'Dense peak of half precision on tensor cores with sums in single precision, TFLOP/s.';
comment on column gpu_model.bf16 is 'The same for bfloat16.';
comment on column gpu_model.fp8 is 'The same for 8-bit floating point.';
comment on column gpu_model.int8 is 'Dense peak of 8-bit integers on tensor cores, TOP/s.';

--: One row per GPU of a trace with its limits and peaks: what the trace says, else gpu_model by the name, else
--: gpu_architecture by the compute capability, else NULL.
create or replace view device_model as
with
-- ROCm numbers devices in two ways: one that works without being described is as those that are, where these are all alike.
alike as (
    select trace_id, any_value(columns([
        'name', 'sm_count', 'memory_bytes', 'warp_size', 'max_threads_per_sm', 'registers_per_sm', 'shared_memory_per_sm'
    ]))
    from device
    where source = 'trace'
    group by trace_id
    having count(distinct (coalesce(name, ''), sm_count, memory_bytes)) = 1 and min(warp_size) = 64
),

described as (
    select
        d.* replace (
            coalesce(d.name, a.name) as name,
            coalesce(d.sm_count, a.sm_count) as sm_count,
            coalesce(d.memory_bytes, a.memory_bytes) as memory_bytes,
            coalesce(d.warp_size, a.warp_size) as warp_size,
            coalesce(d.max_threads_per_sm, a.max_threads_per_sm) as max_threads_per_sm,
            coalesce(d.registers_per_sm, a.registers_per_sm) as registers_per_sm,
            coalesce(d.shared_memory_per_sm, a.shared_memory_per_sm) as shared_memory_per_sm
        )
    from device as d
    left join alike as a on a.trace_id = d.trace_id and d.source = 'unknown'
),

named as (
    select d.trace_id, d.device, arg_min(m.model, m.rank_order) as model
    from described as d
    inner join gpu_model as m on
        regexp_matches(d.name, m.pattern)
        -- a virtual function is the GPU where it has all of its compute units
        and (not ends_with(d.name, ' VF') or d.sm_count = m.sm_count)
    group by d.trace_id, d.device
    union all
    -- ROCm leaves names empty: where compute units and memory are those of one model of AMD, it is that
    select d.trace_id, d.device, any_value(m.model)
    from described as d
    inner join gpu_model as m on m.sm_count = d.sm_count and m.memory_bytes = round(d.memory_bytes / 1073741824) * 1000000000
    where d.name is null and d.warp_size = 64 and m.compute_capability is null
    group by d.trace_id, d.device
    having count(*) = 1
),

made as (
    select
        d.*,
        m.* exclude (compute_capability, sm_count, memory_bytes, memory_bandwidth, max_threads_per_sm, max_blocks_per_sm,
            registers_per_sm, shared_memory_per_sm, source, rank_order),
        m.sm_count as model_sm_count,
        m.memory_bandwidth as model_memory_bandwidth,
        m.source as model_source,
        case
            -- ROCm writes its own numbers under the names of CUDA's: 9.0 is a gfx90a and no Hopper.
            when d.warp_size <> 32 or regexp_matches(d.name, '(?i)\b(AMD|Radeon|Instinct|Intel)\b') then null
            else coalesce(d.compute_capability, m.compute_capability)
        end as capability
    from described as d
    left join named as n on n.trace_id = d.trace_id and n.device = d.device
    left join gpu_model as m on m.model = n.model
)

select
    --: Trace.
    d.trace_id,
    --: Device; see device.
    d.device,
    --: Name in the trace.
    d.name,
    --: The gpu_model with that name; NULL when traceq does not know it.
    d.model,
    --: Compute capability of an NVIDIA GPU; NULL for others, whatever the trace says.
    d.capability as compute_capability,
    --: Multiprocessors; compute units on AMD.
    coalesce(d.sm_count, d.model_sm_count) as sm_count,
    --: Most resident threads per multiprocessor.
    coalesce(d.max_threads_per_sm, a.max_threads_per_sm) as max_threads_per_sm,
    --: Most resident blocks per multiprocessor.
    coalesce(d.max_blocks_per_sm, a.max_blocks_per_sm) as max_blocks_per_sm,
    --: 32-bit registers per multiprocessor.
    coalesce(d.registers_per_sm, a.registers_per_sm) as registers_per_sm,
    --: Shared memory per multiprocessor, bytes.
    coalesce(d.shared_memory_per_sm, a.shared_memory_per_sm) as shared_memory_per_sm,
    --: Shared memory that the system takes per block, bytes.
    a.reserved_shared_memory,
    --: Shared memory is given out in multiples of this, bytes.
    a.shared_memory_unit,
    --: Threads per warp.
    coalesce(d.warp_size, if(a.compute_capability is not null, 32, null)) as warp_size,
    --: Peak memory bandwidth, bytes per second.
    coalesce(d.memory_bandwidth, d.model_memory_bandwidth) as memory_bandwidth,
    columns(['fp64', 'fp64_tensor', 'fp32', 'tf32', 'fp16', 'bf16', 'fp8', 'int8']),
    columns(['host_link', 'host_link_bandwidth', 'peer_link', 'peer_link_bandwidth']),
    --: gpu_model.source.
    d.model_source as source
from made as d
left join gpu_architecture as a on a.compute_capability = d.capability;
comment on column device_model.fp64 is 'Peaks: as in gpu_model.';
comment on column device_model.fp64_tensor is 'TFLOP/s.';
comment on column device_model.fp32 is 'TFLOP/s, without tensor cores.';
comment on column device_model.tf32 is 'TFLOP/s.';
comment on column device_model.fp16 is 'TFLOP/s.';
comment on column device_model.bf16 is 'TFLOP/s.';
comment on column device_model.fp8 is 'TFLOP/s.';
comment on column device_model.int8 is 'TOP/s.';
comment on column device_model.host_link is 'Link to the host.';
comment on column device_model.host_link_bandwidth is 'GB/s per direction.';
comment on column device_model.peer_link is 'Link to other GPUs.';
comment on column device_model.peer_link_bandwidth is 'GB/s per direction.';
