"""The texts of rules as templates of Jinja: anybody's show what they are given, reach no further, and end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from traceq.diagnosis.program import Program
from traceq.diagnosis.rules.shared.wording import cut_name

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from jinja2.runtime import Context

# What may be had of values by a dot, by type; of all others only what stands in them, as of a dictionary.
_OF_TEXT = (
    *("lower", "upper", "capitalize", "title", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "format"),
    *("startswith", "endswith", "split", "rsplit", "splitlines", "partition", "rpartition", "find", "count", "isdigit"),
)
_OF_DICTIONARIES = ("get", "items", "keys", "values")
_OF_LOOPS = (
    "first",
    "last",
    "index",
    "index0",
    "revindex",
    "revindex0",
    "length",
    "previtem",
    "nextitem",
    "cycle",
    "changed",
)

# Turns of loops and calls of a text: ours take some dozens.
_MOST_STEPS = 100_000
_LONGEST_RANGE = 10_000
# Whole numbers, texts and lists that are put together: more is no sentence.
_MOST_BITS = 1024
_LONGEST = 100_000
_WIDE = re.compile(r"%(\([^)]*\))?[^a-zA-Z%]*(\*|\d{4})|:[^}]*(\{|\d{4})")

_steps: ContextVar[Iterator[int]] = ContextVar("steps")


def render(text: str, known: dict[str, Any]) -> str:
    """Return the text with `known` values filled in if it is a template, else as it is.

    Raises the errors of Jinja, and ValueError where it takes too many steps or makes a huge text.
    """
    if not is_template(text):
        return text
    _steps.set(iter(range(_MOST_STEPS)))
    # of a part that is empty the spaces around it are left
    told = re.sub(" {2,}", " ", _compile_template(text).render(known)).strip()
    # half a character, as "\ud800" is, cannot be written
    return told.encode(errors="replace").decode()


def is_template(text: str) -> bool:
    """Return whether the text of a header is a template, which depends on the trace."""
    return "{{" in text or "{%" in text


def template_error(text: str) -> str | None:
    """Return what is wrong with a template; None if it is sound."""
    from jinja2 import TemplateSyntaxError

    shown = repr(cut_name(text))
    if len(text) > _LONGEST:
        return f"more than {_LONGEST:,} characters in {shown}"
    try:
        _compile_template(text)
    except TemplateSyntaxError as error:
        return f"{error.message} in {shown}"
    except (RecursionError, MemoryError, SyntaxError):  # of Jinja, and of Python, which runs what Jinja makes of it
        return f"nested too deeply in {shown}"
    except ValueError:  # of Python
        return f"a number with too many digits in {shown}"
    return None


@cache
def _compile_template(text: str) -> Template:
    return make_environment().from_string(text)


@cache
def make_environment() -> Environment:
    """Build the Jinja environment for templates of rules: a sandbox that bounds attributes, loops and sizes."""
    from jinja2 import StrictUndefined, nodes, pass_context
    from jinja2.runtime import LoopContext
    from jinja2.sandbox import SandboxedEnvironment
    from jinja2.visitor import NodeTransformer

    allowed = {str: _OF_TEXT, dict: _OF_DICTIONARIES, LoopContext: _OF_LOOPS}

    class Closed(SandboxedEnvironment):
        intercepted_binops = frozenset(("+", "*", "**", "%"))

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            """Only what is listed: a connection is two attributes away from much that has public ones."""
            listed = isinstance(obj, Program) or any(
                isinstance(obj, kind) and attr in allowed[kind] for kind in allowed
            )
            return listed and super().is_safe_attribute(obj, attr, value)

        def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
            """Count the call: macros may call themselves."""
            _count_step()
            return super().call(context, obj, *args, **kwargs)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            """Do it unless it makes something huge, which nothing could stop."""
            _check_size(operator, left, right)
            return super().call_binop(context, operator, left, right)

        def getattr(self, obj: Any, attribute: str) -> Any:
            """Return the attribute; of texts the format only if it is not wide."""
            return super().getattr(
                _check_width(obj) if isinstance(obj, str) and attribute == "format" else obj, attribute
            )

        def getitem(self, obj: Any, argument: Any) -> Any:
            """Return the item, as getattr does the attribute."""
            return super().getitem(
                _check_width(obj) if isinstance(obj, str) and argument == "format" else obj, argument
            )

        def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
            """Let loops count their turns, and measure what ~ puts together."""
            tree: nodes.Template = Measured().visit(super()._parse(source, name, filename))
            for loop in tree.find_all(nodes.For):
                loop.iter = nodes.Filter(loop.iter, "counted", [], [], None, None, lineno=loop.lineno)
            return tree

    class Measured(NodeTransformer):
        def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - the name of the node
            """Put a join in the place of ~."""
            parts = nodes.List([self.visit(item) for item in node.nodes], lineno=node.lineno)
            return nodes.Filter(parts, "join", [], [], None, None, lineno=node.lineno)

    made = Closed(undefined=StrictUndefined, autoescape=False, optimized=False)
    made.globals = {"range": _make_range, "dict": dict}
    own = {
        "counted": _count_turns,
        "cut": cut_name,
        "matched": pass_context(_find_match),
        "join": _join_texts,
        "replace": _replace_text,
    }
    made.filters |= own | {"format": lambda text, *values: _check_width(text) % values}
    for name in (
        "attr",
        "center",
        "indent",
        "batch",
        "slice",
        "tojson",
    ):  # as wide as they are asked to, but for the first
        del made.filters[name]
    return made


def _find_match(context: Context, text: str, pattern: str) -> str:
    """Return the first part of the text that matches, as the database finds it: Python could search for ever."""
    return str(context["match"](text, pattern))


def _count_turns(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _count_step()
        yield value


def _count_step() -> None:
    if next(_steps.get(), None) is None:
        raise ValueError(f"a text takes more than {_MOST_STEPS:,} steps: loop over less, or do it in the query")


def _make_range(*bounds: int) -> range:
    found = range(*bounds)
    if len(found) > _LONGEST_RANGE:
        raise ValueError(f"range of more than {_LONGEST_RANGE:,}: loop over less, or do it in the query")
    return found


def _join_texts(values: Iterable[Any], between: str = "", attribute: str | None = None) -> str:
    parts = [str(value if attribute is None else value[attribute]) for value in values]
    _check_length("join", sum(map(len, parts)) + len(between) * len(parts))
    return between.join(parts)


def _replace_text(text: str, old: str, new: str, count: int = -1) -> str:
    _check_length("replace", len(text) * (len(new) + 1))
    return str(text).replace(old, new, count)


def _check_width(text: str) -> str:
    """Return the format `text`. Raises ValueError if it makes values wide."""
    if _WIDE.search(text):
        raise ValueError(f"{text[:40]!r} makes a text too large for a sentence")
    return text


def _check_length(how: str, length: int) -> None:
    if length > _LONGEST:
        raise ValueError(f"{how} makes a text too large for a sentence")


def _check_size(operator: str, left: Any, right: Any) -> None:
    """Raise ValueError where an operator would make more than any sentence needs."""
    lengths = [len(operand) for operand in (left, right) if isinstance(operand, str | list | tuple)]
    if operator == "%" and isinstance(left, str):
        _check_width(left)
    elif operator == "+":
        _check_length(operator, sum(lengths))
    elif operator in ("*", "**") and (lengths or _count_bits(operator, left, right) > _MOST_BITS):
        raise ValueError(f"{operator} makes a text or a number too large for a sentence")


def _count_bits(operator: str, left: Any, right: Any) -> int:
    """Return the most bits of a product or a power of whole numbers; 0 for fractions, which cannot be large."""
    if not isinstance(left, int) or not isinstance(right, int):
        return 0
    return left.bit_length() * (abs(right) if operator == "**" else 1) + right.bit_length()
