"""The same word for the same thing in Python and on the command line."""

import inspect
import json

import pytest
import typer
from typer.testing import CliRunner

import shoal
from shoal.api.evaluation import evaluate
from shoal.cli import flags
from shoal.cli.application import app

FUNCTIONS = {
    "protect": shoal.protect,
    "compare": shoal.compare,
    "assess": shoal.assess,
    "verify": shoal.verify,
    "evaluate": evaluate,
}
OF_ARGUMENT = {
    "overwrite": ["--force"],  # arguments of Python that are written in another number, or as several options
    "read_identifiers": ["--holder-record"],  # they are read for the record only
    "column_weights": ["--column-weight"],
    "hierarchies": ["--hierarchy"],
    "kinds": ["--numeric", "--nominal", "--ordinal"],
    "orders": ["--ordinal"],
    "read_options": ["--delimiter", "--encoding", "--decimal", "--na-values", "--sheet"],
    "progress": ["--quiet"],
    "options": ["--option"],
    "data": [],
    "original": [],
    "released": [],
    "choices": [],  # further arguments of compare, which are those of protect
}


def options_of(command):
    found = typer.main.get_command(app).get_command(None, command)
    return {name for parameter in found.params for name in parameter.opts}


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_argument_of_the_function_is_an_option_of_the_command(command):
    known = options_of(command)
    for argument in inspect.signature(FUNCTIONS[command]).parameters:
        if (command, argument) == ("compare", "options"):
            continue  # options of several methods are a mapping of mappings, which only Python can write
        for option in OF_ARGUMENT.get(argument, [f"--{argument.replace('_', '-')}"]):
            assert option in known, f"shoal {command} has no {option}"


@pytest.mark.parametrize("command", FUNCTIONS)
@pytest.mark.parametrize("group", ["roles", "reading", "output"])
def test_every_command_has_the_shared_options(command, group):
    wanted = {f"--{name.replace('_', '-')}" for name in flags.GROUPS[group]}
    assert wanted <= options_of(command)


@pytest.mark.parametrize("command", ["protect", "compare"])
@pytest.mark.parametrize("group", ["treatment", "models"])
def test_protect_and_compare_share_their_treatment(command, group):
    wanted = {f"--{name.replace('_', '-')}" for name in flags.GROUPS[group]}
    assert wanted <= options_of(command)


def test_a_list_option_can_be_written_on_the_command_line(tmp_path):
    from shoal.cli.protect import method_options

    assert method_options("safe", ["tables=0,1,0+1"]) == {"tables": "0,1,0+1"}
    assert method_options("mona-plus", ["passes=2", "leaf=mdav"]) == {"passes": 2, "leaf": "mdav"}
    with pytest.raises(shoal.errors.ParameterError, match="write it as NAME=VALUE"):
        method_options("mdav", ["single"])
    with pytest.raises(shoal.errors.ParameterError, match="give it as seed="):
        method_options("set-partition", ["seed=3"])


def test_what_json_prints_has_a_version(tmp_path):
    people = tmp_path / "people.csv"
    shoal.datasets.patients(30).write_csv(people)
    commands = [
        ["assess", people, "--quasi", "age", "--unnamed", "other"],
        ["verify", people, "-k", "2", "--quasi", "sex", "--unnamed", "other"],
        ["compare", people, "-k", "3", "--methods", "mdav", "--quasi", "age", "--unnamed", "other"],
        ["evaluate", people, people, "--quasi", "age", "--unnamed", "other"],
        ["schema", people],
        ["methods"],
    ]
    for command in commands:
        printed = CliRunner().invoke(app, [*map(str, command), "--json"])
        assert json.loads(printed.stdout)["json_version"] == flags.JSON_VERSION, command
