"""Reports of kernel profilers: pages of Nsight Compute of several years, and tables of rocprof-compute."""

from __future__ import annotations

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from importers.kernel_report_samples import (
    BLOCKED,
    NCU_2020,
    NCU_2025,
    NCU_RAW,
    NCU_SCALED,
    NCU_SUMMARY,
    OMNIPERF_2022,
    ROCPROF_2025,
)

from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers.kernel_reports import find_kernel_reports, is_kernel_report, read_kernel_report
from traceq.importers.kernel_reports.cells import CellAmount, NumberStyle, read_size

# What a metric fills, and what of its unit is one: read by hand from the manuals of each year.
COLUMNS = {
    "SOL FB": "dram_throughput",
    "Memory [%]": "memory_throughput",
    "SM [%]": "compute_throughput",
    "SOL L2": "l2_throughput",
    "SOL TEX": "l1_throughput",
    "Memory Throughput": "memory_throughput",
    "DRAM Throughput": "dram_throughput",
    "L2 Cache Throughput": "l2_throughput",
    "L1/TEX Cache Throughput": "l1_throughput",
    "Compute (SM) Throughput": "compute_throughput",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "compute_throughput",
    "Duration": "dur",
    "gpu__time_duration.sum": "dur",
    "SM Frequency": "sm_clock",
    "Registers Per Thread": "registers_per_thread",
    "launch__registers_per_thread": "registers_per_thread",
    "Waves Per SM": "waves",
    "launch__waves_per_multiprocessor": "waves",
    "Achieved Occupancy": "achieved_occupancy",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved_occupancy",
    "Theoretical Occupancy": "theoretical_occupancy",
    "sm__maximum_warps_per_active_cycle_pct": "theoretical_occupancy",
    "Warp Cycles Per Issued Instruction": "warp_latency",
    "smsp__average_warp_latency_per_inst_issued.ratio": "warp_latency",
    "Grid Size": "blocks",
    "launch__grid_size": "blocks",
    "Block Size": "threads_per_block",
    "launch__block_size": "threads_per_block",
}
UNITS = {"%": 0.01, "ms": 1e6, "Kbyte/block": 1e3, "byte/s": None, "Gbyte/s": None}


