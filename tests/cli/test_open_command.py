from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

RUN = Path(__file__).parents[2] / "fixtures" / "run"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture
def opened(tmp_path):
    """Starts `traceq open` with arguments; returns the process and the address that it printed."""
    running = []

    def start(*arguments):
        command = [sys.executable, "-m", "traceq", "open", "--no-browser", *map(str, arguments)]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TRACEQ_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)},
            # under nohup and in the background of a shell it is ignored
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - no threads here
        )
        running.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.communicate()


def end(process, number=signal.SIGINT):
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    return process.returncode, stdout, stderr


@pytest.mark.skipif(os.name == "nt", reason="needs SIGINT")
def test_a_page_is_there_until_ctrl_c(opened, tmp_path):
    (tmp_path / "r.html").write_text("<p>mine</p>")
    process, address = opened(tmp_path / "r.html")
    with urlopen(address, timeout=30) as answer:  # noqa: S310 - of this machine
        assert answer.read() == b"<p>mine</p>"
    assert end(process) == (130, "", "traceq: Ctrl-C ends this\ntraceq: interrupted\n")
    assert list(tmp_path.glob("traceq-*")) == []


@pytest.mark.skipif(os.name == "nt", reason="needs SIGINT")
def test_a_folder_is_followed_until_ctrl_c(opened, tmp_path):
    (tmp_path / "run").mkdir()
    shutil.copy(RUN / "kineto_2026.json.gz", tmp_path / "run" / "t.json.gz")
    process, address = opened(tmp_path / "run", "--watch")
    lines = [process.stderr.readline() for _ in range(2)]
    assert lines[1].startswith(f"traceq: {tmp_path / 'run' / 't.json.gz'}: Fix first: ")
    with urlopen(f"{address}1", timeout=30) as answer:  # noqa: S310 - as above
        assert b"<title>t.json.gz. Fix first: " in answer.read()
    code, _, stderr = end(process)
    assert (code, stderr) == (130, "traceq: interrupted\n")
    assert list(tmp_path.glob("traceq-*")) == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{folder}/no.html"], 1, "no such page; write one: traceq report TRACE -o"),
        (["{folder}/no.json"], 1, "no such file"),
        (["{folder}/no", "--watch"], 2, "--watch follows a folder of traces"),
        (["{folder}", "--port", "65536"], 2, "65536 is not in the range 0<=x<=65535"),
        ([], 2, "Missing argument 'SOURCE_OR_PAGE'"),
    ],
)
def test_wrong_use_says_what_to_do(traceq, tmp_path, arguments, code, message):
    result = traceq("open", "--no-browser", *(each.format(folder=tmp_path) for each in arguments))
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in " ".join(result.stderr.split())


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.slow
def test_a_browser_shows_the_page_with_its_scripts(opened):
    _, address = opened(RUN / "kineto_2026.json.gz")
    seen = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom", address],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    assert "Fix first: Load batches in worker processes" in seen
    assert "<button" in seen  # which the page's own script makes
