"""Statistics that must hold: what a data holder computes from a table and does not want to change by a release.

A statistic is an SQL query over the table ``data`` whose last column is the figure and whose other columns name the
domain; or the mean or total of an SQL expression with a weight and domains; or a Python function. With a tolerance it
is a requirement like k: no release is made in which it changes more.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, SchemaError, suggestion

TABLE = "data"
"""The name of the table in SQL."""
RECORDS = "shoal_records"
"""The column with the number of records of a domain."""
_FUNCTIONS = """
abs acos acosd array_agg array_contains array_get array_length array_lower array_mean array_sum array_to_string
array_unique array_upper asin asind atan atan2 atan2d atand avg bit_count bit_length cast cbrt ceil ceiling
char_length character_length coalesce concat concat_ws corr cos cosd cot cotd count covar covar_pop covar_samp
cume_dist date date_part date_trunc datetime day degrees dense_rank div ends_with exp extract first first_value floor
greatest group_concat hour if ifnull initcap lag last last_value lead least left length ln log log10 log1p log2 lower
lpad ltrim max median min minute mod month normalize nth_value ntile nullif octet_length overlay percent_rank pi
position pow power quantile_cont quantile_disc quarter radians rank regexp_like regexp_replace replace reverse right
round row_number rpad rtrim second sign sin sind split_part sqrt starts_with stddev stddev_samp stdev stdev_samp
strftime string_agg string_to_array strpos strptime substr substring sum tan tand time timestamp total trim trunc
truncate try_cast upper var var_samp variance week year
"""
_WORDS = """
all and any as between bigint by case char cross cube decimal distinct double else end except exists filter float from
full group grouping having ilike in inner integer interval intersect is join left like limit not numeric offset on or
order outer over partition precision qualify real right rollup select sets smallint some then union using values
varchar varying when where window with within
"""
FUNCTIONS = frozenset(_FUNCTIONS.split())
"""The functions that a query may call; those that read files or the network are functions, too, and not here."""
WORDS = frozenset(_WORDS.split())
"""Words of SQL and of types, after which a parenthesis calls no function."""
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^\W\d]\w*|\d[\w.]*|--|/\*|\s+|.""", re.DOTALL)
_QUOTES = ("'", '"', "`")
_HIDING = {*_QUOTES, "--", "/*", "$", "\\"}
"""Unterminated texts, comments, and signs of other quotes and escapes."""
_SELECT = re.compile(r"(?is)^\s*(?:select|with)\b")


@dataclass(frozen=True)
class Statistic:
    """One statistic that must hold.

    Parameters
    ----------
    name
        Its name in reports.
    sql
        A query over the table ``data``: the last column is the figure, those before it name the domain.
    value
        Instead of a query: an SQL expression, such as ``income`` or ``income < 9000``.
    measure
        With a value: ``mean`` (default; the share of records for a condition) or ``total``.
    weight
        With a value: the column of weights.
    domains
        With a value: columns whose combinations are the domains.
    function
        Instead of both: a Python function of a DataFrame that returns a number or a mapping from domains to numbers.
    tolerance
        The largest absolute change.
    relative
        The largest change as a share of the figure of the original. With both, the larger one is allowed; with neither,
        the statistic is shown and never stops a release.

    Examples
    --------
    >>> Statistic("poverty rate", value="income < 9000", domains=["region"], tolerance=0.01).query()[:44]
    'SELECT "region", COUNT(*) AS shoal_records, '
    """

    name: str
    sql: str | None = None
    value: str | None = None
    measure: str = "mean"
    weight: str | None = None
    domains: tuple[str, ...] = ()
    function: Callable[..., Any] | None = None
    tolerance: float | None = None
    relative: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError("a statistic needs a name, which is a text")
        ways = [way for way in ("sql", "value", "function") if getattr(self, way) is not None]
        if len(ways) != 1:
            raise SchemaError(f'statistic "{self.name}": give one of sql, value and function')
        if self.measure not in {"mean", "total"}:
            raise SchemaError(f'statistic "{self.name}": measure must be mean or total')
        given: Any = self.domains
        domains = (given,) if isinstance(given, str) else tuple(given)
        object.__setattr__(self, "domains", domains)
        if self.value is None and (self.weight is not None or domains or self.measure != "mean"):
            raise SchemaError(f'statistic "{self.name}": measure, weight and domains belong to a value')
        if self.function is not None and not callable(self.function):
            raise SchemaError(f'statistic "{self.name}": the function cannot be called')
        for entry in ("tolerance", "relative"):
            self._check_limit(entry)
        for entry in ("sql", "value"):
            if getattr(self, entry) is not None:
                self._check_sql(entry)

    def _check_limit(self, entry: str) -> None:
        limit = getattr(self, entry)
        number = isinstance(limit, int | float) and not isinstance(limit, bool)
        if limit is not None and not (number and math.isfinite(limit) and limit >= 0):
            raise SchemaError(f'statistic "{self.name}": {entry} must be a number of at least 0')

    def _check_sql(self, entry: str) -> None:
        text = getattr(self, entry)
        if not isinstance(text, str) or not text.strip():
            raise SchemaError(f'statistic "{self.name}": {entry} must be a text')
        if ";" in text.rstrip().rstrip(";"):
            raise SchemaError(f'statistic "{self.name}": {entry} must be one statement')
        found = refused_part(text)
        if found is not None:
            raise SchemaError(
                f'statistic "{self.name}": {entry} may not contain {found} here; a statistic reads the table {TABLE} '
                "only, no files and no network, so it may call known functions of numbers, texts and dates, and has no "
                "comments and no escapes"
            )
        if entry == "sql" and not _SELECT.match(text):
            raise SchemaError(f'statistic "{self.name}": sql must be a query that begins with SELECT or WITH')

    @property
    def limited(self) -> bool:
        """Whether the statistic can stop a release."""
        return self.tolerance is not None or self.relative is not None

    def stated_entries(self) -> dict[str, Any]:
        """Return what is stated as plain values, a function by its name."""
        stated = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "function"}
        stated = {name: value for name, value in stated.items() if value is not None and value != ()}
        if self.function is None:
            return stated
        from shoal.errors import function_name

        return {**stated, "function": function_name(self.function)}

    def query(self) -> str:
        """Return the query of the statistic."""
        if self.sql is not None:
            return self.sql.strip().rstrip(";")
        names = [_quoted(name) for name in self.domains]
        weight = "1.0" if self.weight is None else f"CAST({_quoted(self.weight)} AS DOUBLE)"
        figure = f"CAST(({self.value}) AS DOUBLE)"
        total = f"SUM({figure} * {weight})"
        known = f"SUM(CASE WHEN ({self.value}) IS NULL THEN 0.0 ELSE {weight} END)"
        shown = total if self.measure == "total" else f"{total} / {known}"
        columns = ", ".join([*names, f"COUNT(*) AS {RECORDS}", f"{shown} AS figure"])
        groups = f" GROUP BY {', '.join(names)}" if names else ""
        return f"SELECT {columns} FROM {TABLE}{groups}"  # noqa: S608 - the user's own query of an own table

    def allowed(self, before: float) -> float:
        """Return the largest change that is allowed for a figure of the original."""
        return max(self.tolerance or 0.0, (self.relative or 0.0) * abs(before))


