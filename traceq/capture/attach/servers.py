"""Profiling of inference servers, through the addresses that they have for it: vLLM and SGLang."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from traceq.capture.attach import http
from traceq.capture.attach.address import HostPort
from traceq.capture.attach.arrivals import TraceFolder
from traceq.errors import UnreachableProgram, WrongUse

_START, _STOP = "/start_profile", "/stop_profile"

_Explain = Callable[[HostPort, http.Answer], UnreachableProgram]


def record_vllm(address: HostPort, folder: Path | None, *, seconds: float, patience: float) -> list[Path]:
    """Have vLLM record for some seconds, and return the traces that it wrote into its profiler's `folder`.

    Raises UnreachableProgram where it does not do so within `patience` seconds, WrongUse without a folder.
    """
    if folder is None:
        raise WrongUse(
            "vLLM does not tell where it writes traces: name the torch_profiler_dir of its --profiler-config (before 0.13: "
            "VLLM_TORCH_PROFILER_DIR): --trace-dir DIR"
        )
    traces = TraceFolder(folder)
    _start_profiler(address, None, patience, _explain_vllm)
    try:
        time.sleep(seconds)
    finally:
        # Also after Ctrl-C: nobody else would end it.
        answer = http.send_request(address, "POST", _STOP, seconds=patience)
    if answer.status != http.OK:
        raise UnreachableProgram(
            f"{address}: {_STOP} answered {answer.status}: {answer.join_words()}; see the server's log"
        )
    return traces.wait_for_traces(min(patience, 30.0))


def _explain_vllm(address: HostPort, answer: http.Answer) -> UnreachableProgram:
    if answer.status == http.NOT_FOUND:
        return UnreachableProgram(
            f"{address}: this vLLM was started without a profiler: start it with --profiler-config "
            '\'{"profiler": "torch", "torch_profiler_dir": "/tmp/traces"}\' (before 0.13: VLLM_TORCH_PROFILER_DIR=/tmp/traces)'
        )
    return UnreachableProgram(
        f"{address}: {_START} answered {answer.status}: {answer.join_words()}; see the server's log"
    )


def record_sglang(address: HostPort, folder: Path, *, steps: int, patience: float) -> list[Path]:
    """Have SGLang record some steps into `folder`, and return the traces that it wrote there.

    A step is a batch that the server runs: an idle server makes none. Raises UnreachableProgram where it does not start.
    """
    traces = TraceFolder(folder)
    body = {"output_dir": str(folder), "num_steps": steps, "activities": ["CPU", "GPU"], "record_shapes": True}
    deadline = time.monotonic() + patience
    # Some versions answer at once, some when the steps are done.
    _start_profiler(address, body, patience, _explain_sglang)
    found = traces.wait_for_traces(max(0.0, deadline - time.monotonic()))
    if not found:
        # Or it would go on with the next request, whenever that comes.
        with suppress(UnreachableProgram):
            http.send_request(address, "POST", _STOP)
        found = traces.wait_for_traces(min(patience, 10.0))
    return found


def _explain_sglang(address: HostPort, answer: http.Answer) -> UnreachableProgram:
    return UnreachableProgram(
        f"{address}: {_START} answered {answer.status}: {answer.join_words()}; where it profiles already, /stop_profile ends that"
    )


def _start_profiler(address: HostPort, body: object, seconds: float, explain: _Explain) -> None:
    answer = http.send_request(address, "POST", _START, body, seconds=seconds)
    if answer.status != http.OK:
        raise explain(address, answer)
