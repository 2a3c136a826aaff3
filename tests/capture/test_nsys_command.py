"""The nsys backend against a stand-in for nsys: what it is told, and what is made of what it leaves."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from traceq.capture import nsys, record
from traceq.errors import MissingTool

EXPORT = Path(__file__).parents[2] / "fixtures" / "run" / "nsys_2026.2.sqlite"

# profile: runs the program and leaves a report; export: SQLite, and no payloads where it is an old one.
STAND_IN = """#!{python}
import json, os, pathlib, shutil, subprocess, sys
arguments = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps(arguments) + "\\n")
output = next(each for each in arguments if each.startswith("--output=")).partition("=")[2]
if arguments[0] == "profile":
    program = next(n for n, each in enumerate(arguments) if n and not each.startswith("-"))
    code = subprocess.run(arguments[program:]).returncode
    if "REPORT" in os.environ:
        pathlib.Path(output.replace("%%", "%") + ".nsys-rep").touch()
    sys.exit(code)
if "OLD" in os.environ and "--include-blobs=true" in arguments or "BROKEN" in os.environ:
    sys.exit("unrecognised option")
shutil.copy({export!r}, output)
"""


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Puts the stand-in on PATH, and gives what it was called with."""
    log = tmp_path / "calls"
    place = tmp_path / "bin"
    place.mkdir()
    (place / "nsys").write_text(STAND_IN.format(python=sys.executable, log=str(log), export=str(EXPORT)))
    (place / "nsys").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("REPORT", "1")
    return lambda: [json.loads(line) for line in log.read_text().splitlines()]


@pytest.fixture
def recorded(tmp_path):
    """Records `python -c CODE` into a directory whose name nsys would expand."""

    def run(code, steps=5):
        request = record.Request((sys.executable, "-c", code), "nsys", tmp_path / "50%p", steps, warmup=2, skip=5)
        return record.record(request, record.plan(request))

    return run


def test_the_program_runs_under_nsys_and_the_report_is_exported(calls, recorded, tmp_path):
    result = recorded("raise SystemExit(3)")
    name = Path(sys.executable).name
    report, export = tmp_path / "50%p" / f"{name}.nsys-rep", tmp_path / "50%p" / f"{name}.sqlite"
    assert result == record.Recording(3, (export,), ())
    assert export.read_bytes() == EXPORT.read_bytes()
    window = ["--capture-range=cudaProfilerApi", "--capture-range-end=stop"]
    assert calls() == [
        [
            "profile",
            "--trace=cuda,nvtx,osrt,cudnn,cublas",
            "--cuda-graph-trace=node",
            "--sample=process-tree",
            "--cpuctxsw=process-tree",
            "--trace-fork-before-exec=true",
            *window,
            f"--output={tmp_path}/50%%p/{name}",
            "--force-overwrite=true",
            sys.executable,
            "-c",
            "raise SystemExit(3)",
        ],
        ["export", "--type=sqlite", "--include-blobs=true", "--force-overwrite=true", f"--output={export}", str(report)],
    ]  # fmt: skip


def test_without_a_window_all_of_the_program_is_collected(calls, recorded):
    recorded("pass", steps=0)
    assert [each for each in calls()[0] if each.startswith("--capture-range")] == []


def test_an_nsys_without_payloads_exports_without_them(calls, recorded, monkeypatch):
    monkeypatch.setenv("OLD", "1")
    assert len(recorded("pass").traces) == 1
    assert [call[0] for call in calls()] == ["profile", "export", "export"]
    assert "--include-blobs=true" not in calls()[2]


TRAINS = """
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters())
for batch in torch.utils.data.DataLoader(torch.ones(8, 2), batch_size=2):
    model(batch).sum().backward()
    optimizer.step()
"""


def read_facts(folder):
    (path,) = folder.glob("*.made_with.json")
    assert (path.with_name(path.name.removesuffix(".made_with.json") + ".sqlite")).is_file()
    return json.loads(path.read_text())


@pytest.mark.slow
def test_what_the_program_was_made_with_lies_beside_the_export(calls, recorded, tmp_path):  # noqa: ARG001 - PATH
    pytest.importorskip("torch")
    recorded(TRAINS, steps=0)
    found = read_facts(tmp_path / "50%p")
    assert found["loader"] == [{"batch_size": "2", "num_workers": "0", "pin_memory": "false"}]
    assert found["optimizer"][0]["optimizer"] == "SGD"


def test_of_a_program_without_torch_the_machine_is_told(calls, recorded, tmp_path):  # noqa: ARG001 - PATH
    recorded("pass")
    found = read_facts(tmp_path / "50%p")
    assert "host" in found
    # Of the process that writes it traceq knows these, of the program not.
    assert not found.keys() & {"software", "program", "loader", "optimizer", "precision"}


def test_a_failed_export_is_a_line_and_the_exit_code_stays(calls, recorded, monkeypatch):  # noqa: ARG001 - PATH
    monkeypatch.setenv("BROKEN", "1")
    result = recorded("raise SystemExit(3)")
    assert (result.exit_code, result.traces) == (3, ())
    assert "nsys export failed (unrecognised option)" in result.reasons[0]


def test_a_missing_report_is_a_line(calls, recorded, monkeypatch):
    monkeypatch.delenv("REPORT")
    result = recorded("pass")
    assert (result.exit_code, result.traces) == (0, ())
    assert result.reasons == (f"nsys wrote no report {Path(sys.executable).name}.nsys-rep: see its own messages",)
    assert len(calls()) == 1


@pytest.mark.slow
def test_a_window_needs_cuda_and_says_so(calls, recorded):  # noqa: ARG001 - PATH
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is CUDA here")
    code = (
        "import torch; p = torch.zeros(1, requires_grad=True); o = torch.optim.SGD([p], lr=0.1)\n"
        "for _ in range(9): p.sum().backward(); o.step()"
    )
    result = recorded(code)
    assert result.exit_code == 0
    assert len(result.reasons) == 1
    assert "there is no CUDA: use --steps 0, or --backend torch" in result.reasons[0]


def test_nsys_that_is_not_there_is_told_before_the_program_runs(recorded, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"^nsys: not on PATH; .* --backend torch"):
        recorded("open('ran', 'w')")
    assert not (tmp_path / "50%p").exists()


def test_reports_of_older_versions_are_found(tmp_path):
    (tmp_path / "old.qdrep").touch()
    assert nsys.find_report(tmp_path / "old") == tmp_path / "old.qdrep"
    assert nsys.find_report(tmp_path / "none") is None
