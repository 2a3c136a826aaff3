"""All that a text can say to a program: what depends on the program is decided, of everything else both sides are said.

So each branch of a header's template, or of a function that makes sentences, is reached without a trace that takes it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from typing import Any

from jinja2 import nodes

from traceq.diagnosis.program import Program
from traceq.diagnosis.rules.templates import make_environment

# Stands for a value that only a trace has.
UNKNOWN = object()
# Functions by name: what they say, given the program and what their arguments can be.
Tellers = dict[str, Callable[[Program, list[Collection[Any]]], str]]
# What stands in the arguments of others is looked for, and not said.
_SAYING_FILTERS = frozenset({"default", "d", "join", "replace", "format"})
_ASKING = frozenset(
    {
        "has",
        "needs",
        "ask",
        "uses",
        "get",
        "ask_of",
        "only_for",
        "startswith",
        "endswith",
        "threshold",
        "claim",
        "way",
        "lacks",
    }
)


@cache
def _parsed(text: str) -> nodes.Template:
    return make_environment().parse(text)


def said_by_template(text: str, program: Program, tellers: Tellers) -> str:
    """All that the template of a header can say to the program."""
    if "{{" not in text and "{%" not in text:
        return text
    return _Jinja(program, tellers).body(_parsed(text).body)


class _Jinja:
    """Walks a template; `known` has for each name that was set what it can be, and what it can say."""

    def __init__(self, program: Program, tellers: Tellers) -> None:
        self.program = program
        self.tellers = tellers
        self.known: dict[str, tuple[Collection[Any], str]] = {}

    def body(self, parts: Iterable[nodes.Node]) -> str:
        return "".join(map(self.statement, parts))

    def statement(self, node: nodes.Node) -> str:
        match node:
            case nodes.TemplateData():
                return node.data
            case nodes.Output():
                return self.body(node.nodes)
            case nodes.If():
                return self.chosen(node)
            case nodes.For():
                return self.words(node.iter) + self.body(node.body) + self.body(node.else_)
            case nodes.Assign():
                if isinstance(node.target, nodes.Name):
                    values, words = self.known.get(node.target.name, ((), ""))
                    self.known[node.target.name] = (
                        (*values, *self.values(node.node)),
                        f"{words} {self.words(node.node)}",
                    )
                return ""
            case nodes.Expr():
                return self.words(node)
        raise NotImplementedError(type(node).__name__)

    def chosen(self, node: nodes.If) -> str:
        """Return what the branches say that can be taken."""
        said = []
        for each in (node, *node.elif_):
            holds = self.truth(each.test)
            if holds is not False:
                said.append(self.body(each.body))
            if holds is True:
                return "".join(said)
        return "".join([*said, self.body(node.else_)])

    def truth(self, node: nodes.Expr) -> bool | None:
        """Return whether it holds for every trace of such a program, None where that depends on the trace."""
        match node:
            case nodes.Not():
                holds = self.truth(node.node)
                return None if holds is None else not holds
            case nodes.And():
                return _both(self.truth(node.left), self.truth(node.right))
            case nodes.Or():
                return _either(self.truth(node.left), self.truth(node.right))
        return _common(self.values(node))

    def values(self, node: nodes.Expr | nodes.Node) -> Collection[Any]:  # noqa: C901, PLR0911 - a line for each kind of node
        """Return all that an expression can be, with UNKNOWN for what a trace has."""
        match node:
            case nodes.Const():
                return (node.value,)
            case nodes.Name():
                if node.name == "program":
                    return (self.program,)
                return self.known[node.name][0] if node.name in self.known else (UNKNOWN,)
            case nodes.CondExpr():
                return tuple(each for part in self.sides(node) for each in self.values(part))
            case nodes.List() | nodes.Tuple():
                items = [self.values(each) for each in node.items]
                return (tuple(each[0] for each in items),) if all(map(_is_one, items)) else (UNKNOWN,)
            case nodes.Getattr():
                return [_attribute(each, node.attr) for each in self.values(node.node)]
            case nodes.Call(node=nodes.Getattr(node=nodes.Dict() as chosen, attr="get")):
                parts = [*(each.value for each in chosen.items), *node.args[1:]]
                return [each for part in parts for each in self.values(part)]
            case nodes.Call():
                (function,) = found if len(found := self.values(node.node)) == 1 else (UNKNOWN,)
                given = [self.values(each) for each in node.args]
                if callable(function) and all(map(_is_one, given)):
                    return (function(*(each[0] for each in given)),)
                return (UNKNOWN,)
            case nodes.Getitem(node=nodes.Dict()):
                return [each for value in self.chosen_items(node) for each in self.values(value)]
            case nodes.Compare(ops=[operand]):
                return _compared(operand.op, self.values(node.expr), self.values(operand.expr))
            case nodes.Not() | nodes.And() | nodes.Or():
                holds = self.truth(node)
                return (UNKNOWN if holds is None else holds,)
        return (UNKNOWN,)

    def sides(self, node: nodes.CondExpr) -> list[nodes.Expr]:
        """Return the sides of a conditional expression that can be taken."""
        holds = self.truth(node.test)
        sides = [node.expr1] if holds is True else [node.expr2] if holds is False else [node.expr1, node.expr2]
        return [each for each in sides if each is not None]

    def chosen_items(self, node: nodes.Getitem) -> list[nodes.Expr]:
        """Return the values of a dictionary in the template that its key can be of."""
        keys = self.values(node.arg)
        pairs = [(self.values(each.key), each.value) for each in node.node.items]
        return [value for key, value in pairs if UNKNOWN in keys or set(key) & set(keys)]

    def words(self, node: nodes.Node) -> str:  # noqa: C901, PLR0911 - a line for each kind of node
        """Return all that an expression can say."""
        match node:
            case nodes.TemplateData():
                return node.data
            case nodes.Const():
                return str(node.value)
            case nodes.Name():
                return self.known[node.name][1] if node.name in self.known else ""
            case nodes.CondExpr():
                return " ".join(map(self.words, self.sides(node)))
            case nodes.Call():
                given = [*node.args, *(each.value for each in node.kwargs)]
                if isinstance(node.node, nodes.Name) and node.node.name in self.tellers:
                    own = self.tellers[node.node.name](self.program, [self.values(each) for each in node.args])
                    return " ".join([own, *map(self.words, given[1:])])
                told = " ".join(map(self.words, given))
                return told if isinstance(node.node, nodes.Name) else f"{self.words(node.node)} {told}"
            case nodes.Filter():
                given = node.args if node.name in _SAYING_FILTERS else []
                return " ".join(map(self.words, filter(None, [node.node, *given])))
            case nodes.Getattr():
                values = self.values(node)
                told = [each for each in values if isinstance(each, str)]
                return " ".join(told) or self.words(node.node)
            case nodes.Getitem():
                chosen = self.chosen_items(node) if isinstance(node.node, nodes.Dict) else [node.node]
                return " ".join(map(self.words, chosen))
            case nodes.Compare() | nodes.Test() | nodes.Not():
                return ""
        return " ".join(map(self.words, node.iter_child_nodes()))


def _both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _either(left: bool | None, right: bool | None) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _is_one(values: Collection[Any]) -> bool:
    return len(values) == 1 and UNKNOWN not in values


def _common(values: Collection[Any]) -> bool | None:
    """Return the truth that all of these values have."""
    found = {None if each is UNKNOWN else bool(each) for each in values}
    return found.pop() if len(found) == 1 else None


def _attribute(value: Any, name: str) -> Any:
    if isinstance(value, Program):
        return getattr(value, name)
    return value[name] if isinstance(value, dict) and name in value else UNKNOWN


_COMPARING: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}


def _compared(operator: str, left: Collection[Any], right: Collection[Any]) -> Collection[Any]:
    if operator not in _COMPARING or UNKNOWN in left or UNKNOWN in right:
        return (UNKNOWN,)
    return tuple({_COMPARING[operator](one, other) for one in left for other in right})


def said_by_module(source: str, program: Program, tellers: Tellers) -> Iterator[tuple[str, str]]:
    """Name each function that another module calls, and what it, and what it calls, can say to the program."""
    body = _module(source).body
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    constants = {
        target.id: node.value
        for node in body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for name, node in functions.items():
        if not name.startswith("_"):
            yield name, _Python(program, tellers, functions | constants).function(node)


@cache
def _module(source: str) -> ast.Module:
    return ast.parse(source)


class _Python:
    """Walks a function as _Jinja walks a template."""

    def __init__(self, program: Program, tellers: Tellers, of_module: dict[str, ast.AST]) -> None:
        self.program = program
        self.tellers = tellers
        self.of_module = of_module
        self.known: dict[str, Collection[Any]] = {}

    def function(self, node: ast.FunctionDef) -> str:
        body = node.body[1:] if ast.get_docstring(node) else node.body
        return self.block(body)[0]

    def named(self, name: str) -> str:
        """Return what a function or constant of the module can say; nothing of one that is being walked."""
        found = self.of_module.get(name)
        others = {each: node for each, node in self.of_module.items() if each != name}
        walker = _Python(self.program, self.tellers, others)
        is_pattern = found is not None and "re.compile" in ast.unparse(found)
        if found is None or name in self.known or (is_pattern and not isinstance(found, ast.FunctionDef)):
            return ""
        return walker.function(found) if isinstance(found, ast.FunctionDef) else walker.words(found)

    def block(self, body: list[ast.stmt]) -> tuple[str, bool]:
        """Return what statements say, and whether they always leave the function."""
        said = []
        for each in body:
            words, leaves = self.statement(each)
            said.append(words)
            if leaves:
                return " ".join(said), True
        return " ".join(said), False

    def statement(self, node: ast.stmt) -> tuple[str, bool]:  # noqa: PLR0911 - a line for each kind of node
        match node:
            case ast.If():
                holds = self.truth(node.test)
                taken = [node.body] if holds is True else [node.orelse] if holds is False else [node.body, node.orelse]
                found = [self.block(each) for each in taken]
                return " ".join(words for words, _ in found), all(leaves for _, leaves in found)
            case ast.Return():
                return self.words(node.value) if node.value is not None else "", True
            case ast.Raise():  # why the rule says nothing
                return "", True
            case ast.Assign(targets=[ast.Name(id=name)]):
                self.known[name] = self.values(node.value)
                return self.words(node.value), False
            case ast.Assign(targets=[ast.Tuple()]) | ast.AugAssign():
                return self.words(node.value), False
            case ast.For() | ast.While() | ast.With():
                head = node.iter if isinstance(node, ast.For) else None
                return f"{self.words(head) if head else ''} {self.block(node.body)[0]}", False
            case ast.FunctionDef():
                return self.function(node), False
            case ast.Expr(value=ast.Constant()):
                return "", False
        return " ".join(self.words(each) for each in ast.iter_child_nodes(node)), False

    def truth(self, node: ast.expr) -> bool | None:
        match node:
            case ast.UnaryOp(op=ast.Not()):
                holds = self.truth(node.operand)
                return None if holds is None else not holds
            case ast.BoolOp():
                found = [self.truth(each) for each in node.values]
                pair = _both if isinstance(node.op, ast.And) else _either
                holds = found[0]
                for each in found[1:]:
                    holds = pair(holds, each)
                return holds
        return _common(self.values(node))

    def values(self, node: ast.expr) -> Collection[Any]:  # noqa: C901, PLR0911 - a line for each kind of node
        match node:
            case ast.Constant():
                return (node.value,)
            case (
                ast.Name(id="program")
                | ast.Attribute(attr="program")
                | ast.Subscript(slice=ast.Constant(value="program"))
            ):
                return (self.program,)
            case ast.Name():
                return self.known.get(node.id, (UNKNOWN,))
            case ast.Tuple() | ast.List() | ast.Set():
                items = [self.values(each) for each in node.elts]
                return (tuple(next(iter(each)) for each in items),) if all(map(_is_one, items)) else (UNKNOWN,)
            case ast.Attribute():
                return [_attribute(each, node.attr) for each in self.values(node.value)]
            case ast.IfExp():
                return [each for side in self.sides(node) for each in self.values(side)]
            case ast.Call():
                found = list(self.values(node.func))
                given = [list(self.values(each)) for each in node.args]
                if len(found) == 1 and callable(found[0]) and all(map(_is_one, given)):
                    return (found[0](*(each[0] for each in given)),)
                return (UNKNOWN,)
            case ast.Compare(ops=[operator]):
                name = {"Eq": "eq", "NotEq": "ne", "In": "in", "NotIn": "notin"}.get(type(operator).__name__, "")
                return _compared(name, self.values(node.left), self.values(node.comparators[0]))
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                holds = self.truth(node)
                return (UNKNOWN if holds is None else holds,)
        return (UNKNOWN,)

    def sides(self, node: ast.IfExp) -> list[ast.expr]:
        holds = self.truth(node.test)
        return [node.body] if holds is True else [node.orelse] if holds is False else [node.body, node.orelse]

    def words(self, node: ast.AST) -> str:  # noqa: C901, PLR0911 - a line for each kind of node
        match node:
            case ast.Constant():
                return node.value if isinstance(node.value, str) else ""
            case ast.IfExp():
                return " ".join(map(self.words, self.sides(node)))
            case ast.JoinedStr():
                return "".join(map(self.words, node.values))
            case ast.BinOp(op=ast.Add()):
                return self.words(node.left) + self.words(node.right)
            case ast.Call():
                return self.of_call(node)
            case ast.Subscript():
                return self.words(node.value)
            case ast.Compare():
                return ""
            case ast.Name():
                return self.named(node.id)
            case ast.Dict():
                return " ".join(map(self.words, node.values))
            case ast.Attribute():
                told = [each for each in self.values(node) if isinstance(each, str)]
                return " ".join(told) or self.words(node.value)
        return " ".join(map(self.words, ast.iter_child_nodes(node)))

    def of_call(self, node: ast.Call) -> str:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        given = [self.values(each) for each in node.args]
        if name in self.tellers:
            told = self.tellers[name](self.program, given)
            return " ".join([told, *map(self.words, node.args[1:])])
        if name in _ASKING:
            return ""
        parts = [node.func, *node.args, *(each.value for each in node.keywords)]
        return " ".join(map(self.words, parts))
