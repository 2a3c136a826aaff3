"""The questions that questions.sql answers: an index of the tables by task."""

from __future__ import annotations

import difflib
import re
from functools import cache

import msgspec

from traceq.database.sql import statement
from traceq.errors import QueryError

_HEADING = re.compile(r"^-- # (\w+): (.+)\n", re.MULTILINE)
_NOTE = re.compile(r"(?:-- .*\n)+")


class Question(msgspec.Struct, frozen=True):
    """A question by name and title, a note on the rows of its answer, and the query that gives them."""

    name: str
    title: str
    note: str
    query: str


@cache
def list_questions() -> tuple[Question, ...]:
    """Return the questions of questions.sql in the order of the file."""
    _, *parts = _HEADING.split(statement("database/questions.sql"))
    return tuple(_read_question(*parts[at : at + 3]) for at in range(0, len(parts), 3))


def find_question(name: str) -> Question:
    """Return the question called `name`. Raises QueryError, with similar names, if there is none."""
    by_name = {question.name: question for question in list_questions()}
    try:
        return by_name[name]
    except KeyError:
        close = difflib.get_close_matches(name, by_name, n=3, cutoff=0.5) or list(by_name)
        raise QueryError(f"no task is called {name!r}; did you mean: {', '.join(close)}?") from None


def _read_question(name: str, title: str, text: str) -> Question:
    """Return the question whose note and query are `text`. Raises ValueError if it has no note."""
    note = _NOTE.match(text)
    if note is None:
        raise ValueError(f"the question {name} has no note")
    lines = note[0].replace("-- ", "").split("\n")
    return Question(name, title, " ".join(lines).strip(), text[note.end() :].strip())
