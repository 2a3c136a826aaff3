"""Training logs: what is read of them equals another reading; formats that only a TOML file declares; logs that are damaged."""

from __future__ import annotations

import csv
import json
import re
import struct
from pathlib import Path

import pytest

from traceq.errors import TraceqError, UnknownFormat, UnusableTrace
from traceq.importers.training_logs import is_training_log, read_training_log
from traceq.importers.training_logs.text_format import FOLDER, own_formats

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "fixtures" / "run_logs"


def series(path, quantity, formats=()):
    """The values of a quantity by step, the first of each."""
    found = {}
    for value in read_training_log(Path(path), formats).values:
        if value.quantity == quantity:
            found.setdefault(value.step, value.value)
    return found


def lines(name):
    return (LOGS / name).read_text(encoding="utf-8").splitlines()


def told(log):
    """All that a log says, one line each."""
    return [
        f"{v.line} {v.step} {v.quantity} {v.value:.6g}{'' if v.unit is None else ' ' + v.unit}" for v in log.values
    ] + [f"{e.line} {e.mark} {e.phase}{'' if e.detail is None else ' ' + e.detail}" for e in log.events]


# --- another reading


def split_at_bars(line):
    return dict(part.rsplit(":", 1) for part in line.split("|") if ":" in part and "(ms)" in part)


def test_step_times_of_megatron_are_those_between_its_bars():
    expected = {}
    for line in lines("megatron.log"):
        if " iteration " in line and "(ms):" in line:
            (said,) = split_at_bars(line).values()
            expected[int(line.split("iteration")[1].split("/")[0])] = float(said) * 1e6
    assert len(expected) == 60
    assert series(LOGS / "megatron.log", "step_time") == pytest.approx(expected)


def test_torchtitan_is_read_through_its_colours():
    expected = {}
    for line in lines("torchtitan.log"):
        words = line.replace("\x1b[39m", "").split()
        if "step:" in "".join(words):
            place = next(number for number, word in enumerate(words) if word.endswith("step:"))
            rate = words[next(number for number, word in enumerate(words) if word.endswith("tps:")) + 1]
            expected[int(words[place + 1])] = int(rate.replace(",", ""))
    assert len(expected) == 60
    assert series(LOGS / "torchtitan.log", "throughput") == expected
    assert set(series(LOGS / "torchtitan.log", "memory").values()) == {32.9 * 2**30}
    assert set(series(LOGS / "torchtitan.log", "mfu").values()) == {0.4148}


def test_step_times_of_deepspeed_and_nemo_are_those_behind_their_names():
    deepspeed = {
        int(line.split()[1]): float(line.split("iter time (s):")[1].split()[0]) * 1e9
        for line in lines("deepspeed.log")
        if line.startswith("steps:")
    }
    assert len(deepspeed) == 12
    assert series(LOGS / "deepspeed.log", "step_time") == pytest.approx(deepspeed)
    nemo = {
        int(line.split("global_step:")[1].split("|")[0]): float(line.split("timing in s:")[1].split("|")[0]) * 1e9
        for line in lines("nemo.log")
        if line.startswith("0:")
    }
    assert len(nemo) == 60
    assert series(LOGS / "nemo.log", "step_time") == pytest.approx(nemo)


def test_losses_of_the_hugging_face_trainer_are_at_the_steps_that_its_state_file_says():
    history = json.loads((LOGS / "trainer_state.json").read_text())["log_history"]
    state = {record["step"]: record["loss"] for record in history if "loss" in record}
    assert list(state) == [5, 10, 15, 20, 25, 30]
    assert series(LOGS / "trainer_state.json", "loss") == state
    printed = series(LOGS / "hugging_face.log", "loss")
    assert printed == pytest.approx(state, rel=1e-3)


def test_lightning_counts_on_over_epochs():
    with (LOGS / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["train_loss"]]
    assert series(LOGS / "metrics.csv", "loss") == {int(row["step"]): float(row["train_loss"]) for row in rows}
    assert [*series(LOGS / "lightning.log", "step_time")] == [*range(1, 31)]
    bars = re.findall(r"\| (\d+)/10 \[[^,]+, +([\d.]+)it/s(?:\]|, v)", (LOGS / "lightning.log").read_text())
    of_epoch = [1e9 / float(rate) for number, rate in bars if number == "7" and float(rate) < 100]
    assert series(LOGS / "lightning.log", "step_time")[7] in of_epoch


