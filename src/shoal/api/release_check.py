"""``verify_release``: a released file against its manifest, and the manifest against its signature."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.api.checks import assess
from shoal.core.progress import SILENT, Progress
from shoal.errors import FileProblem, ParameterError, SchemaError
from shoal.flow.manifest import MANIFEST_VERSION, stated_plan_digest
from shoal.flow.recount_file import recount_entry
from shoal.schema.plan import ReadOptions
from shoal.schema.requirements import Of, Requirements

_BLOCK = 2**20


@dataclass(frozen=True)
class Check:
    """One check of a release: its name, whether it holds (None if it could not be made), and a sentence."""

    name: str
    holds: bool | None
    text: str


@dataclass(frozen=True)
class ReleaseCheck:
    """The checks of a released file.

    Parameters
    ----------
    checks
        ``file`` (size and SHA-256 of the bytes), ``plan`` (its digest and the SQL statement), ``recount`` (k and
        further requirements, counted on the file), and ``signature`` where one was given.
    """

    checks: tuple[Check, ...]

    @property
    def satisfied(self) -> bool:
        """Whether no check failed."""
        return all(check.holds is not False for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the checks for JSON."""
        checks = {check.name: {"holds": check.holds, "text": check.text} for check in self.checks}
        return {"satisfied": self.satisfied, "checks": checks}


def verify_release(
    file: str | Path,
    manifest: str | Path,
    *,
    signature: str | Path | None = None,
    signer: str | Path | None = None,
    read_options: Mapping[str, Any] | ReadOptions | None = None,
    progress: Progress = SILENT,
) -> ReleaseCheck:
    """Check a released file against its manifest: the bytes, the plan, k and every further requirement.

    Parameters
    ----------
    file
        The released table: a file, or the URI of a table of a database, whose size is compared instead of its bytes.
    manifest
        Its manifest.
    signature, signer
        A detached signature of the manifest, and the public key of the signer or a list of allowed signers.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``na_values``; for Excel: ``sheet``.
    progress
        Progress callback.

    Returns
    -------
    check
        ``check.satisfied`` is whether no check failed.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from tempfile import TemporaryDirectory
    >>> people = pl.DataFrame({"age": [30, 32, 60, 62]})
    >>> with TemporaryDirectory() as directory:
    ...     files = shoal.protect(people, k=2, quasi=["age"], method="mdav").write(Path(directory, "safe.csv"))
    ...     [(check.name, check.holds) for check in verify_release(files[0], files[1]).checks]
    [('file', True), ('plan', True), ('recount', True)]
    """
    from shoal.tables.files import is_database

    file, manifest = file if is_database(file) else Path(file), Path(manifest)
    if (signature is None) != (signer is None):
        raise ParameterError("a signature is verified with the public key of its signer; give signature= and signer=")
    stated = _read_manifest(manifest, digest=isinstance(file, Path))
    found = _file_check(file, stated["output"]) if isinstance(file, Path) else _table_check(file, stated["output"])
    checks = [found, _plan_check(stated), _recount(file, stated, read_options, progress)]
    if signature is not None and signer is not None:
        from shoal.tables.signatures import signature_holds

        holds = signature_holds(manifest, Path(signature), Path(signer))
        text = f"the signature of the manifest was {'' if holds else 'not '}made by the key of the signer"
        checks.append(Check("signature", holds, text))
    return ReleaseCheck(tuple(checks))


def _read_manifest(path: Path, *, digest: bool) -> dict[str, Any]:
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileProblem(f"{path}: the manifest was not found") from None
    except (OSError, ValueError):
        raise FileProblem(f"{path} is not a manifest of Shoal") from None
    needed = {"output": dict, "schema": dict, "requirements": dict, "method": dict, "k": dict, "plan": str}
    if isinstance(stated, dict) and "mechanism" in stated:
        raise FileProblem(f"{path} is the manifest of a differentially private release, which has no groups to recount")
    if not isinstance(stated, dict) or not all(isinstance(stated.get(name), kind) for name, kind in needed.items()):
        raise FileProblem(f"{path} is not a manifest of Shoal")
    if stated.get("manifest_version") != MANIFEST_VERSION:
        raise FileProblem(f"{path} is a manifest of another version of Shoal; verify it with that version")
    if digest and "sha256" not in stated["output"]:
        raise FileProblem(f"{path} states no digest of a file; use the manifest that was written beside the table")
    return stated


def file_digest(path: Path) -> tuple[int, str]:
    """Return the size and the SHA-256 of a file."""
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
                size += len(block)
    except OSError as problem:
        raise FileProblem(f"{path} cannot be read: {(problem.strerror or 'unknown').lower()}") from None
    return size, digest.hexdigest()


