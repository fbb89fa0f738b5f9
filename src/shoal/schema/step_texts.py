"""Steps as text: how a schema file, a run file and the command line write them, and how a manifest states them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import SchemaError, suggestion
from shoal.schema.steps import (
    AFTER,
    EXAMPLES,
    Band,
    Bottom,
    Code,
    MapValues,
    Outliers,
    Rare,
    Round,
    Shift,
    Step,
    Top,
    count_of,
    positive_of,
)

if TYPE_CHECKING:
    from shoal.schema.columns import Column


def parse_step(text: str) -> Step:
    """Return the step that a text states.

    Examples
    --------
    >>> parse_step("top 99%"), parse_step("band 0,18,65"), parse_step("rare 5 as other")
    (Top(bound='99%'), Band(bands=(0.0, 18.0, 65.0)), Rare(fewest=5, replacement='other'))
    >>> parse_step("topp 90")
    Traceback (most recent call last):
        ...
    shoal.errors.SchemaError: there is no step "topp"; did you mean "top"?
    """
    if not isinstance(text, str) or not text.strip():
        raise SchemaError(f"a step is a text such as {EXAMPLES['top']}")
    word, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    if word not in EXAMPLES:
        raise SchemaError(f'there is no step "{word}"; {suggestion(word, EXAMPLES)}')
    if bool(rest) == (word == "code"):
        raise SchemaError(f'the step "{text}" cannot be read; write, for example, {EXAMPLES[word]}')
    return _READERS[word](rest)


def step_text(step: Step | str) -> str:
    """Return a step as its text; a mapping that a file holds is written out."""
    return str(parse_step(step)) if isinstance(step, str) else str(step)


def step_texts(steps: Any) -> tuple[str, ...]:
    """Return one or several steps as texts.

    Examples
    --------
    >>> step_texts("top  90"), step_texts([Bottom(16), "top 90"])
    (('top 90',), ('bottom 16', 'top 90'))
    """
    several = [steps] if isinstance(steps, str) or not isinstance(steps, Iterable) else list(steps)
    if not all(isinstance(step, str | Step) for step in several):
        raise SchemaError('steps are texts such as "top 90", or values such as shoal.steps.Top(90)')
    return tuple(map(step_text, several))


def checked_steps(steps: Any, column: Column, *, after: bool) -> tuple[str, ...]:
    """Return the steps of a column as texts; raises where its role does not allow them."""
    texts = step_texts(steps)
    role, name = str(column.role), column.name
    words = [text.partition(" ")[0] for text in texts]
    if not texts:
        return ()
    if after:
        if role != "quasi":
            raise SchemaError(f'column "{name}" is not grouped, so nothing comes after; state its steps as before')
        for text, word in zip(texts, words, strict=True):
            if word not in AFTER or text.endswith("%"):
                raise SchemaError(
                    f'column "{name}": the step "{text}" needs the values of all records; state it before grouping'
                )
        return texts
    if role == "identifier" and texts != ("code",):
        raise SchemaError(f'column "{name}" is a direct identifier, which is dropped; its only step is code')
    if role in {"unit", "household", "time"}:
        advice = "; keep_links replaces the unit by a code" if role == "unit" else ""
        raise SchemaError(f'column "{name}" is the {role}, which is not released, so it has no steps{advice}')
    if role == "quasi" and "code" in words:
        raise SchemaError(f'column "{name}" is a quasi-identifier, whose values are grouped; a code has no distances')
    return texts


def stated_step(text: str) -> str:
    """Return a step as a manifest states it: without the values that a mapping names.

    Examples
    --------
    >>> stated_step('map {"a": "b", "c": "b"}'), stated_step("top 90")
    ('map (2 values)', 'top 90')
    """
    step = parse_step(text)
    if isinstance(step, MapValues):
        return f"map ({len(step.pairs)} value{'' if len(step.pairs) == 1 else 's'})"
    return text


def _read_map(rest: str) -> MapValues:
    if not rest.startswith("{"):
        return MapValues(Path(rest))  # type: ignore[arg-type]  # read by the step
    try:
        found = json.loads(rest)
    except (ValueError, RecursionError):
        raise SchemaError(f"a mapping cannot be read; write, for example, {EXAMPLES['map']}") from None
    return MapValues(found)


def _read_rare(rest: str) -> Rare:
    number, _, replacement = rest.partition(" as ")
    return Rare(count_of("rare", number.strip()), replacement.strip() or None)


def _read_outliers(rest: str) -> Outliers:
    found = re.fullmatch(r"(\S+)\s+within\s+(\S+)\s*%", rest)
    if found is None:
        raise SchemaError(f'the step "outliers {rest}" cannot be read; write, for example, {EXAMPLES["outliers"]}')
    return Outliers(positive_of("outliers", found[1]), positive_of("outliers", found[2]) / 100)


_READERS: Mapping[str, Any] = {
    "top": Top, "bottom": Bottom, "round": Round, "band": Band, "map": _read_map, "shift": Shift, "rare": _read_rare,
    "outliers": _read_outliers, "code": lambda _: Code(),
}  # fmt: skip
