"""A program that says of itself what traceq experiment measures in one with PyTorch: `python trial_program.py KIND`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

OPTIONS = json.loads(os.environ["TRACEQ_RECORD"])
STEP = 1_000_000


def print_fact(kind, **facts):
    line = {"kind": kind, "pid": os.getpid(), "rank": os.environ.get("RANK"), "time": time.time(), **facts}
    with (Path(OPTIONS["status"]) / f"{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def make_measured(factor=1.0, **facts):
    trial = OPTIONS["trial"]
    steps = [round(STEP * factor * (1 + 0.01 * (trial["seed"] % 7) + 0.001 * each)) for each in range(trial["steps"])]
    told = {"in_job": 0, "steps_ns": steps, "work": {"samples": 8.0}, "gpu_memory_peak": None, "energy_j": None}
    print_fact("step")
    told |= {"warmup": 2, "cycle": 1, "losses": None, "own_values": {}}
    print_fact("measured", **told, idle_knobs={}, threads=1, **facts)
    print_fact("end", path=None, steps=0)


def wait():
    time.sleep(120)


def main(kind):
    """Act, as the kind says."""
    sys.stdout.write(f"{kind} {os.environ['TRACEQ_SEED']}\n")
    sys.stdout.flush()
    if kind.replace(".", "").isdigit():
        make_measured(float(kind))
        wait()
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        make_measured()
        wait()
    if kind == "children":
        child = subprocess.Popen(["sleep", "120"], start_new_session=True)
        Path("child").write_text(str(child.pid))
        make_measured()
        wait()
    if kind == "leaves":
        child = subprocess.Popen(["sleep", "120"], start_new_session=True)
        Path("child").write_text(str(child.pid))
        sys.exit(3)
    if kind == "gives up":
        print_fact("step")
        print_fact("reason", text="recording failed")
        wait()
    if kind == "hangs":
        wait()
    if kind == "fails":
        raise ValueError("no such thing")
    if kind == "memory":
        raise MemoryError
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1])
