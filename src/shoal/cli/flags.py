"""Options that several commands share, declared once and grouped; and how their texts are read.

A command names the groups that it takes: ``@command("roles", "reading")``. The decorator adds their options to the
signature that typer reads and passes all of them as one :class:`Given`, so that the same option has the same name, help
text and meaning everywhere.
"""

from __future__ import annotations

import csv
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.core.progress import Progress

INPUTS = ("file", "original", "released", "control", "population")
"""Arguments of commands that are tables to read, each a file or - for standard input."""


def path_or_uri(text: str) -> Any:
    """Return a path, or the URI of a database as it is."""
    from shoal.tables.files import is_database

    return text if is_database(text) else Path(text)


JSON_VERSION = 1
"""The version of what ``--json`` prints; the manifest and the plan have versions of their own."""
File = Annotated[
    Path,
    typer.Argument(
        parser=path_or_uri,
        help="The table: CSV (also .gz or .zst), Parquet (also a folder or pattern), Arrow, Excel, SPSS, Stata or SAS; "
        "- for standard input; sqlite:///people.db?table=people for a database.",
    ),
]
K = Annotated[int, typer.Option("-k", "--k", help="Minimum group size (k).")]
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        parser=path_or_uri,
        help="Output file; the extension sets the format. - for standard output, or the URI of a table.",
    ),
]
ManifestFile = Annotated[Path | None, typer.Option(help="Manifest file; beside the output if not given.")]
Population = Annotated[
    str | None,
    typer.Option(
        metavar="N|FILE",
        help="Number of individuals of the population, or a table of them; for journalist and marketer risk.",
    ),
]
SamplingFraction = Annotated[
    float | None, typer.Option(help="Share of the population that the table is, for example 0.01.")
]
ReportedPopulation = Annotated[
    str | None,
    typer.Option(
        "--population", metavar="N|FILE", help="For --report: individuals of the population, or a table of them."
    ),
]
ReportedFraction = Annotated[
    float | None, typer.Option("--sampling-fraction", help="For --report: share of the population that the table is.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def _names(text: str, metavar: str = "NAMES", *declared: str) -> Any:
    return Annotated[list[str] | None, typer.Option(*declared, metavar=metavar, help=text)]


def _one(kind: Any, text: str, *declared: str, metavar: str | None = None) -> Any:
    return Annotated[kind | None, typer.Option(*declared, metavar=metavar, help=text)]


GROUPS: Mapping[str, Mapping[str, tuple[Any, Any]]] = {
    "roles": {
        "quasi": (_names("Quasi-identifiers, comma-separated, for example age,region. Repeatable."), None),
        "confidential": (_names("Confidential (sensitive) attributes; released unchanged."), None),
        "identifiers": (_names("Direct identifiers; removed from the output."), None),
        "other": (_names("Columns that are released unchanged and count neither as known nor as confidential."), None),
        "unnamed": (
            _one(
                str,
                "Role of every column that is not named: other, quasi, identifiers or confidential; an unnamed column "
                "is an error if not given.",
            ),
            None,
        ),
        "unit": (_one(str, "Column that says which rows belong to one person; removed.", metavar="NAME"), None),
        "household": (
            _one(str, "Column that says which persons belong to one household; removed.", metavar="NAME"), None,
        ),
        "time": (
            _one(str, "Column that orders the rows of a person; removed unless named in another role.", metavar="NAME"),
            None,
        ),
        "schema": (_one(Path, "TOML file with roles and kinds, as drafted by shoal schema."), None),
        "numeric": (_names("Columns to treat as numbers."), None),
        "nominal": (_names("Columns to treat as unordered categories."), None),
        "ordinal": (_names("A column with ordered categories. Repeatable.", "NAME=A<B<C"), None),
        "hierarchy": (
            _names(
                "Generalisation hierarchy of a column: a file with a row per value and its ancestors, or auto, flat, "
                "prefixes, intervals, order, calendar. Repeatable.",
                "NAME=FILE",
            ),
            None,
        ),
        "strata": (_names("Columns whose values no group crosses; released unchanged."), None),
        "sampling_weight": (_one(str, "Column of sampling weights.", metavar="NAME"), None),
        "release_weight": (
            _one(str, "Sampling weight in the output: grouped (default; the mean of its group), unchanged or dropped."),
            None,
        ),
        "known": (_names("Further columns that an intruder may know; k is also counted with them."), None),
    },
    "persons": {
        "of": (
            _one(
                str,
                "What k counts: rows, units (persons; default with --unit), households or histories (persons with "
                "equal sequences of rows; default with --keep-links).",
            ),
            None,
        ),
        "keep_links": (
            Annotated[
                bool,
                typer.Option("--keep-links", help="The unit becomes a random code; the rows of a person stay linked."),
            ],
            False,
        ),
        "constant": (
            _names(
                "Quasi-identifiers that keep one value in all rows of a person; auto for all that are constant, none "
                "to decide that there are none."
            ),
            None,
        ),
    },
    "histories": {
        "slots": (
            _one(str, "Rows of histories are compared by rank from the last (default) or first row, or by time."), None,
        ),
        "suppressed_weight": (
            _one(float, "What a row that histories leave out costs, as a multiple of replacing it by the mean."), None,
        ),
        "weighting": (_one(str, "With --constant: every row counts the same (rows, default), or persons do."), None),
    },
    "released": {
        "original": (
            Annotated[
                Path | None,
                typer.Option(
                    parser=path_or_uri, help="Original of a released table, which has the unit that the release lacks."
                ),
            ],
            None,
        ),
        "record": (_one(Path, "Holder's record of the release, which states the order of its rows."), None),
    },
    "treatment": {
        "column_weight": (_names("Weights of columns in distances, for example age=2,income=0.5.", "NAME=X"), None),
        "missing": (
            _names(
                "Missing values of quasi-identifiers: error (default), fill (group by the known cells, give missing "
                "ones the representative), suppress (empty the column of a group that has some), by-pattern, impute "
                "or category; for all columns or NAME=P.",
                "[NAME=]P",
            ),
            None,
        ),
        "recode": (
            _names(
                "What replaces the values of a group: mean, median, mode, medoid, range, midrange, min, max, set, "
                "hierarchy, suppress or frequencies (a record that keeps frequency tables); for all columns or NAME=R.",
                "[NAME=]R",
            ),
            None,
        ),
        "not_applicable": (
            _names(
                "Codes of cells that cannot have a value, such as the wage of a child; a name alone means its empty "
                "cells. Never filled, averaged or mixed with others. Repeatable.",
                "NAME[=CODES]",
            ),
            None,
        ),
        "before": (
            _names(
                "Step before grouping: top 90, bottom 1%, round 100, band 10, map FILE, shift 30, rare 5, outliers 5 "
                "within 1%, code; in the order given. Repeatable.",
                "NAME=STEP",
            ),
            None,
        ),
        "after": (_names("Step after grouping on representatives, such as round 100. Repeatable.", "NAME=STEP"), None),
        "keep": (
            _names(
                'Rule between columns that is kept: "start<=end", "wage+rent=income"; also <. Repeatable.', "RULE"
            ),
            None,
        ),
        "together": (
            _names('Quasi-identifiers that are suppressed together: "roof,walls". Repeatable.', "NAMES"), None,
        ),
        "statistics": (_one(Path, "TOML file with [[statistics]] that must hold within their tolerances."), None),
        "shuffle": (
            Annotated[bool, typer.Option("--shuffle", help="Rows in a random order, which the holder's record keeps.")],
            False,
        ),
        "global_recoding": (
            Annotated[
                bool,
                typer.Option(
                    "--global-recoding",
                    help="Records with identical quasi-identifiers receive identical values.",
                ),
            ],
            False,
        ),
        "decimals": (
            _one(str, "Decimals of released numbers: input (default; integers stay integers), a number, full."), None,
        ),
        "sums": (
            _one(str, "Totals of columns replaced by means: rounded (default, discloses no record) or exact."), None,
        ),
        "keep_moments": (
            Annotated[
                bool,
                typer.Option(
                    "--keep-moments",
                    help="Keep means and covariances of numbers; two releases then disclose more by difference.",
                ),
            ],
            False,
        ),
        "max_size": (_one(int, "Maximum group size."), None),
        "time_limit": (_one(str, "Time limit of the method, for example 60s, 5m or 2h."), None),
    },
    "models": {
        "l": (_one(float, "Minimum l-diversity of each confidential attribute in each group.", "--l"), None),
        "l_kind": (_one(str, "Form of l-diversity: distinct (default), entropy or recursive."), None),
        "c": (_one(float, "The c of recursive (c, l)-diversity.", "--c"), None),
        "p": (_one(int, "p-sensitivity: minimum number of different confidential values.", "--p"), None),
        "alpha": (_one(float, "(alpha, k)-anonymity: maximum share of one confidential value in a group."), None),
        "t": (_one(float, "t-closeness: maximum distance of a group from the table.", "--t"), None),
        "beta": (_one(float, "beta-likeness: maximum relative gain in frequency of a confidential value."), None),
        "max_share": (_one(float, "Maximum part of the rows of a class that belong to one person (--unit)."), None),
    },
    "counting": {
        "confidential_as": (
            _one(str, "Several confidential attributes: separate (default), quasi or joint."), None,
        ),
        "missing_semantics": (
            _one(str, "A missing value is: distinct (default, equal to missing only), wildcard or error."), None,
        ),
    },
    "reading": {
        "delimiter": (_one(str, "Separator of fields of a text file; detected if not given."), None),
        "encoding": (_one(str, "Encoding of a text file; detected if not given."), None),
        "decimal": (_one(str, "Decimal separator of a text file, . or ,; detected if not given."), None),
        "na_values": (_names("Texts that mean a missing value: NA,?. An empty field always does.", "TEXTS"), None),
        "format": (
            _one(str, "Format of - as an extension: csv, parquet, ... For standard input and standard output."), None,
        ),
        "query": (_one(str, "SQL query, where the table is the URI of a database.", metavar="SQL"), None),
        "sheet": (_one(str, "Sheet of an Excel workbook; needed if it has more than one.", metavar="NAME"), None),
    },
    "output": {
        "threads": (
            Annotated[
                int | None, typer.Option(min=1, help="Number of threads; all cores if not given. Results are the same.")
            ],
            None,
        ),
        "json": (Json, False),
        "quiet": (Quiet, False),
        "log": (_one(Path, "Append what is done, and when, to this file; it holds no values of records."), None),
    },
}  # fmt: skip


class Given:
    """The shared options of one call of a command.

    Examples
    --------
    >>> Given({"quasi": ["age,region"], "quiet": True}).names("quasi")
    ['age', 'region']
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    @property
    def silent(self) -> bool:
        """Whether no progress is drawn."""
        return bool(self.values.get("quiet") or self.values.get("json"))

    @property
    def json(self) -> bool:
        """Whether the result is printed as JSON."""
        return bool(self.values.get("json"))

    @property
    def quiet(self) -> bool:
        """Whether nothing but errors is printed."""
        return bool(self.values.get("quiet"))

    @property
    def schema(self) -> Path | None:
        """The schema file."""
        return self.values.get("schema")

    def progress(self) -> AbstractContextManager[Progress]:
        """Return the progress of a command: drawn on the terminal, and its stages in the log file if there is one."""
        if self.silent and self.values.get("log") is None:
            from shoal.core.progress import SILENT

            return nullcontext(SILENT)
        from shoal.cli.terminal import drawn_progress

        return drawn_progress(quiet=self.silent)

    def output_file(self, output: Path) -> AbstractContextManager[Path]:
        """Return the file to write; where the output is -, a private one that is printed at the end."""
        if str(output) != "-":
            return nullcontext(output)
        from shoal.cli.standard_files import with_standard_output

        return with_standard_output(self.values["format"], json=self.json)

    def inputs(self, *files: Path | None) -> list[Path]:
        """Return the files that a command reads, which no output may replace: those named here and by options."""
        named = [
            *files,
            self.schema,
            self.values.get("statistics"),
            *split_pairs(self.values.get("hierarchy"), "--hierarchy").values(),
        ]
        steps = [text for option in ("before", "after") for text in self.values.get(option) or []]
        named += [path for step in steps for path in [step.partition("=map ")[2].strip()] if path[:1] not in {"", "{"}]
        return [Path(file) for file in named if file is not None]

    def names(self, option: str) -> list[str] | None:
        """Return an option that lists names."""
        return split_names(self.values.get(option))

    def columns(self) -> dict[str, Any]:
        """Return roles, kinds and treatment of columns as arguments of the Python functions."""
        ordinal = _ordinal_pairs(self.values.get("ordinal"))
        kinds = {
            **dict.fromkeys(self.names("numeric") or [], "numeric"),
            **dict.fromkeys(self.names("nominal") or [], "nominal"),
            **dict.fromkeys(ordinal, "ordinal"),
        }
        arguments: dict[str, Any] = {
            "quasi": self.names("quasi"),
            "confidential": self.names("confidential"),
            "identifiers": self.names("identifiers"),
            "other": self.names("other"),
            "unnamed": self.values.get("unnamed"),
            "unit": self.values.get("unit"),
            "household": self.values.get("household"),
            "time": self.values.get("time"),
            "kinds": kinds or None,
            "orders": {name: order.split("<") for name, order in ordinal.items() if order} or None,
            "hierarchies": split_pairs(self.values.get("hierarchy"), "--hierarchy") or None,
            "strata": self.names("strata"),
            "sampling_weight": self.values.get("sampling_weight"),
            "release_weight": self.values.get("release_weight"),
            "known": self.names("known"),
        }
        if "keep_links" in self.values:
            arguments["keep_links"] = self.values["keep_links"] or None  # a schema file may state it
        if "constant" in self.values:
            arguments["constant"] = self.names("constant")
        if "column_weight" in self.values:
            arguments |= {
                "column_weights": split_numbers(self.values.get("column_weight"), "--column-weight") or None,
                "missing": _one_or_pairs(self.values.get("missing"), "--missing"),
                "recode": _one_or_pairs(self.values.get("recode"), "--recode"),
                "not_applicable": _codes(self.values.get("not_applicable")),
                "before": _steps(self.values.get("before"), "--before"),
                "after": _steps(self.values.get("after"), "--after"),
                "statistics": self.values.get("statistics"),
                "shuffle": self.values.get("shuffle") or None,  # a schema file may state it
                "keep": self.values.get("keep") or None,
                "together": self.values.get("together") or None,
            }
        return arguments

    def requirements(self) -> dict[str, Any]:
        """Return the requirements beyond k as arguments of the Python functions."""
        names = ("l", "c", "p", "alpha", "t", "beta", "max_share")
        arguments = {name: self.values[name] for name in names if name in self.values}
        if self.values.get("l_kind") is not None:
            arguments["l_kind"] = self.values["l_kind"]
        if self.values.get("of") is not None:
            arguments["of"] = self.values["of"]
        if "max_size" in self.values:
            arguments |= {"max_size": self.values["max_size"], "global_recoding": self.values["global_recoding"]}
        return arguments

    def person_options(self) -> dict[str, Any]:
        """Return how whole persons are grouped as arguments of the Python functions."""
        return {name: self.values.get(name) for name in ("slots", "suppressed_weight", "weighting")}

    def decimals(self) -> int | str:
        """Return the decimals of released numbers."""
        text = self.values.get("decimals") or "input"
        return int(text) if text.isdecimal() else text

    def sums(self) -> str:
        """Return how totals are released."""
        return self.values.get("sums") or "rounded"

    def counting(self) -> dict[str, Any]:
        """Return how confidential attributes and missing values are counted."""
        return {
            "confidential_as": self.values.get("confidential_as") or "separate",
            "missing_semantics": self.values.get("missing_semantics") or "distinct",
        }

    def released(self) -> dict[str, Any]:
        """Return what k counts in a released table, and from which files."""
        return {name: self.values.get(name) for name in ("of", "original", "record")}

    def read_options(self) -> dict[str, Any]:
        """Return what the reader of text files has to know; ``tab`` or a backslash and t mean a tabulator."""
        delimiter = self.values.get("delimiter")
        return {
            "delimiter": "\t" if delimiter in {"\\t", "tab", "TAB"} else delimiter,
            "encoding": self.values.get("encoding"),
            "decimal": self.values.get("decimal"),
            "na_values": tuple(self.names("na_values") or ()),
            "sheet": self.values.get("sheet"),
            "query": self.values.get("query"),
        }


def command(*groups: str, without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds groups of shared options to a command, which receives them as a :class:`Given`."""
    shared = {name: option for group in groups for name, option in GROUPS[group].items() if name not in without}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = list(signature.parameters.values())[1:]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in shared.items()
        ]

        def run(**values: Any) -> None:
            given = Given({name: values.pop(name) for name in shared})
            use_threads(given.values.get("threads"))
            with ExitStack() as around:
                if given.values.get("log") is not None:
                    from shoal.cli.log_file import logged

                    around.enter_context(logged(given.values["log"], function.__name__.removesuffix("_command")))
                standard = [name for name in INPUTS if str(values.get(name)) == "-"]
                if standard:
                    from shoal.cli.standard_files import with_standard_input

                    values |= around.enter_context(with_standard_input(standard, given.values.get("format")))
                function(given, **values)

        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        run.__signature__ = signature.replace(parameters=[*parameters, *added])  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *added]}
        run.__doc__, run.__name__, run.__module__ = function.__doc__, function.__name__, function.__module__
        return run

    return decorate


