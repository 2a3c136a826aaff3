"""Ray: its dashboard has dynolog record a worker and hands out the trace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from traceq.capture.attach import http
from traceq.capture.attach.address import HostPort
from traceq.errors import UnreachableProgram, WrongUse

_MOST_LISTED = 8


@dataclass(frozen=True)
class Worker:
    """A worker process of a Ray cluster."""

    pid: int
    node_id: str
    ip: str


def record_worker(address: HostPort, pid: int | None, to: Path, *, steps: int, patience: float) -> Path:
    """Have the dashboard record `steps` optimizer steps of a worker, and download the trace to `to`.

    `pid` may be None where there is only one worker. Raises UnreachableProgram where that does not work, WrongUse where
    several workers may be meant.
    """
    worker = _choose_worker(address, pid)
    query = {"pid": worker.pid, "node_id": worker.node_id, "num_iterations": steps}
    answer = http.download_file(address, "/worker/gpu_profile", to, query, seconds=patience)
    if answer is not None:
        raise _explain_answer(address, answer)
    return to


def _explain_answer(address: HostPort, answer: http.Answer) -> UnreachableProgram:
    """Return the error for an answer that is no trace; Ray says itself what lacks."""
    if answer.status == http.FORBIDDEN:
        way = "start the head node with RAY_DASHBOARD_ENABLE_PROFILING=1"
    else:
        way = "workers need KINETO_USE_DAEMON=1 and KINETO_DAEMON_INIT_DELAY_S=5, their node dynolog and a GPU"
    return UnreachableProgram(f"{address}: Ray's dashboard answered {answer.status}: {answer.join_words()}; {way}")


def _choose_worker(address: HostPort, pid: int | None) -> Worker:
    workers = _list_workers(address)
    chosen = [worker for worker in workers if pid in (None, worker.pid)]
    if len(chosen) == 1:
        return chosen[0]
    listed = ", ".join(f"{worker.pid} on {worker.ip}" for worker in workers[:_MOST_LISTED]) or "none"
    more = f" and {len(workers) - _MOST_LISTED} more" if len(workers) > _MOST_LISTED else ""
    if pid is None:
        raise WrongUse(f"{address}: which worker? name one with --pid; there are: {listed}{more}")
    raise UnreachableProgram(
        f"{address}: {'no' if not chosen else 'more than one'} worker {pid}; there are: {listed}{more}"
    )


def _list_workers(address: HostPort) -> list[Worker]:
    """Return the cluster's workers that are alive, without drivers. Raises UnreachableProgram where Ray does not list them."""
    query = urlencode({"detail": 1, "limit": 1000})
    answer = http.send_request(address, "GET", f"/api/v0/workers?{query}", seconds=60)
    try:
        rows: list[dict[str, Any]] = json.loads(answer.text)["data"]["result"]["result"]
        return [
            Worker(int(row["pid"]), str(row["node_id"]), str(row["ip"]))
            for row in rows
            if row.get("is_alive") and row.get("worker_type") == "WORKER" and row.get("pid")
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise UnreachableProgram(
            f"{address}: Ray's dashboard does not list its workers (status {answer.status}: {answer.join_words()}); install "
            "ray[default] on its head node"
        ) from error
