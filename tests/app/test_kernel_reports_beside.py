"""Reports of kernel profilers beside a trace, and the commands that make them: notes, the section, the account, refusals."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from pathlib import Path

import duckdb
import pytest
from builder import TraceBuilder
from click.testing import CliRunner

from traceq.app.api import ingest
from traceq.cli import main
from traceq.diagnosis.judge import judge_subject, load_subjects
from traceq.diagnosis.rules.registry import all_rules
from traceq.reports.kernels.commands import SteadyStep, write_ncu_commands, write_rocprof_commands
from traceq.reports.kernels.model import HotKernel

TRACE = Path(__file__).resolve().parents[2] / "fixtures" / "run" / "kineto_2026.json.gz"
METRICS = {
    "gpu__time_duration.sum": "us",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "%",
    "smsp__average_warp_latency_per_inst_issued.ratio": "cycle",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": "inst",
}


def run(*arguments, status=0):
    outcome = CliRunner().invoke(main, [*map(str, arguments)], env={"COLUMNS": "100"})
    assert outcome.exit_code == status, outcome.output
    return outcome.output


def write_raw(path, kernels, values=("1,000.50", "20", "92", "60", "20", "12.6")):
    """A page raw with a launch of each kernel (name, grid, block)."""
    text = io.StringIO()
    rows = csv.writer(text, quoting=csv.QUOTE_ALL)
    rows.writerow(["ID", "Kernel Name", "Grid Size", "Block Size", *METRICS])
    rows.writerow(["", "", "", "", *METRICS.values()])
    for number, (name, grid, block) in enumerate(kernels):
        rows.writerow([number, name, grid, block, *values])
    path.write_text(f"==PROF== Connected to process 1\n{text.getvalue()}")
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a report on the kernel of the trace that has most time, and the name of that kernel."""
    folder = tmp_path_factory.mktemp("reports")
    ingest(TRACE, folder / "trace.duckdb")
    with duckdb.connect(str(folder / "trace.duckdb"), read_only=True) as db:
        name, *size = db.execute(
            "select name, grid_x, grid_y, grid_z, block_x, block_y, block_z from gpu_slice where kind = 'kernel'"
            " and not is_communication group by all order by sum(dur) desc limit 1"
        ).fetchone()
    write_raw(folder / "ncu.csv", [(name, str(tuple(size[:3])), str(tuple(size[3:])))])
    return folder, name


def notes(folder, report):
    target = folder / "notes.duckdb"
    target.unlink(missing_ok=True)
    ingest(TRACE, target, logs=[report])
    with duckdb.connect(str(target), read_only=True) as db:
        return db.execute(
            "select severity, code, count, text from import_note where code like 'kernel_report%' order by all"
        ).fetchall()


def test_the_note_says_that_times_are_not_the_traces(made):
    folder, _ = made
    ((severity, code, count, text),) = notes(folder, folder / "ncu.csv")
    assert (severity, code, count) == ("info", "kernel_report", 1)
    assert text == (
        "ncu.csv, a report of Nsight Compute: 1 launch of 1 kernel; measured one at a time, with clocks and caches of its own:"
        " its times are not the trace's"
    )


def test_what_cannot_be_read_is_said(made, tmp_path):
    folder, name = made
    path = write_raw(tmp_path / "cut.csv", [(name, "(1, 1, 1)", "(1, 1, 1)")] * 2)
    path.write_text(path.read_text()[:-20])
    found = [row[:3] for row in notes(folder, path) if row[1] != "kernel_report_not_matched"]
    assert found == [
        ("data_loss", "kernel_report_left_out", 1),
        ("info", "kernel_report", 1),
    ]


def test_launches_of_no_kernel_of_the_trace_are_said(made, tmp_path):
    folder, name = made
    path = write_raw(tmp_path / "other.csv", [(name, "(9, 9, 9)", "(1, 1, 1)"), ("mine", "(1, 1, 1)", "(1, 1, 1)")])
    assert [row[1:3] for row in notes(folder, path)] == [("kernel_report", 2), ("kernel_report_not_matched", 2)]


