"""traceq record --attach against stand-ins that speak what dynolog, vLLM, SGLang and Ray publish."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from dynolog_stand_in import Daemon

import traceq
from traceq.capture.attach import dynolog, http, py_spy, target
from traceq.capture.attach.address import HostPort
from traceq.capture.attach.arrivals import TraceFolder
from traceq.capture.attach.attach import AttachRequest, ask_program
from traceq.errors import MissingTool, UnreachableProgram, WrongUse

EVENTS = [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 5},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 5, "dur": 20},
]
TRACE = json.dumps({"schemaVersion": 1, "traceEvents": EVENTS})


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A trace is complete as soon as it lies there: the stand-ins write it at once."""
    monkeypatch.setattr("traceq.capture.attach.arrivals._PERIOD_S", 0.01)
    monkeypatch.setattr("traceq.capture.attach.arrivals._CALM_S", 0.02)


@pytest.fixture
def serve():
    """Starts an HTTP server of answers by method and path: text, (status, text), or a function of the request."""
    servers = []

    def start(answers):
        asked = []

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = SimpleNamespace(
                    method=self.command, path=parts.path, query=parse_qs(parts.query), body=json.loads(body or b"null")
                )
                asked.append(request)
                found = answers.get(f"{self.command} {parts.path}", (404, '{"detail":"Not Found"}'))
                found = found(request) if callable(found) else found
                status, text, *location = found if isinstance(found, tuple) else (200, found)
                self.send_response(status)
                if location:
                    self.send_header("Location", location[0])
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = answer  # noqa: N815 - the names that http.server calls

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return SimpleNamespace(address=f"127.0.0.1:{server.server_port}", asked=asked)

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def request(target_, directory, **options):
    given = {"steps": 3, "seconds": 0.01, "patience": 5.0, **options}
    return AttachRequest(target_, directory / "traces", **given)


def read_steps(attached):
    database = attached.traces[0].with_name("t.duckdb")
    traceq.ingest(list(attached.traces), database)
    with traceq.open(database) as traces:
        return traces.sql("select 1 from cpu_slice where name = 'ProfilerStep#1'").fetchall().count((1,))


# vLLM


def test_vllm_is_started_and_stopped_and_its_traces_are_fetched(serve, tmp_path):
    folder = tmp_path / "profiler"
    folder.mkdir()
    (folder / "old.pt.trace.json").write_text(TRACE)

    def stop(_):
        for rank in (0, 1):
            (folder / f"host_dp0_rank{rank}.17.pt.trace.json").write_text(TRACE.replace('"tid": 1', f'"tid": {rank}'))
        return ""

    server = serve({"GET /version": '{"version": "0.13.0"}', "POST /start_profile": "", "POST /stop_profile": stop})
    attached = ask_program(request(f"http://{server.address}", tmp_path, trace_dir=folder))
    assert [path.name for path in attached.traces] == [
        "vllm.host_dp0_rank0.17.pt.trace.json",
        "vllm.host_dp0_rank1.17.pt.trace.json",
    ]
    assert read_steps(attached) == 2
    assert [each.path for each in server.asked[-2:]] == ["/start_profile", "/stop_profile"]


def test_vllm_without_a_profiler_says_how_to_start_it(serve, tmp_path):
    server = serve({"GET /version": '{"version": "0.13.0"}'})
    with pytest.raises(UnreachableProgram, match=r"started without a profiler: start it with --profiler-config"):
        ask_program(request(f"vllm:{server.address}", tmp_path, trace_dir=tmp_path))
    assert [each.path for each in server.asked] == ["/start_profile"]


def test_vllm_does_not_tell_where_its_traces_are(serve, tmp_path):
    server = serve({"POST /start_profile": "", "POST /stop_profile": ""})
    with pytest.raises(WrongUse, match=r"torch_profiler_dir .*--trace-dir DIR"):
        ask_program(request(f"vllm:{server.address}", tmp_path))
    assert server.asked == []


def test_traces_that_come_to_no_folder_seen_from_here_are_told(serve, tmp_path):
    server = serve({"POST /start_profile": "", "POST /stop_profile": ""})
    with pytest.raises(UnreachableProgram, match=r"no trace came within 0.2 s.*the same folder as you"):
        ask_program(request(f"vllm:{server.address}", tmp_path, trace_dir=tmp_path, patience=0.2))


