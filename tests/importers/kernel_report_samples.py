"""Excerpts of reports of kernel profilers, written anew by the layout and with some of the numbers of public files.

NCU_2020      nv-nsight-cu-cli 2020.1 on a V100, as in the README of the artifact of XPlacer (SC 2020), cfd of Rodinia
NCU_2025      ncu 2025 on a T4, tests/copy_blocked.csv of brycelelbach/nsightful, and on an A100,
              tests/fixtures/ncu_basic_vector_add.csv of shivnarainms22/Cuda-Engine: page details with rules
NCU_RAW       ncu 2025 on a B200, decodebench/results/ncu/torch_sdpa_flash__mqa_bf16_b128_ctx4k_p64.ncu.csv of
              meinie0826/Roofline-Analysis: page raw
NCU_SCALED    page raw with stalls and units of scaled values, as a public test of a profile's audit has it
NCU_SUMMARY   ncu 2026 on a Thor, the README of the benchmark framework vernier: --print-summary per-kernel
OMNIPERF_2022 Omniperf 1 on an MI200, tests/workloads/Axes1/mi200/prev_analysis of ROCm/omniperf
ROCPROF_2025  rocprof-compute on an MI210, the exercises of amd/HPCTrainingExamples on Jacobi
"""

from __future__ import annotations

import csv
import io


def _quote(*rows):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _details(header, about, rows, after=()):
    """The page details: each metric a row behind what is about the launch; rules have cells after the value."""
    lines = [_quote(header)]
    for section, name, unit, value in rows:
        lines.append(_quote([*about, section, name, unit, value]).rstrip("\n") + after_metric(header) + "\n")
    lines += [
        _quote([*about, "WarpStateStats", "", "", "", "CPIStall", "OPT", rule, "global", "38.16"]) for rule in after
    ]
    return "".join(lines)


def after_metric(header):
    """Rows of metrics end with a comma where the header has columns of rules, and lack these."""
    return "," if "Rule Name" in header else ""


_OLD = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream"]
_METRIC = ["Section Name", "Metric Name", "Metric Unit", "Metric Value"]
_NEW = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
]
_RULE = ["Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup"]

NCU_2020 = _details(
    [*_OLD, *_METRIC],
    ["0", "28439", "cfd_000", "127.0.0.1", "cuda_compute_step_factor(int,float*,float*,float*)", "2020-May-29 12:02:46",
     "1", "7"],
    [
        ("GPU Speed Of Light", "Memory Frequency", "cycle/second", "768683274.02"),
        ("GPU Speed Of Light", "SOL FB", "%", "46.47"),
        ("GPU Speed Of Light", "Elapsed Cycles", "cycle", "10251"),
        ("GPU Speed Of Light", "SM Frequency", "cycle/second", "1138271055.75"),
        ("GPU Speed Of Light", "Memory [%]", "%", "46.47"),
        ("GPU Speed Of Light", "Duration", "nsecond", "8992"),
        ("GPU Speed Of Light", "SOL L2", "%", "13.61"),
        ("GPU Speed Of Light", "SM [%]", "%", "22.48"),
        ("GPU Speed Of Light", "SOL TEX", "%", "11.33"),
        ("Launch Statistics", "Block Size", "", "192"),
        ("Launch Statistics", "Grid Size", "", "506"),
        ("Launch Statistics", "Registers Per Thread", "register/thread", "20"),
        ("Launch Statistics", "Dynamic Shared Memory Per Block", "byte/block", "0"),
        ("Launch Statistics", "Static Shared Memory Per Block", "byte/block", "0"),
        ("Launch Statistics", "Waves Per SM", "", "0.63"),
        ("Occupancy", "Block Limit SM", "block", "32"),
        ("Occupancy", "Block Limit Registers", "block", "14"),
        ("Occupancy", "Block Limit Shared Mem", "block", "32"),
        ("Occupancy", "Block Limit Warps", "block", "10"),
        ("Occupancy", "Achieved Occupancy", "%", "48.00"),
        ("Occupancy", "Theoretical Occupancy", "%", "93.75"),
    ],
)  # fmt: skip

