"""Write docs/errors.md, the reference of all errors, from shoal.errors. Run: python docs/errors_page.py."""

import inspect
from pathlib import Path

from docstrings import cell, markdown, sections

from shoal import errors

PAGE = Path(__file__).parent / "errors.md"
HEAD = """\
# Errors

An error of a user is one sentence that names the column or the option, the problem and the way out. It never contains
a value of a record. On the command line the sentence is printed on standard error, without a traceback; in Python it
is the text of an exception, in the words of Python. `docs/errors_page.py` writes this page from `shoal.errors`.

## Exit codes

The command line ends with 0 where all is done, 1 where a requirement is violated, 2 for wrong use, 3 for an internal
error, 130 or 143 where it was stopped; in all cases but the first nothing was written. More: [the command line in
scripts](command-line.md#exit-codes).

## Classes

All of them derive from `shoal.errors.ShoalError`, so `except shoal.errors.ShoalError` catches every error that a user
can correct. Each is also an exception of Python, which code that does not know Shoal can catch. With `--json` the
class is the entry `error.type`.

| class | raised where | also a | exit code |
|---|---|---|--:|
"""
FOOT = """
## In Python

```python
import shoal

people = shoal.datasets.patients(100)
try:
    shoal.protect(people, 5, quasi=["age", "incme"], unnamed="other")
except shoal.errors.UnknownColumn as problem:
    print(problem)  # column "incme" is not in the table; did you mean "income"?
    print(shoal.errors.exit_code(problem))  # 2
```

Anything else that a function of Shoal raises is a defect. The command line then prints one sentence, ends with exit
code 3, and shows the traceback if `SHOAL_DEBUG=1` is set; report it without confidential values.
"""


def classes():
    """Return all classes of errors, in the order of the module."""
    found = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, errors.ShoalError)]
    return sorted(found, key=lambda one: inspect.getsourcelines(one)[1])


def row(kind):
    """Return the line of one class."""
    first = sections(inspect.getdoc(kind))[""].split("\n\n")[0]
    parents = [one.__name__ for one in kind.__mro__[1:] if one.__module__ == "builtins"]
    own = [one.__name__ for one in kind.__bases__ if one.__module__ == errors.__name__]
    shown = ", ".join(f"`{name}`" for name in [*own, *parents] if name not in {"Exception", "BaseException", "object"})
    code = errors.exit_code(kind.__new__(kind))
    return f"| `{kind.__name__}` | {cell(markdown(first))} | {shown} | {code} |"


def page():
    """Return the text of the page."""
    return HEAD + "\n".join(map(row, classes())) + "\n" + FOOT


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
