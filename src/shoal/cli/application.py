"""The command-line application: all commands, and the process that runs one.

A command is imported when it is called or listed. Results are printed after all files are written. A reader that closes
the pipe (``shoal ... | head``) does not change the exit code; an output that cannot be written for another reason (a
full disk) is reported when the command has ended.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import typer
from typer.core import TyperGroup

from shoal.errors import ParameterError, ShoalError, exit_code, one_line

COMMANDS = {
    "protect": "protect:protect_command",
    "run": "run:run_command",
    "verify": "verify:verify_command",
    "sign": "sign:sign_command",
    "fingerprint": "sign:fingerprint_command",
    "assess": "assess:assess_command",
    "evaluate": "evaluate:evaluate_command",
    "compare": "compare:compare_command",
    "dp": "dp:dp_command",
    "schema": "schema:schema_command",
    "methods": "methods:methods_command",
    "compile": "compile:compile_command",
    "demo": "demo:demo_command",
    "studio": "studio:studio_command",
}
"""The commands in the order of the help: the module of each in this package, and its function there."""
INTERRUPTED = 130
"""The exit code after Ctrl-C."""


class Commands(TyperGroup):
    """The commands, each of which is imported when it is needed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # loaded by get_command

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or None for an unknown name."""
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            module, _, function = COMMANDS[cmd_name].partition(":")
            single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
            single.command(cmd_name)(getattr(import_module(f"shoal.cli.{module}"), function))
            self.commands[cmd_name] = _said_help(typer.main.get_command(single))
        return super().get_command(ctx, cmd_name)


def _said_help(command: Any) -> Any:
    """Return a command whose help is in the language of this process."""
    from shoal.cli.flags import said

    command.help = "\n\n".join(said(" ".join(part.split())) for part in (command.help or "").split("\n\n"))
    for parameter in command.params:
        if getattr(parameter, "help", None):
            parameter.help = said(parameter.help)
    return command


app = typer.Typer(
    name="shoal",
    cls=Commands,
    help="Reduce the disclosure risk of microdata by k-anonymous microaggregation, with measured evidence.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
        if _is_limited() and not {"-h", "--help", "--version"} & set(sys.argv):
            from shoal.core.memory import check_address_space

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


def _is_limited() -> bool:
    """Return whether the address space of this process is limited."""
    try:
        import resource
    except ImportError:  # not on Windows
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


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
    from shoal.cli.flags import said

    with suppress(OSError, ValueError):  # there is no other place to say it
        sys.stderr.write(f"shoal: {said(text)}\n")
        sys.stderr.flush()


class Terminated(BaseException):
    """The process received SIGTERM; no Exception, so that nothing between takes it for an error of its own."""


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Let SIGTERM raise :class:`Terminated`, so that temporary files are removed; only in the main thread."""
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def stop(_number: int, _frame: Any) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def open_standard_files() -> None:
    """Connect closed standard files with the null device; otherwise a table could receive the number of one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # receives the lowest free number
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - used to the end
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - used to the end


class Output:
    """Standard output that raises no error; what could not be printed is remembered as :attr:`problem`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._open = stream is not None
        self.problem: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Print a text, unless the output is closed."""
        self._try("write", text)
        return len(text)

    def flush(self) -> None:
        """Flush the output, unless it is closed."""
        self._try("flush")

    def _try(self, name: str, *arguments: str) -> None:
        if not self._open:
            return
        try:
            getattr(self._stream, name)(*arguments)
        except OSError as error:
            self._open = False
            self.problem = None if error.errno == errno.EPIPE else error
            self._drop()

    def _drop(self) -> None:
        """Connect the output with the null device, so that what is still in its buffer raises no error at the end."""
        with suppress(OSError, ValueError, AttributeError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)


@contextmanager
def guarded_output() -> Iterator[Output]:
    """Print through :class:`Output`; characters that the encoding of the output lacks are printed as escapes."""
    before: Any = sys.stdout
    streams: tuple[Any, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")
    output = Output(before)
    sys.stdout = output
    try:
        yield output
    finally:
        sys.stdout = before
