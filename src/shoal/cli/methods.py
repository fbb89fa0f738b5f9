"""``shoal methods``: the grouping methods, supported ones first."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli import flags


@flags.command("output")
def methods_command(
    given: flags.Given,
    name: Annotated[str | None, typer.Argument(help="Show everything about this method.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List research methods too, not only the supported ones.")
    ] = False,
) -> None:
    """List the grouping methods, supported ones first, or show one of them with its options."""
    import shoal
    from shoal.cli.terminal import console, draw_rows

    listed = [shoal.get_method(name)] if name else list(shoal.all_methods().values())
    if given.json:
        flags.print_json({"methods": [_description(info) for info in listed]})
        return
    if name is not None:
        description = _description(listed[0])
        options = description.pop("options")
        draw_rows("", ["", ""], [(key, value) for key, value in description.items() if value is not None])
        if options:
            header = ["name", "values", "default"]
            draw_rows("\noptions (--option NAME=VALUE)", header, [tuple(entry.values()) for entry in options])
        return
    header = ["method", "time", "description"]
    supported = [info for info in listed if info.supported]
    draw_rows("supported: results are frozen for an algorithm version", header, [_row(info) for info in supported])
    research = [info for info in listed if not info.supported and info.built_in]
    installed = [info for info in listed if not info.built_in]
    if installed:
        draw_rows("\ninstalled or registered by other packages", header, [_row(info) for info in installed])
    if everything:
        draw_rows("\nresearch: results may change with a release", header, [_row(info) for info in research])
    else:
        console().print(f"\n{len(research)} research methods: shoal methods --all")
    console().print("\nDetails of one method: shoal methods NAME")


def _row(info: Any) -> tuple[str, str, str]:
    return info.identity, info.complexity, info.title


def _description(info: Any) -> dict[str, Any]:
    return {
        "name": info.name,
        "algorithm": info.identity,
        "status": "supported" if info.supported else "research",
        "built_in": info.built_in,
        "title": info.title,
        "data": info.data,
        "time": info.complexity,
        "guarantee": info.guarantee,
        "when": info.when,
        "reference": info.reference,
        "largest_group": None if info.max_size is None else f"{info.max_size(5)} for k=5",
        "options": [
            {"name": option.name, "values": option.type_text, "default": option.default}
            for option in info.options.values()
        ],
    }
