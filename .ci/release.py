"""Whether a tag may be released: it names the version of the package, and the changelog has a dated section for it.

python .ci/release.py v1.2.3 prints that section; it ends with 1 and says why where the tag may not be released.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
SECTION = re.compile(r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>\S+))?$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d\d-\d\d")


def sections(changelog: str) -> dict[str, tuple[str | None, str]]:
    """Of each version its date, None where there is none, and what changed."""
    heads = list(SECTION.finditer(changelog))
    ends = [head.start() for head in heads[1:]] + [len(changelog)]
    return {
        head["name"]: (head["date"], changelog[head.end() : end].strip()) for head, end in zip(heads, ends, strict=True)
    }


def objection(tag: str, version: str, changelog: str) -> str | None:
    """Why the tag may not be released; None where it may."""
    if tag != f"v{version}":
        return f"the tag is {tag}, traceq/common/version.py says {version}: tag v{version}, or change the version"
    date, text = sections(changelog).get(version, (None, ""))
    if not text:
        return f"CHANGELOG.md has no section [{version}], or an empty one: rename [Unreleased]"
    if date is None or not DATE.fullmatch(date):
        return f"the section [{version}] of CHANGELOG.md has no date: write ## [{version}] - YYYY-MM-DD"
    return None


def main(tag: str) -> int:
    """Print the section of the release, or why there is none."""
    found = VERSION.search((ROOT / "traceq" / "common" / "version.py").read_text("utf-8"))
    version = found[1] if found else "not there"
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    reason = objection(tag, version, changelog)
    if reason is not None:
        print(f"{tag} cannot be released: {reason}", file=sys.stderr)
        return 1
    print(sections(changelog)[version][1])
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
