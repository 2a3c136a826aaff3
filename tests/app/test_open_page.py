from __future__ import annotations

import html
import os
import re
import shutil
import stat
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from handmade_job import rank_trace

from traceq.app.open_page import open_page, start_browser, watch_folder
from traceq.app.read_options import ReadOptions
from traceq.errors import StoreError, UnusableTrace, WrongUse

RUN = Path(__file__).parents[2] / "fixtures" / "run"
TRACE = RUN / "kineto_2026.json.gz"
READ = ReadOptions(cache=False)


class Stop(Exception):
    """Ends a command that would go on."""


class Browser:
    """Stand in for a browser: look at the command's page whenever the command waits."""

    def __init__(self, *deeds):
        self.address = None
        self.lines = []
        self.seen = []
        self._deeds = iter(deeds)

    def ready(self, address, link):
        self.address = address
        self.link = link

    def say(self, line):
        self.lines.append(line)

    def wait(self):
        self.seen.append(self.get())
        deed = next(self._deeds, None)
        if deed is None:
            raise Stop
        deed()

    def get(self, name=""):
        with urlopen(self.address + name, timeout=30) as answer:  # noqa: S310 - of this machine
            return answer.read().decode()


def open_with(browser, source, **options):
    with pytest.raises(Stop):
        open_page(source, READ, ready=browser.ready, wait=browser.wait, **options)
    return browser.seen


def watch_with(browser, folder):
    with pytest.raises(Stop):
        watch_folder(folder, READ, ready=browser.ready, say=browser.say, wait=browser.wait)
    return browser.seen


def test_a_trace_is_reported_on():
    (page,) = open_with(Browser(), TRACE)
    assert "<title>kineto_2026.json.gz. Fix first: " in page


def test_a_page_is_shown_as_it_is(tmp_path):
    (tmp_path / "r.HTML").write_text("<p>mine</p>")
    assert open_with(Browser(), tmp_path / "r.HTML") == ["<p>mine</p>"]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux says whose a connection is")
def test_the_link_for_the_browser_has_nothing_of_the_address_and_leads_there(tmp_path):
    """The arguments of the browser, which every user can list, held the address (`ps`)."""
    (tmp_path / "r.html").write_text("<p>mine</p>")

    def follow():
        with urlopen(browser.link, timeout=30) as answer:  # noqa: S310 - of this machine
            followed.append((answer.url, answer.read()))

    followed = []
    browser = Browser()
    open_page(tmp_path / "r.html", READ, ready=browser.ready, wait=follow)
    assert followed == [(browser.address, b"<p>mine</p>")]
    word = browser.address.rstrip("/").rpartition("/")[2]
    assert word not in browser.link


def test_what_cannot_be_shown_is_said_before_anything_is_served(tmp_path):
    (tmp_path / "r.html").write_text("<p>mine</p>")
    cases = [
        (tmp_path / "no.html", READ, StoreError, "no such page; write one: traceq report TRACE -o"),
        (tmp_path / "no.json", READ, UnusableTrace, "no such file"),
        (tmp_path / "r.html", ReadOptions(steps_per="2"), WrongUse, "is a page, whose steps are fixed"),
    ]
    for source, read, error, words in cases:
        browser = Browser()
        with pytest.raises(error, match=words):
            open_page(source, read, ready=browser.ready, wait=browser.wait)
        assert browser.address is None


def test_only_a_folder_is_followed():
    with pytest.raises(WrongUse, match="--watch follows a folder of traces"):
        watch_folder(TRACE, READ, ready=print, say=print)


