"""``shoal schema``: draft the file that says what each column is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import flags as shared
from shoal.errors import FileProblem


def schema_command(
    file: Annotated[Path, typer.Argument(help="The table.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the TOML file goes; printed if not given.")
    ] = None,
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = None,
    decimal: shared.Decimal = None,
    na: shared.Na = None,
    quiet: shared.Quiet = False,
) -> None:
    """Guess the role and kind of each column and write them, with reasons, as a file to correct."""
    from shoal.cli.terminal import console, draw_rows
    from shoal.schema.inference import infer_schema
    from shoal.schema.toml import format_schema
    from shoal.tables import check_output, read_table, write_files
    from shoal.tables.files import write_text

    if output is not None:
        check_output(output, inputs=(file,), table=False)
    schema = infer_schema(read_table(file, **shared.read_options(delimiter, encoding, decimal, na)))
    text = format_schema(schema, file.name)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_files({output: lambda place: write_text(place, text)})
    if not quiet:
        draw_rows("", ["column", "role", "kind", "why"], schema.explain())
        console().print(
            f"\nwritten: {output}. Read it, correct it, then pass it on with --schema {output}", soft_wrap=True
        )


def read_schema_file(path: Path) -> str:
    """Return the text of a schema file, or an error that says why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise FileProblem(f'schema file "{path}" cannot be read: {problem.strerror}') from None
    except UnicodeDecodeError:
        raise FileProblem(f'schema file "{path}" is not UTF-8 text; save it as UTF-8') from None
