"""Write the reference of all commands and their options, from the declarations that the command line itself reads.

python docs/commands.py
"""

from pathlib import Path

import typer

from shoal.cli.application import app

PAGE = Path(__file__).parent / "commands.md"
HEAD = """\
# Commands and options

`shoal COMMAND --help` prints the same in the terminal. Options that several commands share have the same name and
meaning in all of them. How commands end, and what they print for other programs:
[the command line in scripts](command-line.md).
"""


def page():
    """Return the text of the page."""
    group = typer.main.get_command(app)
    commands = {name: group.get_command(None, name) for name in group.list_commands(None)}
    rows = [f"| [`shoal {name}`](#shoal-{name}) | {_first(command.help)} |" for name, command in commands.items()]
    parts = [HEAD, "| command | purpose |\n|---|---|\n" + "\n".join(rows) + "\n"]
    parts += [_section(name, command) for name, command in commands.items()]
    return "\n".join(parts)


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