_SCOREBOARD = (
    "On average, each warp of this kernel spends 491.9 cycles being stalled waiting for a scoreboard dependency on a L1TEX"
    " (local, global, surface, texture) operation. Find the instruction. This stall type represents about 52.7% of the total"
    " average of 933.1 cycles between issuing two instructions."
)
_QUEUE = (
    "On average, each warp of this kernel spends 437.2 cycles being stalled waiting for the L1 instruction queue for local and"
    " global (LG) memory operations to be not full. Typically, rarely. This stall type represents about 46.9% of the total"
    " average of 933.1 cycles between issuing two instructions."
)
_GENERAL = "Check the Warp Stall Sampling (All Samples) table for the top stall locations in your source based on sampling data."
BLOCKED = "copy_blocked[v1,cw51cX](Array<long long, 1, C, mutable, aligned>, long long)"

NCU_2025 = (
    "==PROF== Connected to process 13977 (/usr/bin/python3.12)\nkernel ran successfully\n"
    "==PROF== Disconnected from process 13977\n"
    + _details(
        [*_NEW, "CC", *_METRIC, *_RULE],
        ["0", "6153", "python3.11", "127.0.0.1", BLOCKED, "1", "7", "(256, 1, 1)", "(1024, 1, 1)", "0", "7.5"],
        [
            ("GPU Speed Of Light Throughput", "DRAM Frequency", "hz", "4,963,609,951.19"),
            ("GPU Speed Of Light Throughput", "SM Frequency", "hz", "584,998,877.44"),
            ("GPU Speed Of Light Throughput", "Memory Throughput", "%", "61.84"),
            ("GPU Speed Of Light Throughput", "DRAM Throughput", "%", "61.84"),
            ("GPU Speed Of Light Throughput", "Duration", "ns", "21,058,944"),
            ("GPU Speed Of Light Throughput", "L1/TEX Cache Throughput", "%", "18.29"),
            ("GPU Speed Of Light Throughput", "L2 Cache Throughput", "%", "8.38"),
            ("GPU Speed Of Light Throughput", "Compute (SM) Throughput", "%", "1.30"),
            ("Memory Workload Analysis", "Memory Throughput", "byte/s", "196,456,177,859.63"),
            ("Warp State Statistics", "Warp Cycles Per Issued Instruction", "cycle", "933.13"),
            ("Launch Statistics", "Function Cache Configuration", "", "CachePreferNone"),
            ("Launch Statistics", "Grid Size", "", "1,024"),
            ("Launch Statistics", "Block Size", "", "256"),
            ("Launch Statistics", "Registers Per Thread", "register/thread", "32"),
            ("Launch Statistics", "Dynamic Shared Memory Per Block", "byte/block", "0"),
            ("Launch Statistics", "Static Shared Memory Per Block", "byte/block", "0"),
            ("Launch Statistics", "Waves Per SM", "", "6.40"),
            ("Occupancy", "Block Limit SM", "block", "16"),
            ("Occupancy", "Block Limit Registers", "block", "8"),
            ("Occupancy", "Block Limit Shared Mem", "block", "16"),
            ("Occupancy", "Block Limit Warps", "block", "4"),
            ("Occupancy", "Theoretical Occupancy", "%", "100"),
            ("Occupancy", "Achieved Occupancy", "%", "96.26"),
        ],
        [_SCOREBOARD, _QUEUE, _GENERAL],
    )
    + _details(
        [*_NEW, "CC", *_METRIC, *_RULE],
        ["0", "13977", "python3.12", "127.0.0.1", "vector_add(const float *, const float *, float *, int)", "1", "7",
         "(256, 1, 1)", "(4096, 1, 1)", "0", "8.0"],
        [
            ("GPU Speed Of Light Throughput", "SM Frequency", "hz", "1,076,900,470.22"),
            ("GPU Speed Of Light Throughput", "Memory Throughput", "%", "53.13"),
            ("GPU Speed Of Light Throughput", "DRAM Throughput", "%", "53.13"),
            ("GPU Speed Of Light Throughput", "Duration", "ns", "10,208"),
            ("GPU Speed Of Light Throughput", "L2 Cache Throughput", "%", "57.62"),
            ("GPU Speed Of Light Throughput", "Compute (SM) Throughput", "%", "11.68"),
            ("Launch Statistics", "Registers Per Thread", "register/thread", "16"),
            ("Occupancy", "Achieved Occupancy", "%", "74.48"),
        ],
    )
)  # fmt: skip