def write(folder, content, name="report.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(folder, content, name="report.csv"):
    return read_kernel_report(write(folder, content, name))


def read_by_hand(text):
    """By kernel, and column: the numbers of a CSV, by the csv module and the tables above alone."""
    found: dict[str, dict[str, float]] = {}
    rows = [row for row in csv.reader(text.splitlines()) if len(row) > 3]
    header: list[str] = []
    units: list[str] = []
    for row in rows:
        if "Kernel Name" in row:
            header, units = row, []
            continue
        cells = dict(zip(header, row, strict=False))
        kernel = cells["Kernel Name"] + cells.get("Grid Size", "")
        if "Metric Name" in header:
            name, unit = cells["Metric Name"], cells["Metric Unit"]
            metrics = [(name, unit, cells.get("Average", cells.get("Metric Value", "")))]
        elif not units:
            units = row
            continue
        else:
            metrics = [
                (name, unit, value) for name, unit, value in zip(header, units, row, strict=True) if "__" in name
            ]
        of_kernel = found.setdefault(kernel, {})
        for name, unit, value in metrics:
            column, factor = COLUMNS.get(name), UNITS.get(unit, 1.0)
            if column is not None and factor is not None and value != "n/a":
                of_kernel[column] = float(value.replace(",", "")) * factor
    return found


@pytest.mark.parametrize("sample", ["NCU_2020", "NCU_2025", "NCU_RAW", "NCU_SCALED", "NCU_SUMMARY"])
def test_figures_equal_an_independent_reading(tmp_path, sample):
    text = globals()[sample]
    report = read(tmp_path, text)
    by_hand = read_by_hand(text)
    assert len(report.launches) == len(by_hand)
    for launch, expected in zip(report.launches, by_hand.values(), strict=True):
        values = {name: launch.values.get(name) for name in expected}
        assert values == pytest.approx(expected)
        assert expected
        others = launch.values.keys() - expected.keys()
        assert others <= {"blocks", "threads_per_block", "shared_memory"}
    assert report.rows_left_out == report.values_left_out == 0


def show(report):
    """A line for each launch: size, limits, stalls."""
    lines = []
    for launch in report.launches:
        stalls = ", ".join(
            f"{stall.reason} {'-' if stall.share is None else f'{stall.share:.3f}'}"
            f" {'-' if stall.cycles is None else f'{stall.cycles:g}'}"
            for stall in launch.stalls
        )
        name = re.split(r"[(<\[]", launch.kernel)[0].split()[-1].rpartition("::")[2]
        lines.append(
            f"{name} {launch.page} {launch.launch_id} {launch.launches} | {launch.grid} {launch.block}"
            f" | {launch.device} {launch.compute_capability} {launch.limiter} {launch.values.get('shared_memory')} | {stalls}"
        )
    return "\n".join(lines)


def test_launches_limits_and_stalls_of_each_year(tmp_path):
    texts = (NCU_2020, NCU_2025, NCU_RAW, NCU_SCALED, NCU_SUMMARY)
    assert "\n".join(show(read(tmp_path, text)) for text in texts) == (
        "cuda_compute_step_factor details 0 1 | None None | None None warps 0.0 | \n"
        "copy_blocked details 0 1 | (1024, 1, 1) (256, 1, 1) | 0 7.5 warps 0.0 | long_scoreboard 0.527 491.9, lg_throttle"
        " 0.469 437.2\n"
        "vector_add details 0 1 | (4096, 1, 1) (256, 1, 1) | 0 8.0 None None | \n"
        "flash_fwd_splitkv_combine_kernel raw 0 1 | (1024, 1, 1) (128, 1, 1) | 0 10.0 registers 48.0 | \n"
        "flash_fwd_splitkv_kernel raw 1 1 | (1, 2, 128) (128, 1, 1) | 0 10.0 registers 81920.0 | \n"
        "gemm_kernel_a raw None 1 | (64, 18, 1) (128, 1, 1) | None None None 4096.0 | wait 0.280 0.35, barrier 0.160 0.2,"
        " long_scoreboard 0.080 0.1\n"
        "splitKreduce_kernel raw None 1 | (8, 5, 1) (64, 1, 1) | None None None 1024.0 | long_scoreboard - 0.63, barrier - 0.1,"
        " wait - 0.05\n"
        "saxpyKernel summary None 14 | (4096, 1, 1) (256, 1, 1) | 0 11.0 None None | \n"
        "saxpyKernel summary None 2 | (1048576, 1, 1) (1, 1, 1) | 0 11.0 None None | "
    )


def test_shares_of_stalls_follow_from_all_of_them_where_the_latency_is_not_there(tmp_path):
    name = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
    header = ",".join(["Kernel Name", *map(name.format, ("long_scoreboard", "barrier", "selected"))])
    assert show(read(tmp_path, f"{header}\n,inst,inst,inst\nk,6,3,1\n")).endswith(
        "long_scoreboard 0.600 6, barrier 0.300 3, selected 0.100 1"
    )


def test_shares_and_samples_of_stalls(tmp_path):
    text = (
        "Kernel Name,smsp__warp_issue_stalled_wait_per_warp_active.pct,smsp__pcsamp_warps_issue_stalled_wait\n,%,\nk,12.5,3\n"
        "Kernel Name,smsp__pcsamp_warps_issue_stalled_wait,smsp__pcsamp_warps_issue_stalled_barrier\n,,\nk,3,1\n"
    )
    assert [line.rpartition("| ")[2] for line in show(read(tmp_path, text)).splitlines()] == [
        "wait 0.125 -",
        "wait 0.750 -, barrier 0.250 -",
    ]


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (lambda text: text.replace("\n", "\r\n"), 0),
        (lambda text: "\ufeff" + text, 0),
        (lambda text: text.encode("utf-16"), 0),
        (lambda text: text.replace('"1","234061"', '"1","234061'), 1),
        (lambda text: text[: text.rindex("12.50")], 1),
        (lambda text: text[: text.rindex("2.50")], 1),
        (lambda text: text[:-1], 0),
        (lambda text: text.replace("==PROF== Connected", '==PROF== "Connected'), 0),
        (lambda text: text + "==PROF== Disconnected\nthe program's own words, to the end\n", 1),
        (lambda text: text + "\n\n", 0),
    ],
    ids=[
        "CRLF",
        "mark",
        "UTF-16",
        "quote",
        "cut",
        "cut number",
        "no line end",
        "quoted preamble",
        "words behind",
        "blank lines",
    ],
)
def test_rows_that_are_damaged_are_counted_and_the_others_read(tmp_path, change, lost):
    report = read(tmp_path, change(NCU_RAW))
    assert report.launches[0] == read(tmp_path, NCU_RAW).launches[0]
    assert (report.rows_left_out, len(report.launches)) in ((lost, 2 - lost), (lost, 2))


