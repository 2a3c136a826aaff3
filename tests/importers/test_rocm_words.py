"""A report on a program that ran on AMD GPUs, which has no CUDA."""

from __future__ import annotations

import re

import pytest
from rocm_files import make_rocprofv3, write_file, write_rocpd, write_rpd

import traceq

FILES = {
    "rocprofv3": lambda folder: write_file(folder / "a.json", make_rocprofv3()),
    "rocpd": lambda folder: write_rocpd(folder / "a.db"),
    "rpd": lambda folder: write_rpd(folder / "a.rpd"),
}


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_its_pages_say_nothing_of_cuda(tmp_path, make):
    """Legends spoke of CUDA calls (D27)."""
    with traceq.open(make(tmp_path)) as traces:
        page = traces.report().to_html()
    visible = re.sub(r"<(script|style|pre)\b.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert "hip" in visible
    assert not re.search(r"CUDA", visible)
