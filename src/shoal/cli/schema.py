"""``shoal schema``: draft a schema file with a role and a kind for each column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import flags

if TYPE_CHECKING:
    from shoal.schema.columns import Schema


@flags.command("reading", "output")
def schema_command(
    given: flags.Given,
    file: flags.File,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="TOML file to write; printed if not given.")
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Ask for the role and the kind of each doubtful column.")] = False,
    force: flags.Force = False,
) -> None:
    """Propose a role and a kind for each column, with reasons, as a file to review and correct."""
    from shoal.api.banding import column_to_band
    from shoal.cli.terminal import console, draw_rows, printable
    from shoal.schema.column_profile import describe_column
    from shoal.schema.determined_masks import determined_masks
    from shoal.schema.inference import infer_schema
    from shoal.schema.loading import load_typed
    from shoal.schema.number_marks import marks_among_numbers
    from shoal.schema.plan import ReadOptions, schema_dict
    from shoal.schema.toml import format_schema
    from shoal.tables import write_files
    from shoal.tables.files import check_output, write_text
    from shoal.tables.value_codes import polars_series

    if output is not None:
        check_output(output, inputs=(file,), table=False, overwrite=force)
    table = load_typed(file, ReadOptions.of(given.read_options()))
    schema = infer_schema(table)
    remarks = {name: describe_column(table, name) for name in table.names}
    for name, rule in determined_masks(table).items():
        remarks[name] += f'; {rule}: if these cells cannot have a value, state not_applicable = [""]'
    for name in table.names:
        marks = marks_among_numbers(polars_series(table.column(name)))
        if marks:
            schema = schema.updated(kinds={name: "numeric"})
            remarks[name] += f"; numbers and {' and '.join(marks)}: if that means missing, state --na-values"
    if ask:
        from shoal.cli.questions import ask_columns

        schema = ask_columns(schema, remarks)
    banded = column_to_band(table, schema)
    if banded is not None:
        remarks[banded[0]] = "; ".join(filter(None, (remarks[banded[0]], banded[1])))
    text = format_schema(schema, file.name if isinstance(file, Path) else "a database", remarks)
    if output is not None:
        write_files({output: lambda target: write_text(target, text)}, private=(output,))
    if given.json:
        flags.print_json(_proposal(schema_dict(schema), schema))
    elif output is None:
        typer.echo(text, nl=False)
    elif not given.quiet:
        draw_rows("", ["column", "role", "kind", "reason"], schema.explain())
        if banded is not None:
            console().print(f'\ncolumn "{printable(banded[0])}": {banded[1]}', soft_wrap=True)
        shown = printable(str(output))
        console().print(f"\nwritten: {shown}. Review it, then use it with --schema {shown}", soft_wrap=True)


def _proposal(found: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Return a schema for JSON with the reason of each role, and whether a person has to decide it."""
    for entry, column in zip(found["columns"], schema.columns, strict=True):
        entry |= {"role_stated": column.role_stated, "reason": column.reason}
    return found