def test_json_lines_are_those_of_the_file():
    records = [json.loads(line) for line in lines("metrics.jsonl")]
    assert series(LOGS / "metrics.jsonl", "step_time") == pytest.approx(
        {each["step"]: each["step_time_ms"] * 1e6 for each in records}
    )
    log = read_training_log(LOGS / "metrics.jsonl")
    assert log.clock == "utc"
    assert {value.at_ns for value in log.values} == {round(each["timestamp"] * 1e9) for each in records}


def test_the_history_of_wandb_is_what_stands_behind_its_names_in_the_file():
    content = (LOGS / "run.wandb").read_bytes()
    losses = re.findall(rb"\x12\ntrain/loss\x82\x01.([\d.e+-]+)", content, re.DOTALL)
    times = re.findall(rb"\x12\n_timestamp\x82\x01.([\d.e+]+)", content, re.DOTALL)
    # each stands there twice, as the summary of the run so far repeats it
    assert len(set(losses)) == 30
    assert series(LOGS / "run.wandb", "loss") == dict(enumerate(map(float, dict.fromkeys(losses)), start=1))
    log = read_training_log(LOGS / "run.wandb")
    assert {value.at_ns for value in log.values} == {round(float(each) * 1e9) for each in times}


def test_scalars_of_tensorboard_are_what_stands_behind_their_tags_in_the_file():
    content = (LOGS / "events.out.tfevents.1.host").read_bytes()
    found = [struct.unpack("<f", each)[0] for each in re.findall(rb"Loss/train\x15(....)", content, re.DOTALL)]
    assert len(found) == 30
    assert series(LOGS / "events.out.tfevents.1.host", "loss") == dict(enumerate(found, start=1))
    assert len(series(LOGS / "events.out.tfevents.1.host", "learning_rate")) == 30, "scalars in tensors"


def test_tensorboard_reads_the_same():
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    accumulator = accumulators.EventAccumulator(str(LOGS / "events.out.tfevents.1.host")).Reload()
    events = accumulator.Scalars("Loss/train")
    assert series(LOGS / "events.out.tfevents.1.host", "loss") == {event.step: event.value for event in events}


def test_events_of_a_restarted_run():
    log = read_training_log(LOGS / "restarted.log")
    assert [line for line in told(log) if " moment " in line or "restart" in line] == [
        "60 moment failure out of GPU memory",
        "61 begin restart",
    ]
    assert (log.gpus, log.clock, log.left_out) == (8, "local", 0)


def test_events_of_torchtitan():
    log = read_training_log(LOGS / "torchtitan.log")
    assert [(event.mark, event.phase, event.dur_ns) for event in log.events] == [
        ("begin", "start_up", None),
        ("moment", "compile", None),
        ("end", "start_up", None),
        ("interval", "checkpoint", 1_250_000_000),
    ]
    (saved,) = (event for event in log.events if event.phase == "checkpoint")
    (forty,) = {value.at_ns for value in log.values if value.step == 40}
    assert saved.at_ns == forty, "an interval that its line ends begins before it"


# --- formats that only a file declares

MAXTEXT = """\
I0101 10:00:01.000000 1 train.py:100] System Information: Jax Version: 0.7
completed step: 0, seconds: 45.120, TFLOP/s/device: 1.204, Tokens/s/device: 23.100, total_weights: 65536, loss: 10.871
completed step: 1, seconds: 0.512, TFLOP/s/device: 106.100, Tokens/s/device: 2000.000, total_weights: 65536, loss: 10.500
completed step: 2, seconds: 0.510, TFLOP/s/device: 106.500, Tokens/s/device: 2007.843, total_weights: 65536, loss: 10.125
"""