def split_names(texts: Sequence[str] | None) -> list[str] | None:
    """Return comma-separated names as a list; quote a name that contains a comma.

    Examples
    --------
    >>> split_names(['age,"income, net"', "region"])
    ['age', 'income, net', 'region']
    """
    if texts is None:
        return None
    fields = [field.strip() for text in texts for field in next(csv.reader([text], skipinitialspace=True), [])]
    return [field for field in fields if field]


def split_bounds(texts: Sequence[str] | None) -> dict[str, tuple[float, float]] | None:
    """Return ``name=low:high`` texts as a dictionary.

    Examples
    --------
    >>> split_bounds(["age=0:110"])
    {'age': (0.0, 110.0)}
    """
    if not texts:
        return None
    found = {}
    for name, ends in split_pairs(texts, "--moment-bounds").items():
        low, _, high = ends.partition(":")
        try:
            found[name] = (float(low), float(high))
        except ValueError:
            raise ParameterError(f'--moment-bounds needs two numbers such as {name}=0:110, not "{ends}"') from None
    return found


def split_pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """Return ``name=value`` texts as a dictionary.

    Examples
    --------
    >>> split_pairs(["age=2,income=0.5"], "--column-weight")
    {'age': '2', 'income': '0.5'}
    """
    pairs: dict[str, str] = {}
    for field in split_names(texts) or []:
        name, sign, value = field.rpartition("=")
        if not sign or not name:
            raise ParameterError(f"{option} {field}: write it as name=value, for example {option} age=...")
        pairs[name.strip()] = value.strip()
    return pairs


