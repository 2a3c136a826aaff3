"""Who is asked for a trace: the words of --attach as a kind of program, an address and a process."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from traceq.capture.attach import http
from traceq.capture.attach.address import HostPort
from traceq.errors import UnreachableProgram, WrongUse

# Kinds of programs that are asked, with the port that each listens on where nothing else is said.
PORTS = {"dynolog": 1778, "ray": 8265, "sglang": 30000, "vllm": 8000}

_FORMS = "a process id, dynolog[:HOST:PORT], vllm[:HOST:PORT], sglang[:HOST:PORT], ray[:HOST:PORT], or http://HOST:PORT"


@dataclass(frozen=True)
class Target:
    """A kind of program (a key of PORTS) at an address, or the process `pid` of this machine."""

    kind: str
    address: HostPort
    pid: int | None = None


def parse_target(text: str) -> Target:
    """Return the target that `text` names; for an http address without a kind, the server is asked what it is.

    Raises WrongUse where it names none, UnreachableProgram where the server does not answer.
    """
    if text.isascii() and text.isdigit():
        return Target(f"pid{text}", HostPort("localhost", 0), int(text))
    kind, _, rest = text.partition(":")
    if kind in PORTS:
        return Target(kind, _parse_address(rest, PORTS[kind], text))
    if kind == "https":
        raise WrongUse(
            f"--attach {text}: only plain http is spoken; give the address behind the proxy, http://HOST:PORT"
        )
    if kind != "http" and not (rest.isascii() and rest.isdigit()):
        raise WrongUse(f"--attach {text}: not known; give {_FORMS}")
    address = _parse_address(text, 80, text)
    return Target(_recognize_server(address), address)


def _parse_address(text: str, port: int, whole: str) -> HostPort:
    """Return the address of [http://]HOST[:PORT][/...], localhost and `port` for what lacks; `whole` is for the message."""
    try:
        parts = urlsplit(text if "://" in text else f"//{text.removeprefix('//')}")
        return HostPort(parts.hostname or "localhost", parts.port or port)
    except ValueError as error:
        raise WrongUse(f"--attach {whole}: no address: {error}; give {_FORMS}") from error


def _recognize_server(address: HostPort) -> str:
    """Return what serves at the address, by a question that only servers of its kind answer."""
    if "ray_version" in http.request_json(address, "GET", "/api/version"):
        return "ray"
    if "model_path" in http.request_json(address, "GET", "/get_model_info"):
        return "sglang"
    if "version" in http.request_json(address, "GET", "/version"):
        return "vllm"
    raise UnreachableProgram(
        f"{address}: answers, but is no vLLM, SGLang or Ray dashboard that is known; name what it is: vllm:{address}"
    )