def test_names_with_commas_quotes_and_line_ends(tmp_path):
    name = 'void f<"a, b",\n(int)4>(int)'
    report = read(tmp_path, NCU_2025.replace(BLOCKED, name.replace('"', '""')))
    assert report.launches[0].kernel == name


def test_units_that_a_metric_cannot_have_and_text_are_counted(tmp_path):
    text = (
        '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        '"0","k","Duration","parsec","12"\n"0","k","DRAM Throughput","%","many"\n"0","k","Achieved Occupancy","%","-3"\n'
        '"0","k","Theoretical Occupancy","%","n/a"\n"0","k","Registers Per Thread","","32"\n"0","k","Memory [%]","%","1e999"\n'
    )
    report = read(tmp_path, text)
    assert (dict(report.launches[0].values), report.values_left_out, report.not_measured) == (
        {"registers_per_thread": 32.0},
        4,
        1,
    )


@given(
    value=st.floats(0, 1e9).map(lambda value: round(value, 2)),
    mark=st.sampled_from([",", ".", "\u202f", "\u2019", ""]),
    decimal=st.sampled_from([".", ","]),
)
def test_numbers_of_any_locale(value, mark, decimal):
    """The style that a file's numbers show reads each of them: two decimals are what Nsight Compute prints."""
    if mark == decimal:
        return
    text = f"{value:,.2f}".replace(".", "D").replace(",", mark).replace("D", decimal)
    style = NumberStyle.of_cells([text, f"1{decimal}25"])
    assert style.read_number(text) == pytest.approx(value)


def test_decimal_commas_of_one_number_tell_the_others():
    style = NumberStyle.of_cells(["1.234", "63,42"])
    assert [style.read_number("1.234"), style.read_number("63,42")] == [1234, 63.42]
    assert style.read_amount(CellAmount("63,42", "%", "share")) == pytest.approx(0.6342)
    assert NumberStyle.of_cells(["1,234", "63.42"]).read_number("1,234") == 1234


def test_one_damaged_number_does_not_turn_the_others():
    style = NumberStyle.of_cells(["1,000.50", "20.25", "1,23", "7.5"])
    assert style.read_number("1,000.50") == 1000.5
    assert style.read_number("12,34,567") == 1234567
    for text, has_comma_decimals in (("1,23", False), ("1.234,5", False), ("1,000.50", True), ("12.50", True)):
        with pytest.raises(ValueError, match="locale"):
            NumberStyle(has_comma_decimals).read_number(text)


def test_a_size_that_no_launch_has_is_none():
    assert read_size("(256, 1, 1)") == (256, 1, 1)
    assert read_size(f"({'9' * 5000}, 1, 1)") is None
    assert read_size("(\u0663, 1, 1)") is None


@pytest.mark.parametrize(
    ("unit", "ns"),
    [("nsecond", 2), ("ns", 2), ("usecond", 2e3), ("us", 2e3), ("msecond", 2e6), ("ms", 2e6), ("second", 2e9)],
)
def test_units_of_time(unit, ns):
    assert NumberStyle(has_comma_decimals=False).read_amount(CellAmount("2", unit, "time")) == ns


@pytest.mark.parametrize("unit", ["cycle/nsecond", "Ghz", "GHz"])
def test_units_of_clocks(unit):
    assert NumberStyle(has_comma_decimals=False).read_amount(CellAmount("1.5", unit, "clock")) == 1.5e9


def folder_of(tmp_path, files):
    for name, text in files.items():
        write(tmp_path, text, name)
    return tmp_path


@pytest.mark.parametrize("files", [OMNIPERF_2022, ROCPROF_2025], ids=["Omniperf 2022", "rocprof-compute 2025"])
def test_tables_of_analyze_equal_an_independent_reading(tmp_path, files):
    (path,) = find_kernel_reports(folder_of(tmp_path, files))
    report = read_kernel_report(path)
    (launch,) = report.launches
    speed = {row["Metric"]: row for row in csv.DictReader(files[path.name].splitlines())}
    of_peak = "Pct of Peak" if "Pct of Peak" in next(iter(speed.values())) else "PoP"

    def percent(*names):
        return max((float(speed[name][of_peak]) / 100 for name in names if name in speed), default=None)

    means = {
        row["Metric"]: float(row["Avg"])
        for name, text in files.items()
        if name[:1] == "7"
        for row in csv.DictReader(text.splitlines())
    }
    expected = {
        "compute_throughput": percent("VALU Util", "MFMA Util"),
        "memory_throughput": percent("Vector L1D Cache BW", "vL1D Cache BW", "L2 Cache BW", "L2-Fabric Read BW"),
        "achieved_occupancy": percent("Wave Occupancy", "Wavefront Occupancy"),
        "l2_throughput": percent("L2 Cache BW"),
        "blocks": means["Grid Size"] / means["Workgroup Size"],
        "threads_per_block": means["Workgroup Size"],
        "registers_per_thread": means["VGPRs"],
        "dur": means.get("Kernel Time (Nanosec)"),
    }
    assert {name: launch.values.get(name) for name in expected} == pytest.approx(expected)
    stalls = {stall.reason: (stall.share, stall.cycles) for stall in launch.stalls}
    waits = {"dependency": "Dependency Wait Cycles", "issue": "Issue Wait Cycles"}
    assert stalls == {
        reason: (pytest.approx(means[name] / means["Wave Cycles"]), means[name])
        for reason, name in waits.items()
        if name in means
    }


