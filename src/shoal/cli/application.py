"""The command-line application: all commands."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer

from shoal.cli import assess, compare, demo, dp, evaluate, methods, protect, schema, verify
from shoal.errors import GroupTooSmall, ParameterError, RequirementNotMet, ShoalError

app = typer.Typer(
    name="shoal",
    help="Reduce the disclosure risk of microdata by k-anonymous microaggregation, with measured evidence.",
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
    """Reduce the disclosure risk of microdata by k-anonymous microaggregation, with measured evidence."""
    if version:
        from shoal import __version__

        typer.echo(f"shoal {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; a user's mistake becomes one sentence and exit code 2."""
    try:
        code = app(prog_name="shoal", standalone_mode=False)
    except (GroupTooSmall, RequirementNotMet) as problem:
        _say(problem)
        sys.exit(1)
    except ShoalError as problem:
        _say(problem)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("shoal: stopped; nothing was written\n")
        sys.exit(130)
    except MemoryError:
        sys.stderr.write("shoal: the table does not fit into memory; nothing was written\n")
        sys.exit(2)
    except Exception as fault:
        if type(fault).__name__ == "NoArgsIsHelpError":  # shoal alone prints its help
            fault.show()  # type: ignore[attr-defined]
            sys.exit(2)
        if hasattr(fault, "format_message"):  # an option or argument that typer does not accept
            _say(ParameterError(_usage(fault)))
            sys.exit(2)
        if os.environ.get("SHOAL_DEBUG"):
            raise
        sys.stderr.write(  # the text of a foreign error may quote values of records: it is not shown
            f"shoal: internal error ({type(fault).__name__}); no file was written. Report it with the output of the "
            "same command under SHOAL_DEBUG=1, after removing confidential values\n"
        )
        sys.exit(3)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(fault: Any) -> str:
    """Return what is wrong with the arguments as one sentence that names the page of help."""
    context = getattr(fault, "ctx", None)
    command = context.command_path if context is not None else "shoal"
    text = fault.format_message().strip().rstrip(".").replace("\n", " ")
    return f"{text[:1].lower()}{text[1:]}; see {command} --help"


def _say(problem: ShoalError) -> None:
    sys.stderr.write(f"shoal: {problem}\n")