FAIRSEQ = """\
2026-01-01 10:00:00 | INFO | fairseq_cli.train | training on 8 devices (GPUs/TPUs)
2026-01-01 10:01:40 | INFO | train_inner | epoch 001:    100 / 5000 loss=12.5, ppl=5792, wps=32768, ups=1, lr=1.25e-05, gnorm=3.5
2026-01-01 10:02:30 | INFO | train_inner | epoch 001:    200 / 5000 loss=10.25, ppl=1217, wps=65536, ups=2, lr=2.5e-05, gnorm=2
2026-01-01 10:02:30 | INFO | fairseq.checkpoint_utils | Preparing to save checkpoint for epoch 1 @ 200 updates
2026-01-01 10:02:42 | INFO | fairseq.checkpoint_utils | Saved checkpoint checkpoint_1_200.pt (epoch 1 @ 200 updates)\
 (writing took 12.5 seconds)
"""
FAIRSEQ_TOML = r"""
name = "fairseq"
gpus = 'training on (?P<gpus>\d+) devices'
[time]
pattern = '^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \|'
zone = "+01:00"
[[line]]
pattern = '\| train_inner \| epoch \d+: +(?P<step>\d+) / \d+ '
also = ['loss=(?P<loss>{number})', 'wps=(?P<wps>{number})', 'ups=(?P<ups>{number})', 'gnorm=(?P<gradient_norm>{number})']
[quantity]
wps = { is = "throughput", unit = "tokens/s" }
ups = { is = "step_time", unit = "it/s" }
[[event]]
pattern = 'Saved checkpoint .*@ (?P<step>\d+) updates.*writing took (?P<duration>{number}) seconds'
phase = "checkpoint"
mark = "interval"
"""

DETECTRON = """\
[01/05 09:59:00 d2.engine.train_loop]: Starting training from iteration 0
[01/05 10:00:00 d2.utils.events]:  eta: 0:09:51  iter: 19  total_loss: 1.25  time: 0.3012  data_time: 0.0123  max_mem: 3000M
[01/05 10:00:06 d2.utils.events]:  eta: 0:09:40  iter: 39  total_loss: 1.125  time: 0.3000  data_time: 0.0101  max_mem: 3001M
"""
DETECTRON_TOML = r"""
name = "detectron2"
[time]
pattern = '^\[(?P<time>\d\d/\d\d \d\d:\d\d:\d\d) '
format = "%m/%d %H:%M:%S"
year = 2026
[[line]]
pattern = 'iter: (?P<step>\d+) +total_loss: (?P<loss>{number}).* time: (?P<step_time>{number})'
also = ['max_mem: (?P<memory>{number})M']
[quantity]
memory = { unit = "MiB" }
"""


def of_the_docs():
    """The example of docs/run-logs.md."""
    page = (ROOT / "docs" / "run-logs.md").read_text(encoding="utf-8")
    return page.split("```toml\n")[1].split("```")[0]


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_maxtext_is_read_by_the_example_of_the_docs_alone(tmp_path):
    log = written(tmp_path, "train.log", MAXTEXT)
    with pytest.raises(UnknownFormat, match="--log-format"):
        read_training_log(log)
    form = written(tmp_path, "maxtext.toml", of_the_docs())
    assert series(log, "step_time", [form]) == {0: 45.12e9, 1: 0.512e9, 2: 0.51e9}
    assert series(log, "loss", [form]) == {0: 10.871, 1: 10.5, 2: 10.125}
    assert series(log, "throughput", [form]) == {0: 23.1, 1: 2000, 2: 2007.843}


def test_fairseq_is_read_by_a_file_alone(tmp_path):
    log = read_training_log(written(tmp_path, "x.log", FAIRSEQ), [written(tmp_path, "fairseq.toml", FAIRSEQ_TOML)])
    assert told(log) == [
        "2 100 loss 12.5",
        "2 100 throughput 32768 tokens/s",
        "2 100 step_time 1e+09 ns",
        "2 100 gradient_norm 3.5",
        "3 200 loss 10.25",
        "3 200 throughput 65536 tokens/s",
        "3 200 step_time 5e+08 ns",
        "3 200 gradient_norm 2",
        "5 interval checkpoint",
    ]
    assert (log.format, log.clock, log.gpus) == ("fairseq", "utc", 8)
    assert log.events[0].at_ns == log.values[-1].at_ns + 12_000_000_000 - 12_500_000_000


def test_detectron2_is_read_by_a_file_in_a_folder(tmp_path, monkeypatch):
    folder = tmp_path / "formats"
    folder.mkdir()
    written(folder, "detectron2.toml", DETECTRON_TOML)
    monkeypatch.setenv(FOLDER, str(folder))
    log = read_training_log(written(tmp_path, "x.log", DETECTRON))
    assert (log.format, log.clock) == ("detectron2", "local")
    assert series(tmp_path / "x.log", "step_time") == {19: 0.3012e9, 39: 0.3e9}
    assert series(tmp_path / "x.log", "memory") == {19: 3000 << 20, 39: 3001 << 20}
    first, last = log.values[0].at_ns, log.values[-1].at_ns
    assert (last - first, first) == (6_000_000_000, 1767607200_000_000_000)
    monkeypatch.setenv(FOLDER, str(tmp_path / "none"))
    with pytest.raises(UnusableTrace, match="no such folder"):
        read_training_log(tmp_path / "x.log")


