"""What a program prints of its training: which values are read of a line, and that what it prints stays as it is."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from traceq.capture import prints
from traceq.capture.printed_lines import may_have_value, parse_line

ROOT = Path(__file__).parents[2]

LINES = [
    ("iter 10: loss 2.3123, time 135.21ms, mfu 12.34%", 10, {"loss": 2.3123, "step_time": 135.21e6, "mfu": 0.1234}),
    ("step 0: train loss 4.28, val loss 4.27", 0, {"loss": 4.28}),
    (
        (
            " [2024-05-01 12:03:04] iteration        5/     500 | consumed samples:         1280 | elapsed time per iteration "
            "(ms): 812.3 | learning rate: 1.5E-04 | lm loss: 6.1E+00 | loss scale: 65536.0 | grad norm: 1.234 |"
        ),
        5,
        {"loss": 6.1, "step_time": 812.3e6, "learning_rate": 1.5e-4, "gradient_norm": 1.234},
    ),
    ("{'loss': 1.2345, 'grad_norm': 3.21, 'learning_rate': 4.9e-05, 'epoch': 0.02}", None,
     {"loss": 1.2345, "gradient_norm": 3.21, "learning_rate": 4.9e-05}),
    ("{'loss': '1.2345', 'grad_norm': '3.21'}", None, {"loss": 1.2345, "gradient_norm": 3.21}),
    ("{'eval_loss': 1.1, 'eval_samples_per_second': 43.1, 'eval_steps_per_second': 5.4}", None, {}),
    ("{'train_samples_per_second': 33.2, 'train_steps_per_second': 4.1}", None, {"samples/s": 33.2, "it/s": 4.1}),
    (" 45%|####      | 45/100 [00:03<00:04, 12.3it/s, loss=0.512]", 45, {"it/s": 12.3, "loss": 0.512}),
    (" 45%|####      | 45/100 [01:03<01:04,  1.5s/it, loss=0.512]", 45, {"step_time": 1.5e9, "loss": 0.512}),
    ("Epoch 0:  50%|#####     | 500/1000 [00:10<00:10, 49.20it/s, v_num=0, train_loss=0.300]", 500, {"it/s": 49.2, "loss": 0.3}),
    ("Epoch 0/1 ━━━ 500/1000 0:00:10 • 0:00:10 49.2it/s v_num: 0.000 train_loss: 0.3", 500, {"it/s": 49.2, "loss": 0.3}),
    ("INFO 05-01 12:00:00 metrics.py:341] Avg prompt throughput: 105.0 tokens/s, Avg generation throughput: 23.1 tokens/s, ...",
     None, {"prompt_throughput": 105.0, "generation_throughput": 23.1}),
    ("Epoch: [0][  10/5005]\tTime  0.215 (  0.678)\tData  0.001 (  0.412)\tLoss 6.9877e+00 (7.0012e+00)", None,
     {"step_time": 0.215e9, "loss": 6.9877}),
    ("Epoch [1][50/7330]  lr: 1.978e-03, eta: 4:03:12, time: 0.345, data_time: 0.052, memory: 3803, loss: 0.53", None,
     {"step_time": 0.345e9, "learning_rate": 1.978e-3, "loss": 0.53}),
    ("| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 12.34 | loss  7.12 | ppl  1234.56", None,
     {"step_time": 12.34e6, "learning_rate": 20.0, "loss": 7.12}),
    ("1875/1875 ━━━━━ 3s 2ms/step - accuracy: 0.8 - loss: 0.4", None, {"step_time": 2e6, "loss": 0.4}),
    ("step  100 | loss: 3.45 | lr 6.0000e-04 | dt: 95.31ms | tok/sec: 171,912.34", 100,
     {"loss": 3.45, "learning_rate": 6e-4, "step_time": 95.31e6, "tokens/s": 171912.34}),
    ("step=3 step_time_ms=12.5", 3, {"step_time": 12.5e6}),
    ("\x1b[32mstep 5\x1b[0m \x1b[1mloss\x1b[0m: \x1b[31m0.5\x1b[0m", 5, {"loss": 0.5}),
    # no values of a step
    ("2024-05-01 12:03:04 time: 1714564984", None, {}),
    ("connect time=0.2 s, inference time 0.4 s, request time: 3 ms", None, {}),
    ("total time 12.3 s, val loss: 0.3, best loss 0.2, loss: nan", None, {}),
    ("Downloading: 100%|##| 12.3M/12.3M [00:01<00:00, 9.2MB/s]", None, {}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "step", "values"), LINES)
def test_lines_of_frameworks_are_understood(line, step, values):
    parsed = parse_line(line)
    named = {unit if quantity == "throughput" else quantity: value for quantity, value, unit in parsed.values}
    assert named == pytest.approx(values)
    assert parsed.step == step or not values
    assert may_have_value(line) or not values


show = print  # the one thing that these tests are about


class Terminal(io.TextIOWrapper):
    """A stream as sys.stdout is, whose bytes can be looked at."""

    def __init__(self):
        super().__init__(io.BytesIO(), "utf-8", write_through=True, newline="")


@pytest.fixture
def watch(monkeypatch):
    """Covers stand-ins of stdout and stderr, with a program that has ended three steps; returns what keeps the lines."""
    made = prints.PrintedLines(lambda: 3)

    def begin():
        # Within the test: pytest sets its own streams before.
        monkeypatch.setattr(sys, "stdout", Terminal())
        monkeypatch.setattr(sys, "stderr", Terminal())
        made.watch_streams()
        return made

    yield begin
    made.stop_reading()


def list_values(kept, path):
    kept.window_opens()
    kept.window_closes()
    kept.keep_at(path)
    rows = json.loads(path.read_text())["values"] if path.exists() else []
    return [tuple(row[1:]) for row in rows]


def test_values_are_kept_and_what_is_printed_stays_as_it_was(watch, tmp_path):
    watched = watch()
    stream, written = sys.stdout, []
    assert (type(stream), stream.isatty(), stream.closed) == (Terminal, False, False)
    written.append(stream.write("iter 1: loss "))
    show("2.5", "time 12.0ms", sep=", ")
    show("\x1b[1mno values here\x1b[0m\n", end="")
    stream.writelines(["loss=", "3.5\n"])
    assert written == [len("iter 1: loss ")]
    assert stream.buffer.getvalue() == b"iter 1: loss 2.5, time 12.0ms\n\x1b[1mno values here\x1b[0m\nloss=3.5\n"
    assert list_values(watched, tmp_path / "values.json") == [
        (0, 1, 3, "loss", 2.5, None), (0, 1, 3, "step_time", 12e6, "ns"), (1, None, 3, "loss", 3.5, None),
    ]  # fmt: skip


def test_a_progress_bar_counts_once_each_time_it_changes(watch, tmp_path):
    watched = watch()
    for done in (1, 1, 2):
        sys.stderr.write(f"\r 10%|#  | {done}/10 [00:01<00:09, 12.0it/s, loss=0.{done}]")
    sys.stderr.write("\n")
    assert [row[1] for row in list_values(watched, tmp_path / "values.json") if row[3] == "loss"] == [1, 2]


def test_a_log_in_a_file_is_read_and_one_on_the_screen_as_well_counts_once(watch, tmp_path, monkeypatch):
    watched = watch()
    log = logging.getLogger("a training")
    log.setLevel(logging.INFO)
    monkeypatch.setattr(log, "handlers", [])
    log.addHandler(file := logging.FileHandler(tmp_path / "log"))
    log.info("step %d loss %.1f", 4, 0.5)
    log.addHandler(logging.StreamHandler())
    log.info("step %d loss %.1f", 5, 0.25)
    file.close()
    assert (tmp_path / "log").read_text() == "step 4 loss 0.5\nstep 5 loss 0.2\n"
    assert list_values(watched, tmp_path / "values.json") == [
        (0, 4, 3, "loss", 0.5, None), (1, 5, 3, "loss", 0.2, None),
    ]  # fmt: skip


def test_no_text_of_the_program_is_kept(watch, tmp_path):
    watched = watch()
    show("secret_project step 7 loss: 0.5 for alice at /home/alice")
    list_values(watched, tmp_path / "values.json")
    kept = (tmp_path / "values.json").read_text()
    assert "0.5" in kept
    assert not any(word in kept for word in ("secret", "alice", "home"))


def test_lines_after_the_recording_are_added_up_to_a_limit(watch, tmp_path):
    watched = watch()
    path = tmp_path / "values.json"
    show("loss 0.5")
    assert len(list_values(watched, path)) == 1
    for number in range(prints._MOST_LINES + 5):
        show(f"loss {number}.25")
    assert len(json.loads(path.read_text())["values"]) == 1 + prints._MOST_LINES
    assert "write" not in vars(sys.stdout)


def test_memory_is_bounded_whatever_is_printed(watch, tmp_path):
    watched = watch()
    for number in range(2 * prints._MOST_LINES):
        show(f"loss {number}.0")
    show("loss 1.0 " * 100_000)
    sys.stdout.write("loss 2.0 " * 1000)
    sys.stdout.write("\n")
    values = list_values(watched, tmp_path / "values.json")
    assert len(values) == prints._MOST_LINES
    assert values[-1][4] == 2 * prints._MOST_LINES - 1


def test_stopped_streams_are_as_before_and_a_cover_of_the_program_stays(watch):
    watched = watch()
    covered, first = [], sys.stdout.write
    sys.stdout.write = lambda text: covered.append(first(text))
    watched.stop_reading()
    show("loss 0.5")
    assert "write" not in vars(sys.stderr)
    assert covered == [8, 1]
    assert logging.FileHandler.emit.__module__ == "logging"


def test_a_stream_of_the_program_takes_what_it_took_before(watch, monkeypatch):
    watched = watch()
    watched.stop_reading()

    class Tee(io.StringIO):
        def write(self, text, flush=False):
            return super().write(f"{text}!" if flush else text)

    tee = Tee()
    monkeypatch.setattr(sys, "stdout", tee)
    watched.watch_streams()
    assert (sys.stdout.write("a", flush=True), sys.stdout.write(text="b")) == (2, 1)
    watched.stop_reading()
    assert tee.getvalue() == "a!b"


def test_a_stream_that_cannot_be_covered_is_left_alone(monkeypatch):
    class Fixed:
        __slots__ = ()

        def write(self, text):
            return len(text)

    monkeypatch.setattr(sys, "stdout", Fixed())
    monkeypatch.setattr(sys, "stderr", None)
    kept = prints.PrintedLines(int)
    kept.watch_streams()
    assert sys.stdout.write("loss 1.0\n") == 9
    kept.stop_reading()


ON_A_TERMINAL = """
import os, sys
sys.path.insert(0, {root!r})
from traceq.capture.prints import PrintedLines
kept = PrintedLines(int)
kept.watch_streams()
print("\\x1b[31mstep 1 loss 0.5\\x1b[0m\\rx", sys.stdout.isatty(), sys.stdout.fileno(), flush=True)
child = os.fork()
if not child:
    kept.drop_lines()
    print("loss 9.0", flush=True)
    os._exit(0)
os.waitpid(child, 0)
kept.window_opens(); kept.window_closes()
from pathlib import Path
kept.keep_at(Path({path!r}))
print("loss 0.25", flush=True)
"""


def test_a_program_on_a_terminal_sees_a_terminal_and_a_forked_child_adds_nothing(tmp_path):
    path = tmp_path / "values.json"
    outer, inner = os.openpty()
    code = ON_A_TERMINAL.format(root=str(ROOT), path=str(path))
    subprocess.run([sys.executable, "-c", code], stdout=inner, check=True, timeout=60)
    os.close(inner)
    shown = os.read(outer, 1 << 12)
    os.close(outer)
    assert shown == b"\x1b[31mstep 1 loss 0.5\x1b[0m\rx True 1\r\nloss 9.0\r\nloss 0.25\r\n"
    assert [row[5] for row in json.loads(path.read_text())["values"]] == [0.5, 0.25]