_SPLIT = "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, 0, 1>(Flash_fwd_params)"
_COMBINE = "void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, 4, 1, 1>(Flash_fwd_params)"

NCU_RAW = "==PROF== Connected to process 234061 (/usr/bin/python3.12)\n" + _quote(
    [*_NEW, "CC", "device__attribute_display_name", "gpu__time_duration.sum", "launch__block_size", "launch__grid_size",
     "launch__occupancy_limit_barriers", "launch__occupancy_limit_blocks", "launch__occupancy_limit_registers",
     "launch__occupancy_limit_shared_mem", "launch__occupancy_limit_warps", "launch__registers_per_thread",
     "launch__shared_mem_per_block", "launch__shared_mem_per_block_dynamic", "launch__shared_mem_per_block_static",
     "launch__waves_per_multiprocessor", "sm__inst_issued.avg.per_cycle_active", "sm__maximum_warps_per_active_cycle_pct"],
    [""] * 12 + ["ns", "", "", "block", "block", "block", "block", "block", "register/thread", "byte/block", "byte/block",
                 "byte/block", "", "inst/cycle", "%"],
    ["0", "234061", "python3.12", "127.0.0.1", _COMBINE, "1", "7", "(128, 1, 1)", "(1024, 1, 1)", "0", "10.0", "NVIDIA B200",
     "12768", "128", "1024", "32", "32", "12", "28", "16", "38", "1072", "0", "48", "0.58", "2.01", "75"],
    ["1", "234061", "python3.12", "127.0.0.1", _SPLIT, "1", "7", "(128, 1, 1)", "(1, 2, 128)", "0", "10.0", "NVIDIA B200",
     "110528", "128", "256", "32", "32", "2", "2", "16", "222", "82944", "81920", "0", "0.86", "1.42", "12.50"],
)  # fmt: skip

NCU_SCALED = _quote(
    ["Kernel Name", "Grid Size", "Block Size", "launch__block_size", "launch__registers_per_thread",
     "launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic", "gpu__time_duration.sum",
     "sm__warps_active.avg.pct_of_peak_sustained_active", "dram__bytes.sum.per_second",
     "sm__throughput.avg.pct_of_peak_sustained_elapsed",
     "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
     "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
     "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
     "smsp__average_warps_issue_stalled_long_scoreboard_not_issued_per_issue_active.ratio",
     "smsp__average_warp_latency_per_inst_issued.ratio"],
    ["", "", "", "", "", "Kbyte/block", "byte/block", "ms", "%", "Gbyte/s", "%", "ratio", "ratio", "ratio", "ratio", "cycle"],
    ["gemm_kernel_a", "(64, 18, 1)", "(128, 1, 1)", "128", "158", "4.096", "0", "0.244544", "25.868285", "477.246", "55.515539",
     "0.20", "0.35", "0.10", "0.05", "1.25"],
    ["splitKreduce_kernel", "(8, 5, 1)", "(64, 1, 1)", "64", "32", "1.024", "0", "0.003200", "58.554311", "0.5028", "8.368816",
     "0.10", "0.05", "0.63", "0.5", "n/a"],
)  # fmt: skip

NCU_SUMMARY = _quote(
    ["Process ID", "Process Name", "Host Name", "Kernel Name", "Block Size", "Grid Size", "Device", "CC", "Invocations",
     "Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"],
    *(
        ["109199", "BenchDemo", "127.0.0.1", "unnamed>::saxpyKernel(float, const float *, float *, unsigned long)", block, grid,
         "0", "11.0", invocations, "Occupancy", name, "%", low, high, mean]
        for block, grid, invocations, name, low, high, mean in (
            ("(256, 1, 1)", "(4096, 1, 1)", "14", "Theoretical Occupancy", "100.00", "100.00", "100.00"),
            ("(256, 1, 1)", "(4096, 1, 1)", "14", "Achieved Occupancy", "73.56", "79.38", "74.92"),
            ("(1, 1, 1)", "(1048576, 1, 1)", "2", "Achieved Occupancy", "40.00", "42.00", "41.00"),
        )
    ),
)  # fmt: skip

