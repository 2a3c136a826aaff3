"""The commit and branch of a program: what a CI system says, else git in the current folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

_COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "BUILD_SOURCEVERSION")
_BRANCHES = (
    *("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "GIT_BRANCH", "BUILDKITE_BRANCH", "CIRCLE_BRANCH"),
    "BUILD_SOURCEBRANCHNAME",
)
# Seconds; a repository on a slow disk must not hold up what is added.
_PATIENCE = 5
_FIELDS = 2


class ProgramCommit(NamedTuple):
    """A commit (full hash), its branch, and when it was made; each None where not known."""

    commit: str | None = None
    branch: str | None = None
    made_at: datetime | None = None


UNKNOWN = ProgramCommit()


def find_origin(environment: Mapping[str, str] = os.environ) -> ProgramCommit:
    """Return the commit that a CI system names in `environment`, else the one that git has checked out here.

    Without either, or without git, all of it is None.
    """
    commit = next((value for name in _COMMITS if (value := environment.get(name))), None)
    if commit is not None:
        return ProgramCommit(commit, next((value for name in _BRANCHES if (value := environment.get(name))), None))
    shown = _ask_git("log", "-1", "--no-show-signature", "--format=%H %ct").split()
    if len(shown) != _FIELDS or not shown[1].isdecimal():
        return UNKNOWN
    branch = _ask_git("symbolic-ref", "--quiet", "--short", "HEAD")
    return ProgramCommit(shown[0], branch or None, datetime.fromtimestamp(int(shown[1]), UTC))


def _ask_git(*words: str) -> str:
    """Return what git prints for these words in the current folder; empty where it fails or is not installed."""
    # Nothing that a repository's own settings name is run.
    command = ["git", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