def test_a_server_that_fails_says_why(serve, tmp_path):
    server = serve({"POST /start_profile": "", "POST /stop_profile": (500, '{"error":\n "engine is dead"}')})
    with pytest.raises(UnreachableProgram, match=r'/stop_profile answered 500: \{"error": "engine is dead"\}'):
        ask_program(request(f"vllm:{server.address}", tmp_path, trace_dir=tmp_path))


# SGLang


def test_sglang_records_steps_into_the_folder_it_is_told(serve, tmp_path):
    def start(asked):
        (Path(asked.body["output_dir"]) / "1796-TP-0.trace.json").write_text(TRACE)
        return "Start profiling.\n"

    server = serve({"GET /get_model_info": '{"model_path": "m"}', "POST /start_profile": start})
    attached = ask_program(request(f"http://{server.address}", tmp_path))
    assert [path.name for path in attached.traces] == ["sglang.1796-TP-0.trace.json"]
    assert read_steps(attached) == 1
    assert server.asked[-1].body == {
        "output_dir": str(tmp_path / "traces"),
        "num_steps": 3,
        "activities": ["CPU", "GPU"],
        "record_shapes": True,
    }


def test_an_idle_sglang_is_stopped(serve, tmp_path):
    server = serve({"POST /start_profile": "Start profiling.\n", "POST /stop_profile": "Stop profiling.\n"})
    with pytest.raises(UnreachableProgram, match="does the program work on requests"):
        ask_program(request(f"sglang:{server.address}", tmp_path, patience=0.2))
    assert [each.path for each in server.asked] == ["/start_profile", "/stop_profile"]


def test_another_machine_needs_a_folder_that_both_see(tmp_path):
    with pytest.raises(WrongUse, match=r"another machine, .*--trace-dir DIR"):
        ask_program(request("sglang:192.0.2.1:30000", tmp_path))


# Ray


def workers(*pids):
    rows = [{"pid": pid, "node_id": "c5", "ip": "192.0.2.2", "is_alive": True, "worker_type": "WORKER"} for pid in pids]
    driver = {"pid": 1, "node_id": "c5", "ip": "192.0.2.2", "is_alive": True, "worker_type": "DRIVER"}
    return json.dumps({"result": True, "data": {"result": {"total": len(rows), "result": [driver, *rows]}}})


def test_ray_hands_out_the_trace_of_a_worker(serve, tmp_path):
    server = serve(
        {
            "GET /api/version": '{"version": "4", "ray_version": "2.60.0"}',
            "GET /api/v0/workers": workers(11, 12),
            "GET /worker/gpu_profile": (
                302,
                "",
                "/api/v0/logs/file?node_ip=192.0.2.2&filename=profiles%2Ft.json&lines=-1",
            ),
            "GET /api/v0/logs/file": TRACE,
        }
    )
    attached = ask_program(request(f"http://{server.address}", tmp_path, pid=12))
    assert [path.name for path in attached.traces] == ["ray.pt.trace.json"]
    assert read_steps(attached) == 1
    assert server.asked[-2].query == {"pid": ["12"], "node_id": ["c5"], "num_iterations": ["3"]}
    assert server.asked[-1].query["filename"] == ["profiles/t.json"]


def test_ray_with_several_workers_asks_which(serve, tmp_path):
    server = serve({"GET /api/v0/workers": workers(11, 12)})
    with pytest.raises(WrongUse, match=r"which worker\? name one with --pid; there are: 11 on 192.0.2.2, 12 on"):
        ask_program(request(f"ray:{server.address}", tmp_path))
    with pytest.raises(UnreachableProgram, match="no worker 13; there are: 11 on"):
        ask_program(request(f"ray:{server.address}", tmp_path, pid=13))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((403, "Profiling is disabled by default"), "RAY_DASHBOARD_ENABLE_PROFILING=1"),
        ((500, "GPU profiling is not enabled on node"), "KINETO_USE_DAEMON=1 and KINETO_DAEMON_INIT_DELAY_S=5"),
    ],
)
def test_ray_says_why_it_does_not_record(serve, tmp_path, answer, words):
    server = serve({"GET /api/v0/workers": workers(11), "GET /worker/gpu_profile": answer})
    with pytest.raises(UnreachableProgram, match=f"{answer[1]}.*{words}"):
        ask_program(request(f"ray:{server.address}", tmp_path))
    assert list((tmp_path / "traces").iterdir()) == []


