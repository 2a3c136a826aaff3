"""Addresses of programs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostPort:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def is_local(self) -> bool:
        """Return whether the host is this machine, by its usual names."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")
