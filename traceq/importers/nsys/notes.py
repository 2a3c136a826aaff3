"""Oddities met while reading, counted by kind, as rows of `import_note`."""

from __future__ import annotations

from typing import Any


class Notes:
    """Counts by (severity, code, text), in the order in which they first turned up."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], int] = {}

    def info(self, code: str, count: int, text: str) -> None:
        """Something to know; nothing is lost."""
        self._add("info", code, count, text)

    def data_loss(self, code: str, count: int, text: str) -> None:
        """Something in the file that is not in the tables."""
        self._add("data_loss", code, count, text)

    def error(self, code: str, count: int, text: str) -> None:
        """The capture itself is incomplete or wrong."""
        self._add("error", code, count, text)

    def _add(self, severity: str, code: str, count: int, text: str) -> None:
        if count:
            key = (severity, code, text)
            self._counts[key] = self._counts.get(key, 0) + count

    def has(self, code: str) -> bool:
        """Whether a note of this code was made."""
        return any(seen == code for _, seen, _ in self._counts)

    def rows(self) -> list[dict[str, Any]]:
        """All notes so far, as rows of `import_note`."""
        return [
            {"severity": severity, "code": code, "count": count, "text": text}
            for (severity, code, text), count in self._counts.items()
        ]