def test_traces_are_listed_as_they_come(tmp_path):
    def copy(name, source):
        return lambda: shutil.copy(RUN / source, tmp_path / name)

    def break_off():
        (tmp_path / "bad.json").write_text('{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "<b>", "ts"')

    pages = []
    browser = Browser(
        copy("one.json.gz", TRACE.name),
        lambda: None,
        break_off,
        lambda: None,
        copy("two.json.gz", "kineto_2025_base_before.json.gz"),
        lambda: None,
        lambda: pages.extend(map(browser.get, ("1", "3"))),
    )
    seen = watch_with(browser, tmp_path)
    rows = [re.findall("<li>(.*?)<p>(.*?)</p>", page, re.DOTALL) for page in seen]
    assert [len(each) for each in rows] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert "No trace yet" in seen[0]
    two, bad, one = rows[-1]
    assert one[0] == '<a href="1"><bdi>one.json.gz</bdi></a>'
    assert one[1].startswith("Fix first: ")
    assert bad[0] == "<bdi>bad.json</bdi>"
    assert "Cannot be read:" in bad[1]
    assert two[0] == '<a href="3"><bdi>two.json.gz</bdi></a>'
    assert ["<title>one.json.gz. " in pages[0], "<title>two.json.gz. " in pages[1]] == [True, True]
    assert [line.partition(": ")[0] for line in browser.lines] == [
        str(tmp_path / name) for name in ("one.json.gz", "bad.json", "two.json.gz")
    ]
    assert all("\n" not in line for line in browser.lines)


def test_the_ranks_of_a_job_are_also_judged_together(tmp_path):
    """Each rank had a report of its own only, in which waiting for a late rank looks like slow transfers."""

    def write(*ranks, late=300, to="job"):
        (tmp_path / to).mkdir(exist_ok=True)
        for rank in ranks:
            (tmp_path / to / f"rank{rank}.json").write_text(rank_trace(rank, {2: late}, 10**18, ranks=3))

    def nothing():
        pass

    browser = Browser(
        lambda: (write(0, 1, 2), write(1, to="alone")),
        nothing,
        nothing,
        # ranks that are written again are judged again
        lambda: write(0, 1, 2, late=600),
        nothing,
        nothing,
        lambda: pages.append(browser.get("5")),
    )
    pages = []
    seen = watch_with(browser, tmp_path)
    rows = [re.findall("<li>.*?<bdi>(.*?)</bdi>", page, re.DOTALL) for page in seen]
    traces = ["job/rank2.json", "job/rank1.json", "job/rank0.json", "alone/rank1.json"]
    assert rows[2:4] == [traces, ["job: ranks 0-2 together", *traces]]
    assert sorted(rows[-1]) == sorted(rows[3])
    of_job = [line for line in browser.lines if line.startswith(f"{tmp_path / 'job'}: ")]
    saved = [re.search("Late ranks: the others wait for rank 2[^0-9]*(.*?) per step", line)[1] for line in of_job]
    assert len(set(saved)) == 2
    assert html.escape(saved[1]) in pages[0]


def test_a_trace_that_was_broken_is_read_when_it_is_complete(tmp_path):
    whole = TRACE.read_bytes()
    trace = tmp_path / "t.json.gz"
    trace.write_bytes(whole[:1_000])
    browser = Browser(
        lambda: None,
        lambda: trace.write_bytes(whole),
        lambda: None,
    )
    seen = watch_with(browser, tmp_path)
    assert len(browser.lines) == 2
    assert "Fix first: " not in browser.lines[0]
    assert "Fix first: " in browser.lines[1]
    assert seen[-1].count("<li>") == 1


def test_names_of_files_are_text(tmp_path):
    shutil.copy(TRACE, tmp_path / "<img src=x>\u202e.json.gz")
    seen = watch_with(Browser(lambda: None), tmp_path)
    assert "&lt;img src=x&gt;\\u202e.json.gz" in seen[-1]
    assert "<img" not in seen[-1]


@pytest.mark.skipif(os.name == "nt", reason="a script stands for the browser")
def test_the_browser_gets_the_link(tmp_path, monkeypatch):
    browser, told = tmp_path / "browser", tmp_path / "told"
    browser.write_text(f'#!/bin/sh\necho "$1" > {told}.part && mv {told}.part {told}\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    start_browser("http://127.0.0.1:1/link")
    for _ in range(600):
        if told.exists():
            break
        time.sleep(0.1)
    assert told.read_text() == "http://127.0.0.1:1/link\n"


@pytest.mark.skipif(os.name == "nt", reason="other systems always have one")
def test_without_windows_no_browser_is_started(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("traceq.app.open_page.sys.platform", "linux")
    monkeypatch.setattr("traceq.app.open_page.subprocess.run", None)
    monkeypatch.setattr("traceq.app.open_page.threading.Thread", None)
    start_browser("http://127.0.0.1:1/word/")