def test_tables_of_several_kernels_say_nothing_of_one(tmp_path):
    files = ROCPROF_2025 | {"0.1_Top_Kernels.csv": ROCPROF_2025["0.1_Top_Kernels.csv"].replace(",*\n", ",\n")}
    (path,) = find_kernel_reports(folder_of(tmp_path, files))
    with pytest.raises(UnusableTrace, match="without a launch that can be read"):
        read_kernel_report(path)


def test_counters_of_dispatches(tmp_path):
    """Made up by the layouts of rocprof of 2022 and of rocprofv3; SQ_WAIT_ANY over SQ_WAVE_CYCLES is the wait for memory."""
    old = (
        "Index,KernelName,gpu-id,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,SQ_WAVES,DispatchNs,BeginNs,EndNs,CompleteNs\n"
        '0,"vecCopy(double*, int) [clone .kd]",0,1048576,256,0,0,8,4,16,16384,1,100,5100,6000\n1,cut\n'
    )
    new = (
        "Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Arch_VGPR,Accum_VGPR,SGPR,Kernel_Name,Start_Timestamp,"
        "End_Timestamp,SQ_WAIT_ANY,SQ_WAIT_INST_ANY,SQ_WAVE_CYCLES\n"
        '3,4,1000,256,512,8,0,16,"vecCopy(double*, int)",100,5100,600,100,1000\n'
    )
    found = [read(tmp_path, text, "pmc_perf.csv") for text in (old, new)]
    assert [dict(report.launches[0].values) for report in found] == [
        {"threads_per_block": 256, "shared_memory": 0, "blocks": 4096, "registers_per_thread": 12, "dur": 5000},
        {"threads_per_block": 256, "shared_memory": 512, "blocks": 4, "registers_per_thread": 8, "dur": 5000},
    ]
    assert (found[0].rows_left_out, show(found[1])) == (
        1,
        "vecCopy counters 3 1 | None None | 4 None None 512.0 | dependency 0.600 -, issue 0.100 -",
    )


def test_a_workload_counts_once(tmp_path):
    header = "Dispatch_ID,Grid_Size,Workgroup_Size,Kernel_Name,SQ_WAVES\n0,256,256,k,4\n"
    for name in ("SQ_LEVEL_WAVES.csv", "pmc_perf.csv", "pmc_perf_0.csv"):
        write(tmp_path, header, name)
    write(tmp_path, "a,b\n1,2\n", "other.csv")
    assert [path.name for path in find_kernel_reports(tmp_path)] == ["pmc_perf.csv"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\n",
        "Kernel Name\nk\n",
        "a,b,c\n1,2,3\n",
        b"\x00\xff" * 50,
        '"Kernel Name","Calls"\n"k","3"\n',
        "x" * 300_000,
    ],
)
def test_other_files_are_none(tmp_path, content):
    path = write(tmp_path, content)
    assert not is_kernel_report(path)
    with pytest.raises(UnknownFormat, match=r"docs/kernel-reports\.md"):
        read_kernel_report(path)


def test_a_report_without_launches_is_said(tmp_path):
    with pytest.raises(UnusableTrace, match="was it cut"):
        read(tmp_path, NCU_2020.splitlines()[0] + "\n")


@given(st.binary(max_size=400), st.integers(0, 2000))
def test_damage_anywhere_ends_in_a_report_or_an_error_that_says_so(tmp_path_factory, junk, at):
    content = NCU_2025.encode()
    path = tmp_path_factory.mktemp("damaged") / "report.csv"
    path.write_bytes(content[:at] + junk + content[at + len(junk) :])
    try:
        launches = len(read_kernel_report(path).launches)
    except (UnknownFormat, UnusableTrace) as error:
        launches = str(error).count(str(path))
    assert launches >= 1