LINE = "[[line]]\npattern = 'step (?P<step>\\d+) loss (?P<loss>{number})'\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "no TOML"),
        (LINE, "the file missing required field `name`"),
        ("name = 'My Format'\n" + LINE, "name: 'My Format' is not of small letters"),
        ("name = 'x'\n", r"has no \[\[line\]\]"),
        ("name = 'x'\npaterns = 1\n", "unknown field `paterns`"),
        ("name = 'x'\n[[line]]\npattern = '('\n", r"line\[0\].pattern: '\(' is not a regular expression"),
        ("name = 'x'\n[[line]]\npattern = '(?P<step>\\d*)'\n", "also matches an empty line"),
        ("name = 'x'\n[[line]]\npattern = 'step (?P<step>\\d+)'\n", "no group that is a quantity"),
        ("name = 'x'\n[[line]]\npattern = 'loss (?P<loss>{number})'\n", r"no group \(\?P<step>"),
        ("name = 'x'\n" + LINE + "[quantity]\nmemory = {unit = 'GB'}\n", r"no pattern of a \[\[line\]\] has a group"),
        ("name = 'x'\n" + LINE.replace("loss>", "step_time>") + "[quantity]\nstep_time = {unit = 'm'}\n", "'m' is none of ns"),
        ("name = 'x'\n" + LINE + "[quantity]\nloss = {scale = 0}\n", "0.0 is not above 0"),
        ("name = 'x'\n" + LINE + "[time]\npattern = '^(?P<time>\\S+)'\nformat = '%H:%M:%S'\n", "no month and day"),
        ("name = 'x'\n" + LINE + "[time]\npattern = '^(?P<time>\\S+)'\nformat = '%m/%d %H:%M'\n", "has no year"),
        ("name = 'x'\n" + LINE + "[time]\npattern = '^(?P<time>\\S+)'\nzone = 'CET'\n", "'CET' is not utc, local"),
        ("name = 'x'\n" + LINE + "[time]\npattern = '^\\S+'\n", r"no group \(\?P<time>"),
        ("name = 'x'\n" + LINE + "[[event]]\npattern = 'saved'\nphase = 'saving'\nmark = 'end'\n", "Invalid enum value 'saving'"),
        ("name = 'x'\n" + LINE + "[[event]]\npattern = 'saved'\nphase = 'checkpoint'\nmark = 'interval'\n", "group .*duration"),
        (
            "name = 'x'\n" + LINE + "[[event]]\npattern = 'saved (?P<what>.)'\nphase = 'checkpoint'\nmark = 'end'\n",
            "'what' is none of step, time, duration, detail",
        ),
    ],
)  # fmt: skip
def test_a_wrong_file_of_a_format_is_told_by_file_and_key(text, said, tmp_path):
    form = written(tmp_path, "mine.toml", text)
    with pytest.raises(UnusableTrace, match=said) as caught:
        read_training_log(LOGS / "megatron.log", [form])
    assert str(form) in str(caught.value)


def test_two_files_of_one_name_are_refused_and_one_of_a_known_name_replaces_that(tmp_path):
    mine = written(tmp_path, "mine.toml", "name = 'megatron'\n" + LINE)
    other = written(tmp_path, "other.toml", "name = 'megatron'\n" + LINE)
    with pytest.raises(UnusableTrace, match="another --log-format"):
        read_training_log(LOGS / "megatron.log", [mine, other])
    with pytest.raises(UnknownFormat):
        read_training_log(LOGS / "megatron.log", [mine])


# --- damaged logs


def entries(log):
    return {(v.line, v.step, v.quantity, v.value) for v in log.values}


