"""What a table that was made elsewhere discloses, and how useful it is, as plain values; runs in the worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.core.progress import Progress


def checked_table(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Assess a table, and evaluate it where its original is given.

    Parameters
    ----------
    payload
        ``released`` and ``original`` (a path or the empty text), ``quasi`` and ``confidential`` as named, and ``plan``
        with those of the open plan.
    progress
        Progress callback.
    """
    from shoal.api.checks import assess

    quasi, confidential, guessed = _roles(payload)
    found = assess(payload["released"], quasi=quasi, confidential=confidential, unnamed="other", progress=progress)
    risk = found.risk
    several = len(found.columns) > 1
    rows = [list(row) if several else [row[0], row[1], row[-1]] for row in found.rows()]
    heads = ["measure", "all", *found.columns, "meaning"] if several else ["measure", "", "meaning"]
    sheets = [
        {"title": "Privacy models", "heads": heads, "rows": rows, "names": list(found.columns)},
        {
            "title": "Re-identification risk",
            "heads": ["risk", "", "meaning"],
            "rows": [
                ["highest", _percent(risk.prosecutor.highest), "of the row with the highest risk"],
                ["average", _percent(risk.prosecutor.average), "over all rows"],
                ["unique", _percent(risk.unique), "rows that no other row equals in the quasi-identifiers"],
            ],
        },
    ]
    notes = list(found.notes)
    if payload["original"]:
        from shoal.api.evaluation import evaluate

        risks, uses = evaluate(
            payload["original"], payload["released"], quasi=quasi, confidential=confidential, unnamed="other",
            progress=progress,
        )  # fmt: skip
        sheets += [
            {"title": "Risk against the original", "heads": ["measure", "figure", "baseline", "meaning"],
             "rows": [list(row) for row in risks.rows()]},
            {"title": "Data utility", "heads": ["measure", "figure", "meaning"],
             "rows": [list(row) for row in uses.rows()]},
        ]  # fmt: skip
        notes += [*risks.notes, *uses.notes]
    k = int(found.sizes.min())
    return {
        "k": k,
        "sentence": f"{found.records:,} rows in {found.sizes.size:,} equivalence classes; the smallest has {k:,}. An "
        "intruder who knows all quasi-identifiers of a person re-identifies the person with a probability of at most "
        f"{_percent(risk.prosecutor.highest)}.",
        "quasi": quasi, "confidential": confidential, "guessed": guessed, "sheets": sheets,
        "notes": list(dict.fromkeys(notes)),
    }  # fmt: skip


def _roles(payload: Mapping[str, Any]) -> tuple[list[str], list[str], bool]:
    """Return quasi-identifiers and confidential columns: the named ones, those of the plan, or else guessed ones."""
    from shoal.errors import ParameterError
    from shoal.schema.inference import infer_schema
    from shoal.schema.loading import load_typed
    from shoal.schema.plan import ReadOptions

    quasi, confidential = list(payload["quasi"]), list(payload["confidential"])
    if quasi:
        return quasi, confidential, False
    table = load_typed(payload["released"], ReadOptions())
    plan: Mapping[str, list[str]] = payload["plan"]
    present = [name for name in plan.get("quasi", ()) if name in table.names]
    if present:
        kept = [name for name in plan.get("confidential", ()) if name in table.names]
        return present, confidential or kept, False
    guess = {column.name: str(column.role) for column in infer_schema(table).columns}
    quasi = [name for name, role in guess.items() if role == "quasi" and name not in confidential]
    if not quasi:
        raise ParameterError("no quasi-identifier was found by its name; name the quasi-identifiers of the table")
    return quasi, confidential or [name for name, role in guess.items() if role == "confidential"], True


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"
