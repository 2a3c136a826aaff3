import pytest

from traceq.capture.knobs import registry
from traceq.diagnosis.rules.registry import RULES
from traceq.errors import NoSuchFinding
from traceq.runs.run import FindingKept
from traceq.runs.trials import remedies


def found(*rules):
    return [FindingKept(rule, f"id-{rule}", "", 10.0, 5.0, 20.0, "high") for rule in rules]


def tried(findings, *asked, cores=4):
    return [(each.name, each.kind, each.finding) for each in remedies.settings_for(findings, asked, cores)]


def test_a_finding_turns_its_knobs():
    findings = found("host-data-loading", "pageable-copy")
    assert tried(findings, "F1") == [
        ("num_workers=2", "try", "id-host-data-loading"),
        ("num_workers=4", "try", "id-host-data-loading"),
    ]
    assert tried(findings, "pageable-copy") == tried(findings, "id-pageable-copy")
    assert tried(findings, "F2") == [("pin_memory=1", "try", "id-pageable-copy")]


def test_the_first_of_two_findings_has_a_setting_that_both_ask_for():
    assert tried(found("python-bound", "elementwise-chain"), "all") == [("compile=default", "try", "id-python-bound")]


def test_what_has_no_knob_may_be_left_out_to_see_what_it_costs():
    assert tried(found("logging-in-step"), "all") == [("without logging", "ablate", "id-logging-in-step")]


def test_a_rule_is_tried_where_a_knob_of_its_is_turned():
    settings = remedies.settings_for(found("elementwise-chain", "logging-in-step"), ["all"], 4)
    rules = ("host-python", "host-logging", "tf32-off", "late-rank", "exposed-communication")
    assert [remedies.is_tried(rule, settings) for rule in rules] == [True, True, False, False, False]


def test_findings_without_a_knob_are_listed():
    findings = found("late-rank", "tf32-off")
    assert [each.rule for each in remedies.list_by_hand(findings, ["all"], 4)] == ["late-rank"]
    assert tried(findings, "F1") == []


def test_a_finding_that_is_not_there():
    with pytest.raises(NoSuchFinding, match="it has: F1 tf32-off"):
        tried(found("tf32-off"), "F2")
    with pytest.raises(NoSuchFinding, match="it has: none"):
        tried([], "F1")


def test_one_core_has_one_worker():
    assert [name for name, _, _ in tried(found("idle-data"), "all", cores=1)] == ["num_workers=1"]


def test_a_part_costs_what_its_largest_finding_claims():
    """Findings of one part may claim the same time: three of 70 % would be more than the step."""
    findings = [
        FindingKept(rule, rule, rule, likely, low, high, "high")
        for rule, low, likely, high in (("host-data-loading", 50.0, 60.0, 70.0), ("host-fetch-work", 55.0, 57.0, 60.0))
    ]
    cost = remedies.cost_of("data", [*findings, *found("host-operators")])
    assert (cost.rule, cost.saving_low_ns, cost.saving_ns, cost.saving_high_ns) == ("host-data-loading", 55, 60, 70)
    assert remedies.cost_of("optimizer", found("host-data-loading")) is None


@pytest.mark.parametrize("rule", sorted(remedies._WAYS))
def test_all_ways_are_knobs_of_values_they_take(rule):
    for way in remedies.list_ways(rule, 4):
        for name, value in way.items():
            if name == registry.ABLATE:
                assert value in registry.ABLATIONS
            else:
                registry.check(name, value)


def test_rules_have_their_names():
    named = set(remedies._WAYS) | set().union(*remedies._PARTS.values())
    assert not {each for each in named - {rule.replace("_", "-") for rule in RULES} if not each.startswith("host-")}


def test_the_largest_saving_is_tried_first():
    findings = [
        FindingKept(rule, rule, "", saving, 0.0, 99.0, "high")
        for rule, saving in (("tf32-off", 5.0), ("idle-data", 60.0), ("python-bound", 20.0), ("host-operators", 30.0))
    ]
    assert [name for name, _, _ in tried(findings, "all", cores=1)] == [
        "num_workers=1",
        "compile=default",
        "amp=bf16",
        "fused=1",
        "tf32=1",
    ]
