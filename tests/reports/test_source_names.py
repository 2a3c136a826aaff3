"""Names of sources on pages: without folders, but for those that tell sources of the same name apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from traceq.common.text import shorten_sources


@pytest.mark.parametrize(
    ("sources", "names"),
    [
        ([], []),
        ([""], [""]),
        (["."], [Path.cwd().name]),
        (["https://host/x.json?signature=abc"], ["x.json"]),
        (["a.json"], ["a.json"]),
        (["/home/alice/a.json", "runs/b.json"], ["a.json", "b.json"]),
        (["s3://bucket/job/"], ["job"]),
        # the same one twice is no reason to tell more
        (["/home/alice/a.json", "/home/alice/a.json"], ["a.json", "a.json"]),
        (["/home/alice/old/a.json", "/home/alice/new/a.json"], ["old/a.json", "new/a.json"]),
        (["/home/alice/a.json", "a.json"], ["alice/a.json", "a.json"]),
    ],
)
def test_a_source_has_its_last_name_and_what_tells_it_apart(sources, names):
    assert shorten_sources(sources) == names