def test_only_the_given_address_is_asked(serve, tmp_path):
    other = serve({"GET /t.json": TRACE})
    server = serve(
        {
            "GET /api/v0/workers": workers(11),
            "GET /worker/gpu_profile": (302, "", f"http://{other.address}/t.json"),
        }
    )
    with pytest.raises(UnreachableProgram, match=f"sends on to {other.address}"):
        ask_program(request(f"ray:{server.address}", tmp_path))
    assert other.asked == []


# dynolog


def test_dynolog_is_told_what_to_record(tmp_path):
    daemon = Daemon(pids=[21, 22])
    told = dynolog.trigger_traces(HostPort("127.0.0.1", daemon.port), steps=3, pids=(22,), folder=tmp_path)
    daemon.close()
    (asked,) = daemon.requests
    config = dict(line.split("=", 1) for line in asked.pop("config").split("\n"))
    log = config.pop("ACTIVITIES_LOG_FILE")
    assert asked == {"fn": "setKinetOnDemandRequest", "job_id": 0, "pids": [22], "process_limit": 1000}
    assert config == {
        "PROFILE_START_ITERATION": "0",
        "PROFILE_START_ITERATION_ROUNDUP": "1",
        "ACTIVITIES_ITERATIONS": "3",
        "PROFILE_REPORT_INPUT_SHAPES": "true",
    }
    assert told.files == {22: Path(log.replace(".json", "_22.json"))}


def test_traces_of_dynolog_are_fetched_and_removed(tmp_path, monkeypatch):
    told = dynolog.Triggered({21: tmp_path / "traceq-1_21.json", 22: tmp_path / "traceq-1_22.json"}, 0)
    for pid, path in told.files.items():
        path.write_text(TRACE.replace('"pid": 1', f'"pid": {pid}'))
    monkeypatch.setattr(dynolog, "trigger_traces", lambda *_, **__: told)
    attached = ask_program(request("dynolog", tmp_path))
    assert [path.name for path in attached.traces] == ["dynolog.pid21.pt.trace.json", "dynolog.pid22.pt.trace.json"]
    assert read_steps(attached) == 2
    assert not any(path.exists() for path in told.files.values())


def test_traces_on_another_machine_are_told(tmp_path, monkeypatch):
    told = dynolog.Triggered({21: Path("/far/traceq-1_21.json")}, 0)
    monkeypatch.setattr(dynolog, "trigger_traces", lambda *_, **__: told)
    with pytest.raises(UnreachableProgram, match=r"on that machine: /far/traceq-1_21.json; copy them from there"):
        ask_program(request("dynolog:192.0.2.1", tmp_path))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b'{"processesMatched": []}', "dynolog knows no PyTorch process: start the program with KINETO_USE_DAEMON=1"),
        (b'{"status": "failed with exception = x"}', "refused the request: failed with exception = x"),
        (b"no json", "does not speak dynolog's protocol"),
        (b"", "does not speak dynolog's protocol"),
        (b'{"processesMatched": [1], "activityProfilersTriggered": ["abc"]}', "names no processes in its answer"),
        (b'{"processesMatched": [1], "activityProfilersBusy": 1}', "1 processes are being recorded already"),
    ],
)
def test_dynolog_that_does_not_record_says_why(tmp_path, answer, words):
    daemon = Daemon(answer=answer)
    with pytest.raises(UnreachableProgram, match=words):
        ask_program(request(f"dynolog:127.0.0.1:{daemon.port}", tmp_path))
    daemon.close()


