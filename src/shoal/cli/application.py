"""The commands put together."""

from __future__ import annotations

import typer

from shoal.cli import assess, compare, demo, dp, evaluate, methods, protect, schema, verify

app = typer.Typer(
    name="shoal",
    help="Make tables about people safe to hand out: groups of at least k records that look alike, with evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("protect")(protect.protect_command)
app.command("verify")(verify.verify_command)
app.command("assess")(assess.assess_command)
app.command("evaluate")(evaluate.evaluate_command)
app.command("compare")(compare.compare_command)
app.command("dp")(dp.dp_command)
app.command("schema")(schema.schema_command)
app.command("methods")(methods.methods_command)
app.command("demo")(demo.demo_command)


@app.callback(invoke_without_command=True)
def shoal(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Make tables about people safe to hand out: groups of at least k records that look alike, with evidence."""
    if version:
        from shoal import __version__

        typer.echo(f"shoal {__version__}")
        raise typer.Exit