def split_numbers(texts: Sequence[str] | None, option: str) -> dict[str, float]:
    """Return ``name=number`` texts as a dictionary."""
    return {name: _number(text, f"{option} {name}={text}") for name, text in split_pairs(texts, option).items()}


def numbers(texts: Sequence[str] | None, option: str, *, integers: bool = False) -> list[float] | None:
    """Return comma-separated numbers as a list."""
    if texts is None:
        return None
    return [_number(text, f"{option} {text}", integers=integers) for text in split_names(texts) or []]


def _number(text: str, where: str, *, integers: bool = False) -> float:
    try:
        return int(text) if integers else float(text)
    except ValueError:
        raise ParameterError(f'{where}: "{text}" is not {"an integer" if integers else "a number"}') from None


def _ordinal_pairs(texts: Sequence[str] | None) -> dict[str, str]:
    """Return name and order of ordinal columns; no order means that of the numbers themselves."""
    pairs = {}
    for text in texts or []:
        name, _, order = text.partition("=")
        pairs[name.strip()] = order.strip()
    return pairs


def _one_or_pairs(texts: Sequence[str] | None, option: str) -> str | dict[str, str] | None:
    """Return one word for all columns, or words by column."""
    given = split_names(texts) or []
    if texts and not given:
        raise ParameterError(f"{option} needs a value: one for all columns, or NAME=VALUE for each")
    single = [text for text in given if "=" not in text]
    if single and len(given) > 1:
        letter = option.removeprefix("--")[0].upper() if option == "--recode" else "P"
        raise ParameterError(f"{option} {','.join(given)}: give one for all columns, or NAME={letter} for each")
    return single[0] if single else split_pairs(texts, option) or None