OMNIPERF_2022 = {
    "1.csv": 'KernelName,Count,Sum(ns),Mean(ns),Median(ns),Pct\n"void benchmark_func<int, 256, 8u, 512u>(int, int*) [clone .kd]",'
    "1,3358076.0,3358076.0,3358076.0,100\n",
    "201.csv": """Metric,Value,Unit,Peak,PoP
VALU FLOPs,7439.027275789444,Gflop,22630.4,32.87183291408655
VALU Util,58.34159376029337,Pct,100,58.34159376029337
MFMA Util,0.0,Pct,100,0.0
LDS Bank Conflict,,Conflicts/access,32,
Vector L1D Cache Hit Rate,20.35928143712575,Pct,100,20.35928143712575
Vector L1D Cache BW,1690.8692036459622,Gb/s,11315.199999999999,14.94334349941638
L2-Fabric Read BW,1157.8723191926538,Gb/s,1638.4,70.6709179194735
L2-Fabric Write BW,6.588450813230302,Gb/s,1638.4,0.40212712483095103
Wave Occupancy,2673.4087507168674,Wavefronts,3328,80.33079178836743
""",
    "701.csv": """Metric,Avg,Min,Max,Unit
Grid Size,33554432,33554432,33554432,Work items
Workgroup Size,256.0,256,256,Work items
VGPRs,11.0,4,16,Registers
LDS_Per_Workgroup Allocation,0.0,0,0,Bytes
""",
    "sysinfo.csv": "workload_name,host_rocmver,gpu_soc\nAxes1,5.1.3-66,gfx90a\n",
}

ROCPROF_2025 = {
    "0.1_Top_Kernels.csv": "Kernel_Name,Count,Sum(ns),Mean(ns),Median(ns),Pct,S\n"
    '"JacobiIterationKernel(int, double, double, double const*, double const*, double*, double*) [clone .kd]",1.00,503043.00,'
    '503043.00,503043.00,80.00,*\n"NormKernel1(int, double) [clone .kd]",2,100,50,50,20.00,\n',
    "2.1_Speed-of-Light.csv": """Metric_ID,Metric,Avg,Unit,Peak,Pct of Peak
2.1.13,VALU Active Threads,64.0,Threads,64.0,100.0
2.1.15,Wavefront Occupancy,2102.73,Wavefronts,3520.0,59.74
2.1.16,Theoretical LDS Bandwidth,0.0,Gb/s,23936.0,0.0
2.1.17,LDS Bank Conflicts/Access,,Conflicts/access,32.0,
2.1.18,vL1D Cache Hit Rate,50.0,Pct,100.0,50.0
2.1.19,vL1D Cache BW,2668.12,Gb/s,11968.0,22.29
2.1.20,L2 Cache Hit Rate,49.03,Pct,100.0,49.03
2.1.21,L2 Cache BW,2094.37,Gb/s,3481.6,60.16
2.1.22,L2-Fabric Read BW,800.45,Gb/s,1638.4,48.86
2.1.23,L2-Fabric Write BW,528.23,Gb/s,1638.4,32.24
""",
    "7.1_Wavefront_Launch_Stats.csv": """Metric_ID,Metric,Avg,Min,Max,Unit
7.1.0,Grid Size,16777216.00,16777216.00,16777216.00,Work items
7.1.1,Workgroup Size,512.00,512.00,512.00,Work items
7.1.5,VGPRs,32.00,32.00,32.00,Registers
7.1.6,AGPRs,0.00,0.00,0.00,Registers
7.1.8,LDS Allocation,0.00,0.00,0.00,Bytes
""",
    "7.2_Wavefront_Runtime_Stats.csv": """Metric_ID,Metric,Avg,Min,Max,Unit
7.2.0,Kernel Time (Nanosec),503043.00,503043.00,503043.00,Ns
7.2.3,Wave Cycles,7273.37,7273.37,7273.37,Cycles per wave
7.2.4,Dependency Wait Cycles,5526.10,5526.10,5526.10,Cycles per wave
7.2.5,Issue Wait Cycles,1925.98,1925.98,1925.98,Cycles per wave
7.2.6,Active Cycles,312.00,312.00,312.00,Cycles per wave
""",
}