def refused_part(text: str) -> str | None:
    """Return a call of an unknown function in SQL, or a sign that might hide one; None if there is neither.

    Tables of files can only be called, so a query without unknown calls reads none. Signs at which polars may read the
    end of a text where this function does not (escapes, comments, dollar quotes) are refused.

    Examples
    --------
    >>> refused_part("SELECT MEDIAN(pay) FROM data WHERE job IN ('read (all)')") is None
    True
    >>> refused_part("SELECT * FROM read_csv('people.csv')")
    'read_csv('
    """
    before = last = earlier = ""  # the token before this one, and the last two that are no space
    for token in _TOKEN.findall(text):
        if token in _HIDING:
            return str(token)
        if token[0] == "'" and (before == "&" or before.isidentifier()):  # E'it\\'s'
            return f"{before}'"
        if token == "(":  # noqa: S105 - a parenthesis
            if last.startswith(_QUOTES):
                return f"{last}("
            if last.isidentifier() and (earlier == "." or last.casefold() not in FUNCTIONS | WORDS):
                return f"{last}("
        before = token
        if not token.isspace():
            earlier, last = last, token
    return None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def read_statistics(given: Any) -> tuple[Statistic, ...]:
    """Return statistics from a list of them, of mappings, or from a TOML file with [[statistics]].

    Examples
    --------
    >>> read_statistics([{"name": "mean income", "value": "income", "relative": 0.02}])[0].relative
    0.02
    """
    if isinstance(given, str | Path):
        given = _from_file(Path(given))
    if isinstance(given, Statistic | Mapping):
        given = [given]
    if not isinstance(given, Iterable):
        raise SchemaError("statistics must be a list of statistics, or the path of a TOML file with [[statistics]]")
    found = tuple(one if isinstance(one, Statistic) else _from_mapping(one) for one in given)
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise SchemaError("two statistics have the same name; give each a name of its own")
    return found


def _from_mapping(entry: Any) -> Statistic:
    if not isinstance(entry, Mapping):
        raise SchemaError("a statistic is written as [[statistics]] with name, sql or value, and tolerance")
    known = [one.name for one in fields(Statistic)]
    for key in entry:
        if key not in known:
            raise SchemaError(f'a statistic has no entry "{key}"; {suggestion(str(key), known)}')
    if "name" not in entry:
        raise SchemaError("a statistic needs a name, which is a text")
    return Statistic(**dict(entry))


def _from_file(path: Path) -> list[Any]:
    try:
        parsed = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise ParameterError(f'the file of statistics "{path}" cannot be read') from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise SchemaError(f'the file of statistics "{path}" is not valid TOML; correct its syntax') from None
    entries = parsed.get("statistics")
    if set(parsed) != {"statistics"} or not isinstance(entries, list):
        raise SchemaError(f'the file of statistics "{path}" must consist of [[statistics]] entries')
    return entries