def _codes(texts: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Return codes by column; a name without codes means empty cells."""
    found: dict[str, list[str]] = {}
    for text in texts or []:
        name, _, codes = text.partition("=")
        if not name.strip():
            raise ParameterError(f"--not-applicable {text}: write it as NAME, or as NAME=CODE,CODE")
        found.setdefault(name.strip(), []).extend(code.strip() for code in codes.split(","))
    return found or None


def _steps(texts: Sequence[str] | None, option: str) -> dict[str, list[str]] | None:
    """Return the steps of each column in their order; a text is one step, which may contain commas."""
    steps: dict[str, list[str]] = {}
    for text in texts or []:
        name, sign, step = text.partition("=")
        if not sign or not name.strip():
            raise ParameterError(f'{option} {text}: write it as NAME=STEP, for example {option} "age=top 90"')
        steps.setdefault(name.strip(), []).append(step.strip())
    return steps or None


def language() -> str:
    """Return the language of what this process says: that of ``SHOAL_LANGUAGE`` or of the locale."""
    names = ("SHOAL_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
    stated = next((os.environ[name] for name in names if os.environ.get(name)), "en")
    if stated in {"C", "POSIX"} or stated.startswith(("en", "C.")):
        return "en"
    from shoal.core.languages import chosen_language

    return chosen_language(stated)


def said(text: str) -> str:
    """Return a text of Shoal in the language of this process; names and values of the data are passed on as they are.

    Examples
    --------
    >>> said("nothing that a catalogue has")
    'nothing that a catalogue has'
    """
    if language() == "en":
        return text
    from shoal.core.languages import translated

    return translated(text, language())


def print_json(result: Mapping[str, Any]) -> None:
    """Print a result as JSON, with the version of its structure first."""
    from shoal.errors import json_text

    typer.echo(json_text({"json_version": JSON_VERSION, **result}, ascii_only=not _prints_unicode()))


def print_manifest(path: Path) -> None:
    """Print a manifest that was written; where the terminal lacks characters, with escapes that JSON defines."""
    import json

    text = path.read_text(encoding="utf-8")
    typer.echo(text if _prints_unicode() else json.dumps(json.loads(text), indent=2) + "\n", nl=False)


def _prints_unicode() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.casefold().replace("-", "").startswith("utf")


def use_threads(threads: int | None) -> None:
    """Limit threads of our own loops and of the libraries; call it before anything heavy is imported."""
    if threads is None:
        return
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    from shoal.core.threads import set_threads

    set_threads(threads)
