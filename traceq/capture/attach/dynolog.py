"""dynolog's trigger: its daemon is told to have PyTorch programs of its machine write a trace.

The daemon takes a connection, a message and gives an answer; both are JSON behind their length, four bytes in the order of
the machine (`dyno gputrace` of dynolog's command line speaks the same). Programs that were started with KINETO_USE_DAEMON=1
ask the daemon each second, record what it says, and write the file.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from traceq.capture.attach.address import HostPort
from traceq.capture.attach.http import SOON, explain_failure
from traceq.errors import UnreachableProgram

_LENGTH = struct.Struct("=i")
_MOST_BYTES = 1 << 20

# Where Kineto lets a trace be written that somebody else asks for; newer versions refuse other folders.
FOLDER = Path("/tmp")  # noqa: S108 - a name that nobody can guess, in the one folder that is allowed


@dataclass(frozen=True)
class Triggered:
    """The files that processes were told to write, by process id, and the number of processes that record already."""

    files: dict[int, Path]
    busy: int


def trigger_traces(address: HostPort, *, steps: int, pids: tuple[int, ...], folder: Path | None) -> Triggered:
    """Have PyTorch programs at the daemon's machine record `steps` optimizer steps, all of them if no `pids` are given.

    They write into `folder`, /tmp if that is None. Raises UnreachableProgram where the daemon does not answer, or knows no
    such process.
    """
    log = (folder or FOLDER) / f"traceq-{token_hex(8)}.json"
    config = {
        "ACTIVITIES_LOG_FILE": log,
        "PROFILE_START_ITERATION": 0,
        "PROFILE_START_ITERATION_ROUNDUP": 1,
        "ACTIVITIES_ITERATIONS": steps,
        "PROFILE_REPORT_INPUT_SHAPES": "true",
    }
    answer = _send_request(
        address,
        {
            "fn": "setKinetOnDemandRequest",
            "config": "\n".join(f"{key}={value}" for key, value in config.items()),
            "job_id": 0,
            "pids": list(pids),
            "process_limit": 1000,
        },
    )
    if str(answer.get("status", "")).startswith("failed"):
        raise UnreachableProgram(
            f"{address}: dynolog refused the request: {answer['status']}; see the daemon's own log"
        )
    if not answer.get("processesMatched"):
        which = f"process {', '.join(map(str, pids))}" if pids else "PyTorch process"
        raise UnreachableProgram(
            f"{address}: dynolog knows no {which}: start the program with KINETO_USE_DAEMON=1, and dynolog with "
            "--enable_ipc_monitor; a program is known a few seconds after its start"
        )
    try:
        triggered = [int(pid) for pid in answer.get("activityProfilersTriggered", ())]
        busy = int(answer.get("activityProfilersBusy", 0))
    except (TypeError, ValueError) as error:
        raise UnreachableProgram(f"{address}: dynolog names no processes in its answer ({error}); update it") from error
    return Triggered({pid: log.with_stem(f"{log.stem}_{pid}") for pid in triggered}, busy)


def _send_request(address: HostPort, request: Mapping[str, object]) -> dict[str, Any]:
    """Return the daemon's answer. Raises UnreachableProgram without one, or one that cannot be read."""
    message = json.dumps(request).encode()
    try:
        with socket.create_connection((address.host, address.port), SOON) as connection:
            connection.sendall(_LENGTH.pack(len(message)) + message)
            answer = json.loads(_read_message(connection))
    except OSError as error:
        raise explain_failure(address, error, SOON) from error
    except (ValueError, EOFError) as error:
        raise UnreachableProgram(
            f"{address}: what listens there does not speak dynolog's protocol ({error}); its daemon listens on port 1778"
        ) from error
    return answer if isinstance(answer, dict) else {}


def _read_message(connection: socket.socket) -> bytes:
    (size,) = _LENGTH.unpack(_read_exactly(connection, _LENGTH.size))
    if not 0 < size <= _MOST_BYTES:
        raise ValueError(f"a message of {size} bytes")
    return _read_exactly(connection, size)


def _read_exactly(connection: socket.socket, size: int) -> bytes:
    deadline = time.monotonic() + SOON
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise EOFError(f"the connection was closed after {len(parts)} of {size} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
        parts += part
    return bytes(parts)