def _file_check(file: Path, output: Mapping[str, Any]) -> Check:
    size, digest = file_digest(file)
    holds = (size, digest) == (output.get("bytes"), output["sha256"])
    text = "the file has the bytes that the manifest states" if holds else "the file is not the one of the manifest"
    return Check("file", holds, f"{text} (SHA-256 {digest[:16]}...)")


def _table_check(uri: str, output: Mapping[str, Any]) -> Check:
    """Compare the size of a table of a database, which has no bytes of its own, with the manifest."""
    from shoal.schema.loading import load_typed

    table = load_typed(uri, ReadOptions())
    found = {"records": table.n_rows, "columns": len(table.names)}
    holds = found == {name: output.get(name) for name in found}
    text = (
        "the table has as many records and columns as the manifest states"
        if holds
        else ("the table has another size than the one of the manifest")
    )
    return Check("table", holds, f"{text} ({table.n_rows:,} x {len(table.names)})")


def _plan_check(stated: Mapping[str, Any]) -> Check:
    try:
        quasi, confidential = _roles(stated)
        same = stated_plan_digest(dict(stated)) == stated["plan"]
        kept = [entry["name"] for entry in stated["schema"]["columns"] if not entry.get("dropped")]
        of = Of(stated["k"].get("of", "rows"))
        statement = recount_entry(quasi, confidential, kept, of, _code(stated)) == stated.get("recount")
    except (KeyError, TypeError, ValueError):
        same = statement = False
    texts = ["the plan has the digest that is stated" if same else "the plan was changed after the release"]
    if not statement:
        texts.append("the SQL statement is not the one for these columns")
    return Check("plan", same and statement, "; ".join(texts))


def _code(stated: Mapping[str, Any]) -> str | None:
    """Return the column that has a random code for each person, if links were kept."""
    columns = stated["schema"]["columns"]
    return next((entry["name"] for entry in columns if entry["role"] == "unit" and "replaced" in entry), None)


def _roles(stated: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    columns = stated["schema"]["columns"]
    quasi = [entry["name"] for entry in columns if entry["role"] == "quasi"]
    return [*quasi, *stated["schema"]["strata"]], [
        entry["name"] for entry in columns if entry["role"] == "confidential"
    ]


def _recount(
    file: str | Path,
    stated: Mapping[str, Any],
    read_options: Mapping[str, Any] | ReadOptions | None,
    progress: Progress,
) -> Check:
    quasi, confidential = _roles(stated)
    requested = {name: value for name, value in stated["requirements"].items() if name != "max_size"}
    requested.pop("global_recoding", None)
    requested.pop("of", None)
    share = requested.pop("max_share", None)
    requirements = Requirements(**requested)
    kinds = {entry["name"]: entry["kind"] for entry in stated["schema"]["columns"] if entry["name"] in confidential}
    compared = stated.get("confidential_compared", {})
    unknown = [
        name for name in confidential
        if requirements.t is not None and (kinds[name] == "ordinal" or compared.get(name) == "hierarchical")
    ]  # fmt: skip
    of = Of(stated["k"].get("of", "rows"))
    code = _code(stated) if of in {Of.UNITS, Of.HISTORIES} else None  # the table itself shows whose rows they are
    try:
        found = assess(
            file, quasi=quasi, confidential=confidential if requirements.beyond_k else None,
            kinds={name: "nominal" if kind == "ordinal" else kind for name, kind in kinds.items()}
            if requirements.beyond_k else None,
            unnamed="other", l=requirements.recursive_l, read_options=read_options, progress=progress,
            unit=code, keep_links=None if code is None else True, of=None if code is None else str(of),
        )  # fmt: skip
    except SchemaError as problem:  # a column of the plan is not in the file
        return Check("recount", False, str(problem))
    if of == Of.ROWS or code is not None:
        noun = "" if of == Of.ROWS else f" {of.noun}"
        texts = [f"k={requirements.k}{noun} requested, {found.k} counted"]
    else:
        rows = f"k={requirements.k} {of.noun} requested, {found.k} records counted in the smallest class"
        texts = [f"{rows}; the table does not show whose they are, so count {of.noun} with --original and --record"]
    shown = of == Of.ROWS or code is not None
    holds = found.k >= requirements.k and found.k == stated["k"]["achieved" if shown else "rows"]
    persons = "persons" in stated["input"]
    unseen = [f"max_share={share:g}"] if share is not None else []
    for name, (wanted, achieved, enough) in found.achieved(requirements).items():
        if persons and name not in {"l", "p"}:  # persons with different values need as many different values
            unseen.append(f"{name}={wanted:g}")
            continue
        if name == "t" and unknown:
            texts.append(f'the order or hierarchy of "{unknown[0]}" is not public, so t was not counted')
            continue
        texts.append(f"{name}={wanted:g} requested, {achieved:.4g} counted")
        holds &= enough
    if unseen:
        texts.append(f"{', '.join(unseen)}: counts persons, so verify it with --original and --record")
    return Check("recount", holds, "; ".join(texts))
