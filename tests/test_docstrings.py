"""Every public name states its purpose, parameters and result, and has an example that the tests run as a doctest."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import shoal
from shoal import all_methods

ROOT = Path(__file__).parents[1]
NO_EXAMPLE = {
    "shoal.datasets.adult_categories": "reads a file that is not part of Shoal",
    "shoal.datasets.adult_numbers": "reads a file that is not part of Shoal",
    "shoal.datasets.reference_path": "returns a path of this machine",
}


@pytest.fixture(scope="module")
def api():
    """The script that writes the reference."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module("api")
    finally:
        sys.path.remove(str(ROOT / "docs"))


def public_names(api):
    """Return all names of the reference, without the methods of classes."""
    found = {f"shoal.{name}": getattr(shoal, name) for names in api.PARTS.values() for name in names}
    for module in api.MODULES:
        found |= {f"{module}.{name}": thing for name, thing in api.public(importlib.import_module(module))}
    return found


def lacking(api, thing):
    """Return what the docstring of a function or class does not have."""
    parts = api.sections(inspect.getdoc(thing) or "")
    lacks = [] if parts[""].strip() else ["purpose"]
    if inspect.isfunction(thing):
        listed = re.findall(r"^(\S[^:\n]*)", parts.get("Parameters", ""), flags=re.MULTILINE)
        described = {name.strip(" *") for names in listed for name in names.split(",")}
        lacks += [name for name in inspect.signature(thing).parameters if name not in described]
        returns = inspect.signature(thing).return_annotation
        lacks += [] if "Returns" in parts or returns in {None, "None"} else ["Returns"]
    return lacks + ([] if ">>>" in parts.get("Examples", "") else ["Examples"])


def test_every_public_name_is_described_with_an_example(api):
    names = public_names(api)
    assert len(names) > 120
    found = {name: lacking(api, thing) for name, thing in names.items()}
    assert {name: lacks for name, lacks in found.items() if lacks not in ([], ["Examples"])} == {}
    assert {name for name, lacks in found.items() if lacks == ["Examples"]} == set(NO_EXAMPLE)


def test_every_public_method_and_property_of_a_class_states_its_purpose(api):
    silent = []
    for name, thing in public_names(api).items():
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            function = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
            if not member.startswith("_") and inspect.isfunction(function) and not inspect.getdoc(function):
                silent.append(f"{name}.{member}")
    assert silent == []


def test_what_a_docstring_lacks_is_found(api):
    def described(one, two):
        """Do it.

        Parameters
        ----------
        one
            First.
        """

    assert lacking(api, described) == ["two", "Returns", "Examples"]


def test_every_method_states_paper_cost_and_when_to_use_it():
    for name, info in all_methods().items():
        if info.built_in:
            text = inspect.getdoc(sys.modules[info.function.__module__]) or ""
            assert len(text) > 80, name
            assert all([info.title, info.complexity, info.guarantee, info.reference, info.when]), name