@pytest.mark.parametrize(
    "name", ["megatron.log", "nemo.log", "deepspeed.log", "metrics.jsonl", "metrics.csv", "torchtitan.log"]
)
def test_a_log_that_is_cut_anywhere_says_nothing_that_the_whole_does_not(name, tmp_path):
    content = b"".join((LOGS / name).read_bytes().splitlines(keepends=True)[:12])
    whole = entries(read_training_log(LOGS / name))
    path = tmp_path / "cut.log"
    for size in range(len(content) // 3, len(content), 7):
        path.write_bytes(content[:size])
        assert entries(read_training_log(path)) <= whole, size


@pytest.mark.parametrize("name", ["run.wandb", "events.out.tfevents.1.host"])
def test_a_binary_log_that_is_cut_or_changed_is_read_as_far_as_it_goes(name, tmp_path):
    content = (LOGS / name).read_bytes()
    whole = entries(read_training_log(LOGS / name))
    path = tmp_path / "cut"
    for size in range(3000, len(content), 101):
        path.write_bytes(content[:size])
        log = read_training_log(path)
        assert entries(log) <= whole
        assert log.values
    for at in range(200, len(content), 199):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        assert is_training_log(path)
        read_training_log(path)


def test_text_in_utf_16_and_with_windows_line_ends_says_the_same(tmp_path):
    text = (LOGS / "megatron.log").read_text()
    (tmp_path / "wide.log").write_bytes(text.encode("utf-16"))
    (tmp_path / "windows.log").write_bytes(text.replace("\n", "\r\n").encode())
    expected = told(read_training_log(LOGS / "megatron.log"))
    assert told(read_training_log(tmp_path / "wide.log")) == expected
    assert told(read_training_log(tmp_path / "windows.log")) == expected


def test_lines_of_other_programs_and_huge_ones_are_passed_over(tmp_path):
    text = lines("megatron.log")
    noise = ["x" * 3_000_000, "\x00\x01\x02", "node1:12:34 [0] NCCL INFO Channel 00 : 0 1 2", "é" * 100]
    path = written(
        tmp_path, "noisy.log", "\n".join(line for pair in zip(text, noise * 20, strict=False) for line in pair)
    )
    assert series(path, "step_time") == series(LOGS / "megatron.log", "step_time")


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\xff\xfe", b"\x00" * 1000, b"hello\n", b"[]", b"{}", b":W&", b"step,\n"]
)
def test_what_is_no_log_is_unknown(content, tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes(content)
    assert not is_training_log(path)
    with pytest.raises(TraceqError, match=r"not a training log|says nothing"):
        read_training_log(path)


def test_numbers_that_are_none_are_left_out_and_counted(tmp_path):
    line = " iteration {}/ 10 | elapsed time per iteration (ms): {} | lm loss: {} | grad norm: 1.5 |"
    text = "\n".join([
        line.format(1, "100.0", "nan"), line.format(2, "inf", "2.5"), line.format(3, "1e400", "2.5"),
        line.format(4, "0.0", "2.5"), line.format("9" * 30, "1.0", "1.0"), line.format(5, "-5.0", "-2.5"),
    ])  # fmt: skip
    log = read_training_log(written(tmp_path, "x.log", text + "\n"))
    assert told(log) == [
        "1 1 step_time 1e+08 ns",
        "1 1 gradient_norm 1.5",
        "2 2 loss 2.5",
        "2 2 gradient_norm 1.5",
        "3 3 loss 2.5",
        "3 3 gradient_norm 1.5",
        "4 4 loss 2.5",
        "4 4 gradient_norm 1.5",
        "6 5 loss -2.5",
        "6 5 gradient_norm 1.5",
    ]
    assert log.left_out == 6
    records = '{"step": 1, "loss": NaN, "step_time_ms": 1e400}\n{"step": 2, "loss": 1.5, "step_time_ms": 20}\n'
    log = read_training_log(written(tmp_path, "x.jsonl", records))
    assert told(log) == ["2 2 loss 1.5", "2 2 step_time 2e+07 ns"]
    assert log.left_out == 2


def test_of_several_ranks_the_lowest_is_read_and_failures_of_all(tmp_path):
    text = "[rank3]:{}\n[rank1]:{}\n[rank3]: Traceback (most recent call last):\n"
    line = "[titan] 2026-01-01 10:00:00,123 - root - INFO - step:  1  loss:  {}  grad_norm:  1.0"
    log = read_training_log(written(tmp_path, "x.log", text.format(line.format(3.5), line.format(1.5))))
    assert told(log) == ["2 1 loss 1.5", "2 1 gradient_norm 1", "3 moment failure Traceback"]
    assert log.rank == 1


def test_a_bare_step_time_is_of_seconds_unless_the_times_of_its_records_say_otherwise(tmp_path):
    def of(seconds, step_time, name="timestamp"):
        records = [{"step": n, "loss": 1.0, "step_time": step_time, name: 1.7e9 + n * seconds} for n in range(1, 9)]
        path = written(tmp_path, "x.jsonl", "".join(json.dumps(record) + "\n" for record in records))
        return set(series(path, "step_time").values())

    assert of(0.5, 0.48) == {0.48e9}
    assert of(0.5, 480) == {480e6}
    assert of(0.5, 0.48, "other") == {0.48e9}
    assert of(0.5, 480, "other") == set(), "seconds or milliseconds: cannot tell"


def test_no_file_of_this_repository_is_taken_for_a_training_log():
    kinds = {
        ".py",
        ".md",
        ".toml",
        ".sql",
        ".json",
        ".csv",
        ".txt",
        ".log",
        ".gz",
        ".sqlite",
        ".yml",
        ".html",
        ".jsonl",
    }
    tried, wrong = 0, []
    for folder in ("traceq", "tests/importers", "tests/reports", "docs", "fixtures", "tools"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in kinds and path.is_file() and not path.is_relative_to(LOGS):
                tried += 1
                wrong += [str(path.relative_to(ROOT))] if is_training_log(path) else []
    assert tried > 500
    assert wrong == []


# The format and first step time (ms) of lines as forks and launchers write them, after samples in public repositories.
FORKS = {
    # the mean so far beside the time
    "megatron 21.5": (
        " iteration {n:8d}/     100 | consumed samples: 8 | elapsed time per iteration (ms): 2{n}.5/199.1"
        " | throughput per GPU (TFLOP/s/GPU): 400.1/399.8 | lm loss: 1.2E+01 |"
    ),
    "megatron 1001": (
        "[default0]: [2026-05-27 15:23:0{n}] iteration {n:8d}/    24000 | consumed samples: 1024"
        " | elapsed time per iteration (ms): 100{n}.0 | lm loss: 1.2E+01 | load_balancing_loss: 1.0E+00 | loss scale: 1.0 |"
    ),
    "megatron 711.9": (
        "[Rank 0 | Local Rank 0] 2026-05-01 10:00:0{n},000 INFO [x.engine:48] =>  [2026-05-01 10:00:0{n}] iteration  {n}/  100"
        " | consumed samples: 8 | elapsed time per iteration (ms): 71{n}.9 | loss: 1.9E+00 | grad norm: 134.300 |"
    ),
    "deepspeed 901": (
        "steps: {n} loss: 5.5508 lm loss: 5.5103 moe loss: 0.0405 iter time (s): 0.90{n} samples/sec: 136.706"
    ),
    "deepspeed 801": "step:     {n} / 10000 loss: 5.5508 iter time (s): 0.80{n} samples/sec: 136.706 eta: 1h2m",
    "nemo 191": (
        " 0: Training epoch 0, iteration {n}/99 | lr: 5.6e-06 | global_step: {n} | reduced_train_loss: 2.7"
        " | train_step_timing in s: 0.19{n} | consumed_samples: 928 | val_loss: 2.861"
    ),
    "nemo 2301": (
        "[2026-10-17T11:33:0{n}+08:00] Training epoch 0, iteration {n}/999 | lr: 0.00017 | global_batch_size: 32"
        " | global_step: {n} | reduced_train_loss: 2.8 | train_step_timing in s: 2.30{n} | tokens_per_sec_per_gpu: 6.859e+03"
    ),
}


@pytest.mark.parametrize("expected", FORKS)
def test_lines_of_forks_and_launchers(expected, tmp_path):
    text = "".join(FORKS[expected].format(n=number) + "\n" for number in range(1, 9))
    log = read_training_log(written(tmp_path, "x.log", text))
    times = [value.value / 1e6 for value in log.values if value.quantity == "step_time"]
    assert len(times) == 8
    assert f"{log.format} {times[0]:.6g}" == expected


def test_each_format_recognises_only_its_own_logs():
    found = {path.name: read_training_log(path).format for path in sorted(LOGS.iterdir()) if path.is_file()}
    assert found == {
        "deepspeed.log": "deepspeed",
        "events.out.tfevents.1.host": "tensorboard",
        "hugging_face.log": "hugging_face",
        "lightning.log": "lightning",
        "megatron.log": "megatron",
        "megatron_old.log": "megatron",
        "metrics.csv": "lightning",
        "metrics.jsonl": "json_lines",
        "nemo.log": "nemo",
        "restarted.log": "megatron",
        "run.wandb": "wandb",
        "torchtitan.log": "torchtitan",
        "trainer_state.json": "trainer_state",
    }
    assert {form.name for form in own_formats()} <= set(found.values())
