"""``shoal methods``: what there is to choose from."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from shoal.cli import flags as shared


def methods_command(
    name: Annotated[str | None, typer.Argument(help="Show everything about this method.")] = None,
    as_json: shared.Json = False,
) -> None:
    """List the grouping methods, or show one of them with its options."""
    from shoal.cli.terminal import console, draw_rows
    from shoal.methods.registry import all_methods, get_method

    chosen = [get_method(name)] if name else list(all_methods().values())
    if as_json:
        typer.echo(json.dumps([_facts(method) for method in chosen], indent=2, ensure_ascii=False))
        return
    if name is None:
        draw_rows("", ["method", "time", "what it does"], [(m.name, m.cost, m.title) for m in chosen])
        console().print("\nMore about one of them: shoal methods NAME")
        return
    facts = _facts(chosen[0])
    options = facts.pop("options")
    draw_rows("", ["", ""], [(key, value) for key, value in facts.items() if value is not None])
    if options:
        draw_rows("\noptions (--option NAME=VALUE)", ["name", "type", "default"], [tuple(o.values()) for o in options])


def _facts(method: Any) -> dict[str, Any]:
    return {
        "name": method.name,
        "title": method.title,
        "data": method.data,
        "time": method.cost,
        "guarantee": method.guarantee,
        "when": method.when,
        "reference": method.reference,
        "largest_group": None if method.max_size is None else f"{method.max_size(5)} for k=5",
        "options": [
            {"name": option.name, "type": option.type_name, "default": option.default}
            for option in method.options.values()
        ],
    }