TRAINS = """
import sys, time
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    time.sleep(0.02)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Kineto asks dynolog on Linux only")
def test_a_real_pytorch_records_what_dynolog_is_told(tmp_path):
    pytest.importorskip("torch")
    # Paths of sockets are short.
    folder = Path(f"/tmp/traceq-test-{os.getpid()}")  # noqa: S108
    folder.mkdir()
    daemon = Daemon(folder=folder)
    environment = {**os.environ, "KINETO_USE_DAEMON": "1", "KINETO_IPC_SOCKET_DIR": str(folder)}
    program = subprocess.Popen([sys.executable, "-c", TRAINS], env=environment, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not daemon.known and time.monotonic() < deadline and program.poll() is None:
            time.sleep(0.1)
        attached = ask_program(request(f"dynolog:127.0.0.1:{daemon.port}", tmp_path, patience=120.0))
        (path,) = attached.traces
        assert path.name == f"dynolog.pid{program.pid}.pt.trace.json"
        traceq.ingest([path], tmp_path / "t.duckdb")
        with traceq.open(tmp_path / "t.duckdb") as traces:
            assert traces.sql("select 1 from cpu_slice where name = 'aten::linear' limit 1").fetchall()
    finally:
        program.kill()
        program.wait()
        daemon.close()
        for left in folder.iterdir():
            left.unlink()
        folder.rmdir()


# Addresses


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        ("dynolog", "dynolog", "localhost:1778"),
        ("dynolog:gpu7", "dynolog", "gpu7:1778"),
        ("vllm:gpu7:9000", "vllm", "gpu7:9000"),
        ("sglang:http://gpu7:9000/v1", "sglang", "gpu7:9000"),
        ("ray", "ray", "localhost:8265"),
        ("vllm:[::1]:9000", "vllm", "[::1]:9000"),
        ("4711", "pid4711", "localhost:0"),
    ],
)
def test_targets_are_told_apart(text, kind, address):
    found = target.parse_target(text)
    assert (found.kind, str(found.address)) == (kind, address)


@pytest.mark.parametrize("text", ["", "tensorrt", "https://gpu7:8000", "vllm:gpu7:port", "ftp://gpu7:1", "-5"])
def test_other_words_are_refused(text):
    with pytest.raises(WrongUse, match=r"^--attach .*(give|plain http)"):
        target.parse_target(text)


def test_a_server_of_another_kind_is_told(serve):
    server = serve({"GET /version": "no json"})
    with pytest.raises(UnreachableProgram, match=f"name what it is: vllm:{server.address}"):
        target.parse_target(f"http://{server.address}")


def test_where_nothing_listens_that_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for kind in ("dynolog", "ray", "sglang"):
        with pytest.raises(UnreachableProgram, match=f"^127.0.0.1:{port}: connection refused: nothing listens there"):
            ask_program(request(f"{kind}:127.0.0.1:{port}", tmp_path))


def test_a_server_that_never_answers_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = HostPort("127.0.0.1", silent.getsockname()[1])
        with pytest.raises(UnreachableProgram, match=r"no answer within 0.05 s"):
            http.send_request(address, "GET", "/version", seconds=0.05)


@pytest.mark.parametrize(
    ("headers", "body", "words"),
    [
        ("Content-Length: 1000", b"abc", "the connection was closed after 3 of 1,000 bytes of the trace"),
        ("Transfer-Encoding: chunked", b"3\r\nabc\r\n9\r\nxy", "IncompleteRead"),
    ],
)
def test_a_download_that_is_cut_short_leaves_no_trace(tmp_path, headers, body, words):
    def answer(server):
        connection, _ = server.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(f"HTTP/1.1 200 OK\r\n{headers}\r\n\r\n".encode() + body)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer, args=(server,), daemon=True).start()
        address = HostPort("127.0.0.1", server.getsockname()[1])
        with pytest.raises(UnreachableProgram, match=words):
            http.download_file(address, "/t.json", tmp_path / "t.json", {}, seconds=5)
    assert list(tmp_path.iterdir()) == []


def test_a_trace_that_still_grows_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("traceq.capture.attach.arrivals._CALM_S", 0.3)
    folder = TraceFolder(tmp_path)
    grown = []

    def write():
        for part in range(4):
            with (tmp_path / "t.json").open("a") as file:
                file.write("x" * 10)
            grown.append(part)
            time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    assert folder.wait_for_traces(60) == [tmp_path / "t.json"]
    assert len(grown) == 4
    writer.join()


# Stacks of a process


FROZEN = [
    {
        "pid": 7, "thread_id": 2, "thread_name": "reader", "os_thread_id": 9, "active": False, "owns_gil": False,
        "frames": [
            {"name": "Condition.wait", "filename": "/none/lib/python3.11/threading.py", "line": 327},
            {"name": "Queue.get", "filename": "/none/lib/python3.11/queue.py", "line": 171},
            {"name": "read", "filename": __file__, "line": 3},
        ],
    },
    {
        "pid": 7, "thread_id": 1, "thread_name": "MainThread", "os_thread_id": 7, "active": False, "owns_gil": False,
        "frames": [
            {"name": "all_reduce", "filename": "/none/torch/distributed/distributed_c10d.py", "line": 2501},
            {"name": "train", "filename": "/home/me/train.py", "line": 12},
        ],
    },
    {
        "pid": 7, "thread_id": 3, "thread_name": "spinner", "os_thread_id": 8, "active": True, "owns_gil": True,
        "frames": [{"name": "spin", "filename": "/home/me/train.py", "line": 5}],
    },
]  # fmt: skip


@pytest.fixture
def py_spy_says(tmp_path, monkeypatch):
    """Puts a py-spy that prints this, or fails with these words, at the front of PATH."""

    def arrange(text, *, error=""):
        tool = tmp_path / "bin" / "py-spy"
        tool.parent.mkdir()
        (tmp_path / "said").write_text(text)
        script = f'#!/bin/sh\nprintf %s "$*" > {tmp_path}/asked\n'
        script += f"echo '{error}' >&2\nexit 1\n" if error else f"cat {tmp_path}/said\n"
        tool.write_text(script)
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setattr(sys, "executable", str(tmp_path / "none" / "python"))

    return arrange


def test_the_stacks_of_a_process_say_what_each_thread_waits_for(tmp_path, py_spy_says):
    py_spy_says(json.dumps(FROZEN))
    attached = ask_program(request(str(os.getpid()), tmp_path))
    assert (tmp_path / "asked").read_text() == f"dump --json --pid {os.getpid()}"
    assert attached.traces == ()
    assert attached.file.name == f"pid{os.getpid()}.stacks.txt"
    assert attached.file.read_text() == attached.stacks
    assert attached.stacks.replace(str(os.getpid()), "7") == (
        "process 7, 3 Python threads\n"
        "\n"
        "MainThread (7): waits for other ranks (a collective or a rendezvous)\n"
        "    all_reduce (/none/torch/distributed/distributed_c10d.py:2501)\n"
        "    train (/home/me/train.py:12)\n"
        "\n"
        "spinner (8): runs\n"
        "    spin (/home/me/train.py:5)\n"
        "\n"
        "reader (9): waits for a queue, at: from __future__ import annotations\n"
        "    Condition.wait (/none/lib/python3.11/threading.py:327)\n"
        "    Queue.get (/none/lib/python3.11/queue.py:171)\n"
        f"    read ({__file__}:3)\n"
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("Error: Permission Denied: Try running again with elevated permissions", "SYS_PTRACE"),
        ("Error: Failed to find python version from target process", "finds no Python"),
        ("Error: out of luck", "py-spy failed: Error: out of luck"),
    ],
)
def test_py_spy_that_fails_says_the_way_out(py_spy_says, error, words):
    py_spy_says("", error=error)
    with pytest.raises(UnreachableProgram, match=words):
        py_spy.dump_stacks(os.getpid())


def test_py_spy_that_never_ends_is_given_up(tmp_path, py_spy_says, monkeypatch):
    py_spy_says("")
    (tmp_path / "bin" / "py-spy").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(py_spy, "_SECONDS", 0.2)
    with pytest.raises(UnreachableProgram, match=r"py-spy read nothing of it within 0.2 s"):
        py_spy.dump_stacks(os.getpid())


def test_without_py_spy_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(MissingTool, match=r"pip install 'py-spy>=0.4'"):
        ask_program(request(str(os.getpid()), tmp_path))


def test_a_process_that_is_gone_is_told(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with pytest.raises(WrongUse, match=f"^--attach {gone.pid}: no process has this id"):
        ask_program(request(str(gone.pid), tmp_path))
