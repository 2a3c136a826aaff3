import pytest

from traceq.errors import StoreError, WrongUse
from traceq.runs.trials.folder import Folder, file_name
from traceq.runs.trials.plan import TrialPlan
from traceq.runs.trials.trial import Setting, Trial

PLAN = TrialPlan(("python", "train.py"), {"n": ("1", "2")}, {}, ("all",), (), factorial=False, steps=20, warmup=5)


def test_what_was_run_is_there_when_it_goes_on(tmp_path):
    folder = Folder(tmp_path / "a" / "b")
    folder.begin(PLAN)
    settings = [Setting("baseline", "baseline"), Setting("n=1", "try", {"n": "1"}, "abc")]
    trials = [Trial("n=1", 0, 1000, "ok", None, (1, 2), {"samples": 32.0}), Trial("n=1", 1, 1001, "failed", "why")]
    folder.keep_settings(settings)
    for each in trials:
        folder.keep_trial(each)
    with (folder.path / "trials.jsonl").open("a") as file:
        file.write('{"setting": "n=')
    again = Folder(folder.path)
    again.begin(PLAN)
    assert again.settings() == settings
    assert again.trials() == trials


def test_another_command_is_refused(tmp_path):
    Folder(tmp_path).begin(PLAN)
    with pytest.raises(WrongUse, match=r"holds another experiment \(python train.py\).*another folder with -o"):
        Folder(tmp_path).begin(TrialPlan(("python", "x.py"), {}, {}, (), (), factorial=True, steps=20, warmup=5))
    with pytest.raises(WrongUse, match=r"--steps differ"):
        Folder(tmp_path).begin(
            TrialPlan(("python", "train.py"), PLAN.vary, {}, ("all",), (), factorial=False, steps=5, warmup=5)
        )


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(WrongUse, match="holds no experiment"):
        Folder(tmp_path).begin(PLAN)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        Folder(tmp_path / "file" / "x").begin(PLAN)


def test_an_experiment_runs_once_at_a_time(tmp_path):
    folder = Folder(tmp_path)
    folder.begin(PLAN)
    with folder.lock(), pytest.raises(StoreError, match="running already"), Folder(tmp_path).lock():
        pass
    with Folder(tmp_path).lock():
        pass


def test_files_are_called_like_settings():
    assert file_name(Setting("n=1 kind=a b", "vary")) == "n=1-kind=a-b"
    assert file_name(Setting("n=1 path=../a b", "vary")) == "n=1-path=..-a-b-9e47bf6c"
    names = [file_name(Setting(f"cfg={each}", "vary")) for each in ("conf/a", "conf-a", "a" * 300, "\N{SNOWMAN}" * 300)]
    assert len(set(names)) == 4
    assert all(len(each.encode()) < 130 for each in names)


def test_a_line_that_was_cut_short_takes_no_other_with_it(tmp_path):
    folder = Folder(tmp_path)
    (tmp_path / "trials.jsonl").write_text('{"setting":"a"')
    folder.keep_trial(Trial("b", 0, 0, "ok"))
    folder.keep_trial(Trial("c", 0, 0, "ok"))
    assert [each.setting for each in folder.trials()] == ["b", "c"]


@pytest.mark.parametrize("name", ["experiment.json", "program.json", "settings.json"])
@pytest.mark.parametrize("content", ["", "[" * 50_000, "[1]", '{"command": 5}', "9" * 6000, b"\xff"])
def test_a_damaged_file_of_an_experiment_is_one_line(tmp_path, name, content):
    folder = Folder(tmp_path)
    folder.begin(PLAN)
    folder.keep_settings([])
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(StoreError, match=rf"^.*{name}: is damaged, or of another version.*another folder with -o$"):
        (folder.begin(PLAN), folder.settings())


@pytest.mark.parametrize(
    "line", ["[" * 50_000, "[]", "{}", '{"setting": "a"}', "9" * 6000, '"\xff"', '{"steps_ns": 1}']
)
def test_a_line_that_is_no_trial_is_left_out(tmp_path, line):
    folder = Folder(tmp_path)
    (tmp_path / "trials.jsonl").write_bytes(line.encode("latin-1"))
    folder.keep_trial(Trial("b", 0, 0, "ok"))
    assert [each.setting for each in folder.trials()] == ["b"]


def test_runs_of_the_program_before_it_changed_are_not_mixed_with_those_of_now(tmp_path):
    script, beside = tmp_path / "train.py", tmp_path / "model.py"
    script.write_text("1")
    plan = TrialPlan(("python", str(script)), {"fused": ("1",)}, {}, (), (), factorial=False, steps=4, warmup=2)
    for _ in range(2):
        Folder(tmp_path / "e").begin(plan)
    beside.write_text("2")
    with pytest.raises(WrongUse, match=r"before .*model.py changed.* another folder with -o"):
        Folder(tmp_path / "e").begin(plan)
