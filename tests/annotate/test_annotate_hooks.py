from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref

import lazy_import
import pytest

from traceq import annotate

torch = lazy_import.module("torch")

OPTIMIZER = ["push traceq.phase#optimizer", "pop traceq.phase#optimizer"]


def make_optimizer():
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.5, momentum=0.9)


def train(optimizer):
    (parameter,) = optimizer.param_groups[0]["params"]
    parameter.sum().backward()
    optimizer.step()


def test_step_and_zero_grad_are_phase_optimizer(tool):
    optimizer = make_optimizer()
    assert annotate.optimizer(optimizer) is optimizer
    train(optimizer)
    optimizer.zero_grad(set_to_none=True)
    assert tool.calls == 2 * OPTIMIZER
    assert optimizer.param_groups[0]["params"][0].tolist() == [0.5, 0.5]


def test_an_optimizer_marked_twice_is_marked_once(tool):
    optimizer = annotate.optimizer(annotate.optimizer(make_optimizer()))
    train(optimizer)
    assert tool.calls == OPTIMIZER


@pytest.mark.parametrize("marked_first", [True, False])
def test_schedulers_work_on_either_side(tool, marked_first):
    optimizer = make_optimizer()
    if marked_first:
        annotate.optimizer(optimizer)
    schedulers = [torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1)]
    annotate.optimizer(optimizer)
    schedulers.append(torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1))
    train(optimizer)
    # Warns, and so fails here, if it has not seen the optimizer's step.
    for scheduler in schedulers:
        scheduler.step()
    assert tool.calls == OPTIMIZER
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.005)


def test_a_step_that_raises_leaves_nothing_open(tool):
    optimizer = annotate.optimizer(make_optimizer())
    with pytest.raises(ZeroDivisionError):
        optimizer.step(lambda: 1 / 0)
    assert tool.calls == OPTIMIZER


def test_a_scaler_steps_a_marked_optimizer(tool):
    optimizer = annotate.optimizer(make_optimizer())
    scaler = torch.amp.GradScaler("cpu")
    (parameter,) = optimizer.param_groups[0]["params"]
    scaler.scale(parameter.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert tool.calls == OPTIMIZER
    assert parameter.tolist() == [0.5, 0.5]


def test_what_is_saved_of_an_optimizer_is_the_same():
    plain, marked = make_optimizer(), annotate.optimizer(make_optimizer())
    train(plain)
    train(marked)
    assert str(marked.state_dict()) == str(plain.state_dict())
    again = pickle.loads(pickle.dumps(marked))  # noqa: S301 - its own
    train(again)
    train(copy.deepcopy(marked))
    assert again.state_dict()["param_groups"] == plain.state_dict()["param_groups"]


def test_marks_do_not_keep_an_optimizer_alive():
    gc.disable()
    try:
        optimizer = annotate.optimizer(make_optimizer())
        seen = weakref.ref(optimizer)
        del optimizer
        assert seen() is None
    finally:
        gc.enable()


def new_net():
    from net import Net

    return Net()


def list_modules(tool):
    return [call.removeprefix("push traceq.module#") for call in tool.calls if call.startswith("push")]


@pytest.mark.parametrize(
    ("depth", "labels"),
    [
        (0, ["Net"]),
        (1, ["Net", "encoder", "head"]),
        (2, ["Net", "encoder", "encoder.0", "encoder.1", "head"]),
    ],
)
def test_forwards_of_modules(tool, depth, labels):
    net = new_net()
    annotate.model(net, depth=depth)
    net(torch.ones(1, 2))
    assert list_modules(tool) == labels
    assert tool.left_open() == []


def test_marks_can_be_taken_off_a_model(tool):
    net = new_net()
    hooks = annotate.model(net)
    hooks.remove()
    hooks.remove()
    net(torch.ones(1, 2))
    assert tool.calls == []


def test_a_negative_depth_is_an_error():
    with pytest.raises(ValueError, match="depth -1 is negative; 0 marks the module alone"):
        annotate.model(new_net(), depth=-1)


def test_a_forward_that_raises_leaves_nothing_open(tool):
    net = new_net()
    annotate.model(net, depth=2)
    with pytest.raises(RuntimeError):
        net(torch.ones(1, 3))
    assert list_modules(tool) == ["Net", "encoder", "encoder.0"]
    assert tool.left_open() == []
    net(torch.ones(1, 2))
    assert tool.left_open() == []


def test_other_hooks_are_inside_of_the_mark_and_may_raise(tool):
    net = new_net()

    def refuse(_module, _args):
        with annotate.phase("hook"):
            raise ValueError

    net.head.register_forward_pre_hook(refuse)
    annotate.model(net)
    with pytest.raises(ValueError, match=r"^$"):
        net(torch.ones(1, 2))
    assert tool.calls[3:5] == ["push traceq.module#head", "push traceq.phase#hook"]
    assert tool.left_open() == []


def test_a_module_within_itself(tool):
    class Twice(torch.nn.Module):
        def forward(self, x, again=True):
            return self(x, False) if again else x

    net = Twice()
    annotate.model(net)
    net(torch.ones(1))
    assert list_modules(tool) == ["Twice", "Twice"]
    assert tool.left_open() == []


def test_a_marked_model_can_be_saved_and_copied(tool):
    net = new_net()
    annotate.model(net)
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    for twin in (torch.load(file, weights_only=False), copy.deepcopy(net)):
        twin(torch.ones(1, 2))
    assert list_modules(tool) == 2 * ["Net", "encoder", "head"]


def test_marks_switched_in_the_middle_of_a_forward(tool):
    net = new_net()
    annotate.model(net)
    net.encoder.register_forward_hook(lambda *_: annotate.disable())
    net(torch.ones(1, 2))
    assert list_modules(tool) == ["Net", "encoder"]
    assert tool.left_open() == []
