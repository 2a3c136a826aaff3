import pytest
from msgspec.structs import replace

from traceq.errors import WrongUse
from traceq.runs.trials import plan as plans
from traceq.runs.trials.plan import TrialPlan
from traceq.runs.trials.trial import BASELINE, Setting


def planned(command="python train.py", vary=None, env=None, tries=(), ablate=(), factorial=False):
    return TrialPlan(tuple(command.split()), vary or {}, env or {}, tries, ablate, factorial, 20, 5)


def names(plan, own=None):
    return [each.name for each in plans.list_settings(plan, own)]


def test_a_knob_in_the_command_has_its_first_value_in_the_baseline():
    plan = planned("python train.py --workers={n} {{n}}", {"n": ("0", "2", "4")})
    assert plans.baseline_setting(plan) == Setting(BASELINE, "baseline", {"n": "0"})
    assert names(plan) == ["n=2", "n=4"]
    assert plans.command_at(plan, plans.list_settings(plan)[1]) == ("python", "train.py", "--workers=4", "{4}")
    assert plans.command_at(plan, plans.baseline_setting(plan))[2] == "--workers=0"
    assert plans.knobs_at(plan, plans.list_settings(plan)[1]) == {}


def test_a_knob_that_is_not_in_the_command_is_turned_in_the_program():
    plan = planned(vary={"num_workers": ("0", "2")})
    assert names(plan) == ["num_workers=0", "num_workers=2"]
    assert plans.knobs_at(plan, plans.list_settings(plan)[1]) == {"num_workers": "2"}
    assert plans.command_at(plan, plans.list_settings(plan)[1]) == ("python", "train.py")


def test_a_variable_is_compared_with_what_the_environment_has(monkeypatch):
    monkeypatch.setenv("LEVEL", "b")
    plan = planned(env={"LEVEL": ("a", "b"), "OTHER": ("1",)})
    assert plans.baseline_setting(plan).values == {"LEVEL": "b"}
    assert names(plan) == ["LEVEL=a", "OTHER=1"]
    assert plans.variables_at(plan, plans.list_settings(plan)[0]) == {"LEVEL": "a"}


def test_one_at_a_time_or_all_combinations():
    vary = {"num_workers": ("1", "2"), "amp": ("bf16",)}
    assert names(planned(vary=vary)) == ["num_workers=1", "num_workers=2", "amp=bf16"]
    assert names(planned(vary=vary, factorial=True)) == [
        "amp=bf16",
        "num_workers=1",
        "num_workers=1 amp=bf16",
        "num_workers=2",
        "num_workers=2 amp=bf16",
    ]


def test_an_ablation_is_a_setting():
    (setting,) = plans.list_settings(planned(ablate=("data",)))
    assert setting == Setting("without data", "ablate", {"ablate": "data"})
    assert plans.knobs_at(planned(ablate=("data",)), setting) == {"ablate": "data"}


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (planned(""), "No command"),
        (planned(), "Nothing to try"),
        (planned(vary={"num_worker": ("1",)}), r"no such knob. Did you mean num_workers\?"),
        (planned(vary={"num_workers": ("a",)}), "'a' is not a whole number"),
        (planned("python t.py {n}", {"n": ("1",)}), "at least two, the unchanged"),
        (planned("python t.py {num_workers}", ablate=("data",)), "has no values"),
        (planned(vary={"threads": ("1",)}, env={"threads": ("1",)}), "one of them"),
    ],
)
def test_wrong_use_tells_the_way_out(plan, message):
    with pytest.raises(WrongUse, match=message):
        plans.check(plan)


def test_braces_that_are_no_knob_stay():
    plan = planned('python t.py {"a":1} {n}', {"n": ("1", "2")})
    plans.check(plan)
    assert plans.command_at(plan, plans.baseline_setting(plan))[2:] == ('{"a":1}', "1")


def test_all_settings_run_once_a_round_in_an_order_by_the_seed():
    settings = [Setting(BASELINE, "baseline"), *(Setting(f"n={each}", "vary", {"n": str(each)}) for each in range(5))]
    order = list(plans.order(settings, range(4)))
    assert order[6:] == list(plans.order(settings[::-1], range(1, 4)))
    assert order[:6] == [(0, each) for each in settings], "the first round keeps the given order"
    rounds = [[each.name for number, each in order if number == round_] for round_ in range(4)]
    assert all(sorted(each) == sorted(rounds[0]) for each in rounds)
    assert rounds[0][0] == BASELINE
    assert len({tuple(each) for each in rounds}) == 4


def test_the_baseline_is_not_always_first():
    settings = [Setting(BASELINE, "baseline"), Setting("n=1", "vary", {"n": "1"})]
    firsts = {each[0][1].name for each in zip(*[iter(plans.order(settings, range(20)))] * 2, strict=True)}
    assert firsts == {BASELINE, "n=1"}


def test_values_that_the_program_has_are_the_baseline():
    """Switches are compared by what they mean, other values of a command by their text."""
    plan = planned(
        vary={"num_workers": ("0", "2"), "fused": ("off", "on"), "compile": ("default",)}, env={"gc": ("off",)}
    )
    own = {"num_workers": "0", "fused": "0", "compile": "off", "gc": "off"}
    assert names(plan, own) == ["num_workers=2", "fused=on", "compile=default", "gc=off"]
    assert names(plan) == ["num_workers=0", "num_workers=2", "fused=off", "fused=on", "compile=default", "gc=off"]
    plan = replace(plan, factorial=True, vary={"num_workers": ("0", "2"), "fused": ("on",)}, env={})
    assert names(plan, own) == ["fused=on", "num_workers=2", "num_workers=2 fused=on"]


def test_the_baseline_turns_no_knob():
    """Its values are the program's own, and stand there for the report."""
    plan = planned(vary={"num_workers": ("0", "2")})
    assert plans.knobs_at(plan, Setting(BASELINE, "baseline", {"num_workers": "0"})) == {}
    assert plans.knobs_at(plan, Setting("num_workers=2", "vary", {"num_workers": "2"})) == {"num_workers": "2"}


def test_the_equal_run_has_the_seed_of_the_first_round():
    assert plans.seed_of(plans.EQUAL_ROUND) == plans.seed_of(0) != plans.seed_of(1)
