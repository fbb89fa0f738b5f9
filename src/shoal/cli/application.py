"""The command-line application: all commands."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

import typer

from shoal.cli import assess, compare, demo, dp, evaluate, methods, protect, run, schema, sign, verify
from shoal.cli.compile import compile_command
from shoal.cli.log_file import exit_code
from shoal.cli.process import INTERRUPTED, Terminated, guarded_output, open_standard_files, sigterm_raises
from shoal.core.memory import check_address_space
from shoal.errors import ParameterError, ShoalError, one_line

app = typer.Typer(
    name="shoal",
    help="Reduce the disclosure risk of microdata by k-anonymous microaggregation, with measured evidence.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("protect")(protect.protect_command)
app.command("run")(run.run_command)
app.command("verify")(verify.verify_command)
app.command("sign")(sign.sign_command)
app.command("fingerprint")(sign.fingerprint_command)
app.command("assess")(assess.assess_command)
app.command("evaluate")(evaluate.evaluate_command)
app.command("compare")(compare.compare_command)
app.command("dp")(dp.dp_command)
app.command("schema")(schema.schema_command)
app.command("methods")(methods.methods_command)
app.command("compile")(compile_command)
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


def program() -> None:
    """Run the command line as a process of its own.

    The process ends without the clean-up of the interpreter, in which a thread of a library that still runs may abort
    it after all work is done. All files are closed and all output is flushed by then.
    """
    open_standard_files()
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def main() -> None:
    """Run the command line; a user's mistake becomes one sentence and exit code 2."""
    with guarded_output() as output, sigterm_raises():
        code = _run()
        output.flush()
    if output.problem is not None:
        reason = (output.problem.strerror or "unknown reason").lower()
        _say(f"the result could not be printed ({reason}); {_written()}")
        code = code or 2
    sys.exit(code)


def _run() -> int:
    """Run a command and return the exit code."""
    try:
        if not {"-h", "--help", "--version"} & set(sys.argv):
            check_address_space()  # before the first library is loaded
        code = app(prog_name="shoal", standalone_mode=False)
    except ShoalError as problem:
        code = exit_code(problem)
        text = problem.command_line or str(problem)
        return _fail(text if code == 1 else text.replace("nothing was written", _written()), problem, code)
    except Terminated as problem:
        return _fail(f"terminated; {_written()}", problem, 143)
    except MemoryError as problem:
        return _fail(f"the table does not fit into memory; {_written()}", problem, 2)
    except BaseException as fault:
        if not isinstance(fault, Exception) and type(fault).__name__ != "PanicException":  # of a library in Rust
            raise
        if type(fault).__name__ == "NoArgsIsHelpError":  # shoal alone prints its help
            fault.show()  # type: ignore[attr-defined]
            return 2
        if hasattr(fault, "format_message"):  # an option or argument that typer does not accept
            wrong = ParameterError(_usage(fault))
            return _fail(str(wrong), wrong, 2)
        if os.environ.get("SHOAL_DEBUG"):
            raise
        return _fail(  # the text of a foreign error may quote values of records: it is not shown
            f"internal error ({type(fault).__name__}); {_written()}. Report it with the output of the same command "
            "under SHOAL_DEBUG=1, after removing confidential values",
            fault,
            3,
        )
    if code == INTERRUPTED:  # typer returns it for Ctrl-C
        return _fail(f"stopped; {_written()}", KeyboardInterrupt(), INTERRUPTED)
    return code if isinstance(code, int) else 0


def _fail(text: str, problem: BaseException, code: int) -> int:
    """Print an error as a sentence, with --json also as JSON on standard output; returns the exit code."""
    _say(text)
    options = sys.argv[1 : sys.argv.index("--") if "--" in sys.argv else None]
    if "--json" in options and not _prints_table(options):
        from shoal.cli.flags import print_json

        print_json({"error": {"type": type(problem).__name__, "message": text, "exit_code": code}})
    return code


def _prints_table(options: list[str]) -> bool:
    """Return whether a command was asked to print the released table, which shares standard output with nothing."""
    pairs = zip(options, [*options[1:], ""], strict=True)
    return any((name in {"-o", "--output"} and value == "-") or name in {"-o-", "--output=-"} for name, value in pairs)


def _usage(fault: Any) -> str:
    """Return what is wrong with the arguments as one sentence that names the page of help."""
    context = getattr(fault, "ctx", None)
    command = context.command_path if context is not None else "shoal"
    text = fault.format_message().strip().rstrip(".").replace("\n", " ")
    return f"{text[:1].lower()}{text[1:]}; see {command} --help"


def _written() -> str:
    """Return which files this process has written, for a message about an early end."""
    if "shoal.tables.atomic" not in sys.modules:  # what was not loaded has written nothing
        return "nothing was written"
    from shoal.tables.atomic import written_files

    files = [one_line(str(path)) for path in written_files()]
    return f"written: {', '.join(files)}" if files else "nothing was written"


def _say(text: str) -> None:
    with suppress(OSError, ValueError):  # there is no other place to say it
        sys.stderr.write(f"shoal: {text}\n")
        sys.stderr.flush()