@pytest.mark.parametrize(("capability", "is_known"), [("9.0", True), ("3.5", False)])
def test_a_report_of_another_gpu_is_no_evidence(made, tmp_path, capability, is_known):
    folder, _ = made
    lines = (folder / "ncu.csv").read_text().splitlines()
    header, units, *rows = lines[1:]
    added = [f'"CC",{header}', f'"",{units}', *(f'"{capability}",{row}' for row in rows)]
    (tmp_path / "ncu.csv").write_text("\n".join(added) + "\n")
    target = tmp_path / "beside.duckdb"
    ingest(TRACE, target, logs=[tmp_path / "ncu.csv"])
    with duckdb.connect(str(target), read_only=True) as db:
        assert db.execute("select count(*) > 0 from reported_kernel").fetchone() == (is_known,)
        other = db.execute("select count, text from import_note where code = 'kernel_report_of_another_gpu'").fetchall()
    said = (
        "launches in reports of kernel profilers that ran on a GPU of another compute capability than the trace's (9.0):"
        " they are matched with no kernel"
    )
    assert other == ([] if is_known else [(1, said)])


def test_the_section_and_the_json_say_what_the_report_says(made):
    folder, name = made
    page = run("report", TRACE, "--with", folder / "ncu.csv", "--full")
    section = " ".join(page[page.index("Kernel reports") :].split())
    assert "63.0 % of the time its warps wait for global or local memory" in section
    assert "its times there are not these" in section
    (trace,) = json.loads(run("report", TRACE, "--with", folder / "ncu.csv", "--format", "json"))["traces"]
    (kernel,) = trace["kernels"]["reported"]
    assert (kernel["name"], kernel["memory_share"], kernel["stall"]) == (name, 0.92, "long_scoreboard")
    assert name not in [other["name"] for other in trace["kernels"]["unreported"]]
    (without,) = json.loads(run("report", TRACE, "--format", "json"))["traces"]
    assert without["ledger"] == trace["ledger"]
    assert without["kernels"]["reported"] == without["kernels"]["unreported"] == []


def test_kernels_lists_them_and_what_reports_say(made):
    folder, name = made
    found = json.loads(run("kernels", TRACE, "--with", folder / "ncu.csv", "--top", 3, "--format", "json"))
    assert len(found["hot"]) == 3
    assert (found["hot"][0]["name"], found["reported"][0]["name"]) == (name, name)
    assert sum(kernel["kernel_share"] for kernel in found["hot"]) + found["other_share"] == pytest.approx(1)
    assert "92.0 %" in run("kernels", TRACE, "--with", folder / "ncu.csv", "--top", 3)


def test_a_report_alone_is_listed_with_its_own_times(made):
    folder, _ = made
    text = run("kernels", folder / "ncu.csv")
    assert "1.000 ms" in text
    assert "traceq report TRACE --with ncu.csv" in " ".join(text.split())
    assert "its kernels are traceq kernels ncu.csv" in run("report", folder / "ncu.csv", status=1)


def test_the_command_measures_one_launch_of_each_in_a_steady_step():
    found = json.loads(run("kernels", TRACE, "--top", 2, "--ncu", "--program", "python train.py", "--format", "json"))
    measure, export, back = (row["command"] for row in found["commands"])
    words = shlex.split(measure)
    assert words[0] == "ncu"
    assert words[-2:] == ["python", "train.py"]
    pattern = words[words.index("--kernel-name") + 1].removeprefix("regex:")
    assert all(re.search(pattern, name) for name in re.findall(r"\w+", pattern))
    assert int(words[words.index("--launch-skip") + 1]) >= 1
    assert words[words.index("--filter-mode") + 1] == "per-launch-config"
    assert export == "ncu --import hot_kernels.ncu-rep --csv --page raw --print-units base > hot_kernels.csv"
    assert back == "traceq report kineto_2026.json.gz --with hot_kernels.csv"


def hot(name, per_step=2.0):
    return HotKernel(name, 1, 1, 1, 1, 1, 1, "other", 4, per_step, 100, 0.5, 25.0, None, None)


