"""Write the reference of all commands and their options, from the declarations that the command line itself reads.

python docs/commands.py
"""

import re
from pathlib import Path

import typer

import shoal
from shoal.cli.application import app

PAGE = Path(__file__).parent / "commands.md"
VARIABLES = {
    "SHOAL_CACHE": "The folder for [compiled loops](install.md#compiled-loops).",
    "SHOAL_DATA": "The folder of reference tables, which `shoal.datasets.load` reads.",
    "SHOAL_DEBUG": "With `1` an internal error shows its traceback, which may quote values of records.",
    "SHOAL_LANGUAGE": "`en` or `de`, instead of the language of the environment; see [German texts](languages.md).",
    "SHOAL_STUDIO": "The folder of the [studio](studio.md#what-is-stored-and-where) for uploads and history.",
}
"""Environment variables that users may set."""
HEAD = """\
# Commands and options

`shoal COMMAND --help` prints the same in the terminal. Options that several commands share have the same name and
meaning in all of them. Each command ends with an exit code of 0 (done), 1 (a requirement is violated), 2 (wrong use),
3 (internal error) or 130 and 143 (stopped by Ctrl-C or SIGTERM), and nothing is written unless it is 0: [exit
codes](command-line.md#exit-codes). What commands print for other programs: [results as
JSON](command-line.md#results-as-json).
"""


def page():
    """Return the text of the page."""
    group = typer.main.get_command(app)
    commands = {name: group.get_command(None, name) for name in group.list_commands(None)}
    rows = [f"| [`shoal {name}`](#shoal-{name}) | {_first(command.help)} |" for name, command in commands.items()]
    parts = [HEAD, "| command | purpose |\n|---|---|\n" + "\n".join(rows) + "\n"]
    parts += [_section(name, command) for name, command in commands.items()]
    general = [parameter for parameter in group.params if not parameter.hidden]
    parts += ["## Options of shoal itself", "", "| option | meaning | default |", "|---|---|---|"]
    parts += [*map(_option_row, general), "", "## Environment variables", ""]
    parts += ["| variable | meaning |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in variables().items())]
    return "\n".join(parts) + "\n"


def variables():
    """Return the environment variables that the source reads, with their meaning."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in Path(shoal.__file__).parent.rglob("*.py"))
    found = set(re.findall(r"\bSHOAL_[A-Z]+\b", sources))
    if found != set(VARIABLES):
        raise SystemExit(f"docs/commands.py differs in the variables {sorted(found ^ set(VARIABLES))}")
    return VARIABLES


def _section(name, command):
    """Return the section of a command."""
    shown = [parameter for parameter in command.params if not parameter.hidden]
    arguments = [parameter for parameter in shown if parameter.param_type_name == "argument"]
    options = [parameter for parameter in shown if parameter.param_type_name != "argument"]
    usage = " ".join(["shoal", name, *(map(_placeholder, arguments)), "[OPTIONS]"])
    text = [
        f"## shoal {name}",
        "",
        _paragraphs(command.help),
        "",
        f"<!-- shown: a usage line -->\n```text\n{usage}\n```",
        "",
    ]
    if arguments:
        text += ["| argument | meaning |", "|---|---|"]
        text += [f"| `{argument.name.upper()}` | {_cell(argument.help)} |" for argument in arguments] + [""]
    text += ["| option | meaning | default |", "|---|---|---|", *map(_option_row, options), ""]
    return "\n".join(text)


def _placeholder(argument):
    """Return an argument as a usage line shows it."""
    text = argument.name.upper() + ("..." if argument.nargs != 1 else "")
    return text if argument.required else f"[{text}]"


def _option_row(option):
    """Return the row of an option: its names, its meaning, its default."""
    names = sorted([*option.opts, *option.secondary_opts], key=lambda name: (len(name) > 2, name))
    written = ", ".join(f"`{name}`" for name in names)
    taken = f" `{option.metavar}`".replace("|", r"\|") if option.metavar else ""
    default = getattr(option.default, "value", option.default)
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    shown = "required" if option.required else f"`{default}`" if plain else ""
    return f"| {written}{taken} | {_cell(option.help)} | {shown} |"


def _cell(text):
    return " ".join((text or "").split()).replace("|", r"\|").replace("<", "&lt;")


def _first(text):
    """Return the first paragraph of a help text."""
    return _cell((text or "").split("\n\n")[0])


def _paragraphs(text):
    return "\n\n".join(" ".join(part.split()) for part in (text or "").replace("\b", "").split("\n\n"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
