"""``shoal protect``: a table in, a protected table and its evidence out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import flags as shared
from shoal.cli.schema import read_schema_file
from shoal.errors import ParameterError


def protect_command(
    file: Annotated[Path, typer.Argument(help="The table: CSV (also .gz), Parquet, Arrow, SPSS, Stata or SAS.")],
    k: Annotated[int, typer.Option("-k", help="The smallest number of records that may look alike.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the protected table goes; the ending says the format.")
    ],
    quasi: shared.Quasi = None,
    confidential: shared.Confidential = None,
    drop: shared.Drop = None,
    schema: shared.SchemaFile = None,
    method: Annotated[str, typer.Option(help="How records are grouped; see shoal methods.")] = "auto",
    effort: Annotated[str | None, typer.Option(help="For method auto: fast, balanced (default) or best.")] = None,
    budget: Annotated[str | None, typer.Option(help="For method auto: time to spend, such as 60s, 5m or 2h.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of the method. May be repeated.")
    ] = None,
    numeric: Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Columns to treat as numbers.")] = None,
    nominal: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Columns to treat as unordered categories.")
    ] = None,
    ordinal: Annotated[
        list[str] | None, typer.Option(metavar="NAME=A<B<C", help="A column with ordered categories. May be repeated.")
    ] = None,
    weight: Annotated[
        list[str] | None, typer.Option(metavar="NAME=X", help="How much columns count: age=2,income=0.5.")
    ] = None,
    within: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Strata: no group crosses these columns.")
    ] = None,
    sampling_weight: Annotated[str | None, typer.Option(metavar="NAME", help="Column of sampling weights.")] = None,
    missing: shared.Missing = None,
    recode: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]R",
            help="What replaces values: mean, median, mode, medoid, range, midrange, min, max, set, hierarchy, "
            "suppress or tables (a record that keeps frequency tables right); for all or NAME=R.",
        ),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Generalise a column by a tree: a file with a row per value and its ancestors, or auto, flat, "
            "prefixes, intervals, order, calendar. May be repeated.",
        ),
    ] = None,
    globally: Annotated[
        bool, typer.Option("--globally", help="Equal records stay in one group: equal values become the same.")
    ] = False,
    float_means: Annotated[bool, typer.Option("--float-means", help="Let integer columns become fractional.")] = False,
    max_size: Annotated[int | None, typer.Option(help="Refuse a result with a larger group.")] = None,
    l: shared.L = None,
    l_kind: shared.LKind = None,
    c: shared.C = None,
    p: shared.P = None,
    alpha: shared.Alpha = None,
    t: shared.T = None,
    beta: shared.Beta = None,
    seed: Annotated[int, typer.Option(help="For methods that draw random numbers.")] = 0,
    manifest: shared.ManifestFile = None,
    report: Annotated[Path | None, typer.Option(help="Write a report for people, as one HTML file.")] = None,
    public_report: Annotated[
        Path | None, typer.Option(help="Write a report for publication, without figures of the original.")
    ] = None,
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = None,
    decimal: shared.Decimal = None,
    na: shared.Na = None,
    threads: shared.Threads = None,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Protect a table: group records, replace quasi-identifiers, recount k, write table, manifest and report.

    Example: shoal protect people.csv -k 5 --quasi age,income,region --confidential diagnosis --drop name -o safe.csv
    """
    shared.use_threads(threads)
    from shoal.api.protect import protect
    from shoal.api.release import check_targets
    from shoal.cli.terminal import draw_release, drawn_progress
    from shoal.methods.registry import get_method

    chosen = get_method(method)
    inputs = (file,) if schema is None else (file, schema)
    manifest = check_targets(output, manifest, report, public_report=public_report, inputs=inputs)
    recodes = shared.split_names(recode) or []
    single = [text for text in recodes if "=" not in text]
    if single and len(recodes) > 1:
        raise ParameterError(f"--recode {','.join(recodes)}: give one for all columns, or NAME=R for each")
    orders = {name: text.split("<") for name, text in _ordinal_pairs(ordinal).items() if text}
    with drawn_progress(quiet=quiet or as_json) as progress:
        release = protect(
            file,
            k,
            quasi=shared.split_names(quasi),
            confidential=shared.split_names(confidential),
            identifiers=shared.split_names(drop),
            method=method,
            schema=read_schema_file(schema) if schema is not None else None,
            kinds={
                **dict.fromkeys(shared.split_names(numeric) or [], "numeric"),
                **dict.fromkeys(shared.split_names(nominal) or [], "nominal"),
                **dict.fromkeys(_ordinal_pairs(ordinal), "ordinal"),
            },
            orders=orders,
            weights=_numbers(weight),
            within=shared.split_names(within),
            sampling_weight=sampling_weight,
            missing=missing,
            recode=single[0] if single else shared.split_pairs(recode, "--recode") or None,
            hierarchies=shared.split_pairs(hierarchy, "--hierarchy") or None,
            globally=globally,
            keep_integers=not float_means,
            max_size=max_size,
            l=l,
            l_kind=l_kind or "distinct",
            c=c,
            p=p,
            alpha=alpha,
            t=t,
            beta=beta,
            seed=seed,
            options=_method_options(chosen, option, effort=effort, budget=budget),
            read_options=shared.read_options(delimiter, encoding, decimal, na),
            progress=progress,
        )
        progress.stage("writing")
        paths = release.write(output, manifest=manifest, report=report, public_report=public_report)
    if as_json:
        typer.echo(release.manifest_json(), nl=False)
    elif not quiet:
        draw_release(release, paths)


def _ordinal_pairs(texts: list[str] | None) -> dict[str, str]:
    """Return name and order of ordinal columns; no order means that of the numbers themselves."""
    pairs = {}
    for text in texts or []:
        name, _, order = text.partition("=")
        pairs[name.strip()] = order.strip()
    return pairs


def _numbers(texts: list[str] | None) -> dict[str, float]:
    numbers = {}
    for name, text in shared.split_pairs(texts, "--weight").items():
        try:
            numbers[name] = float(text)
        except ValueError:
            raise ParameterError(f'--weight {name}={text}: "{text}" is not a number') from None
    return numbers


def _method_options(method: Any, texts: list[str] | None, **named: str | None) -> dict[str, Any]:
    found = {}
    given = {name: text for name, text in named.items() if text is not None}
    for name, text in {**given, **shared.split_pairs(texts, "--option")}.items():
        key = name.replace("-", "_")
        if key not in method.options:
            from shoal.errors import suggestion

            raise ParameterError(f'method "{method.name}" has no option "{name}"; {suggestion(key, method.options)}')
        found[key] = method.options[key].parse(text)
    return found