def test_names_and_ranges_are_quoted_for_the_shell_and_for_ncu():
    kernels = [hot("void ns::f<int>(int)"), hot("triton_poi_0", 3.5), hot("f[v1](Array)")]
    skipping, _ = write_ncu_commands(kernels, SteadyStep(2, None))
    assert "--kernel-name 'regex:^(f$|triton_poi_0$)'" in skipping.command
    assert "--launch-skip 7" in skipping.command
    ranged, _ = write_ncu_commands(kernels[:1], SteadyStep(2, "step [4], a/b's"))
    words = shlex.split(ranged.command)
    assert words[words.index("--nvtx-include") + 1] == r"step \[4\]\, a\/b's/"
    assert "--launch-skip" not in words
    assert write_ncu_commands(kernels[2:], SteadyStep(1, None)) == write_rocprof_commands(kernels[2:]) == ()


def test_the_beginning_of_a_long_name_finds_the_kernel():
    (measure, _) = write_ncu_commands([hot(f"gemm_{'x' * 200}")], SteadyStep(1, None))
    words = shlex.split(measure.command)
    pattern = words[words.index("--kernel-name") + 1].removeprefix("regex:")
    assert re.search(pattern, f"gemm_{'x' * 200}")
    assert not re.search(pattern, "gemm")


def test_the_commands_of_rocprof_compute_write_a_folder_for_each_kernel():
    measure, *tables = write_rocprof_commands([hot("a.kd"), hot("ns::b<1>(x) [clone .kd]"), hot("a.kd")])
    assert measure.command == "rocprof-compute profile -n hot_kernels -k a b -- PROGRAM"
    assert [row.command.rpartition("-k ")[2] for row in tables] == [
        "0 --save-dfs hot_kernels/0",
        "1 --save-dfs hot_kernels/1",
    ]


def judged(tmp_path, memory, rules=(), stalled=0.6, tool="ncu", blocks=8):
    """Judge a trace whose kernel `mine` takes 600 of 1,000 ns of each step, with a report on a launch of it."""
    trace = TraceBuilder()
    size = {"grid_x": 8, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
    for start in (0, 1000, 2000):
        trace.annotation("step", start, 20)
        trace.kernel("mine", start + 300, 600, launched=(start + 2, 1), **size)
        trace.kernel("other", start + 900, 20, launched=(start + 4, 1))
    trace.add(
        "kernel_report", report_id=0, file="r", tool=tool, page="raw", launches=1, kernel="mine",
        memory_throughput=memory, compute_throughput=0.2, **size | {"grid_x": blocks},
    )  # fmt: skip
    trace.add("kernel_stall", report_id=0, reason="long_scoreboard", share=stalled)
    built = trace.build(tmp_path)
    (subject,) = load_subjects(built._connection)
    return judge_subject(subject, [rule for rule in all_rules() if rule.name in rules])


def judge(tmp_path, memory, **about):
    """The line of the account on the kernel."""
    (line,) = [line for line in judged(tmp_path, memory, **about).account if line.part == "mine"]
    return line


def test_the_rule_on_the_hottest_kernel_quotes_the_report(tmp_path):
    (remark,) = judged(tmp_path, 0.45, ["hotspot-kernel"]).observations
    assert "ncu: 45.0 % of memory throughput, 20.0 % of compute throughput; 60.0 % of the time its warps" in remark.text


def test_a_kernel_at_its_limit_is_told_by_its_report(tmp_path):
    line = judge(tmp_path, 0.91)
    assert (line.verdict, line.limit, line.limit_share) == ("at its limit", "memory throughput", 0.91)
    assert line.reason == "91.0 % of the memory throughput, as ncu measured its kernels one at a time"


def test_a_kernel_below_its_limits_has_what_it_waits_for(tmp_path):
    line = judge(tmp_path, 0.45)
    assert line.verdict == "cannot tell"
    assert line.reason == (
        "neither memory nor compute is at its limit: ncu: 45.0 % of memory throughput, 20.0 % of compute throughput; 60.0 % of"
        " the time its warps wait for global or local memory"
    )
    assert "-k regex:mine" in line.remedy


@pytest.mark.parametrize("about", [{"blocks": 9}, {"memory": None}], ids=["another grid", "no memory"])
def test_what_the_report_does_not_tell_stays_unknown(tmp_path, about):
    line = judge(tmp_path, **{"memory": 0.9} | about)
    assert (line.verdict, line.reason) == ("cannot tell", "a trace of times does not show what limits it")
