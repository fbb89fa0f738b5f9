"""What comes out of a protection: the table, its groups, the evidence, and the files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.core.grouping import Grouping
from shoal.errors import ParameterError
from shoal.privacy.k_anonymity import Classes, verify_k
from shoal.recoding.loss import Loss
from shoal.schema.columns import Role, Schema
from shoal.tables import Table, check_output, write_files
from shoal.tables.files import write_plainly, write_text

if TYPE_CHECKING:
    from shoal.evaluate.risk import Risk
    from shoal.evaluate.utility import Utility
    from shoal.flow.satisfy import Limits
    from shoal.privacy.assessment import Assessment


@dataclass(frozen=True)
class Release:
    """A protected table with the evidence for it.

    Parameters
    ----------
    table
        The protected table.
    schema
        What each column was.
    grouping
        Which record is in which group; internal evidence, not part of what is handed out.
    classes
        The recount on the finished table.
    loss
        What was lost.
    manifest
        What was done, as a dictionary that holds no values of records.
    warnings
        What a person should know before handing the table out.
    original
        What was protected, for measuring risk and utility; internal, and left out when a release is pickled.
    limits, assessment
        The limits beyond k that were asked for, and the recount of all privacy models on the finished table.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 32, 60, 62], "name": ["Ann", "Bob", "Cyd", "Dan"]})
    >>> release = shoal.protect(people, k=2, quasi=["age"], identifiers=["name"])
    >>> release.data.to_dict(as_series=False)
    {'age': [31, 31, 61, 61]}
    >>> release.k, round(release.loss.information, 4)
    (2, 0.0044)
    """

    table: Table
    schema: Schema
    grouping: Grouping
    classes: Classes
    loss: Loss
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    original: Table | None = field(default=None, repr=False, compare=False)
    limits: Limits | None = field(default=None, repr=False, compare=False)
    assessment: Assessment | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "original": None, "limits": None}

    @cached_property
    def risk(self) -> Risk:
        """The risk that is left, measured when first asked for; see :func:`shoal.risk`."""
        from shoal.evaluate.risk import risk

        return risk(
            self._original(), self.table, quasi=self.schema.protected,
            confidential=self.schema.named(Role.CONFIDENTIAL), schema=self.schema,
        )  # fmt: skip

    @cached_property
    def utility(self) -> Utility:
        """How useful the quasi-identifiers and confidential columns still are; see :func:`shoal.utility`."""
        from shoal.evaluate.utility import utility

        names = [*self.schema.protected, *self.schema.named(Role.CONFIDENTIAL)]
        return utility(self._original(), self.table, columns=names, schema=self.schema)

    def _original(self) -> Table:
        if self.original is None:
            raise ParameterError(
                "this release no longer knows its original; measure it with shoal.risk(original, release.data, ...) "
                "or shoal.utility(original, release.data)"
            )
        return self.original

    @property
    def data(self) -> Any:
        """The protected table, in the library that the original came in (polars for text files)."""
        return self.table.native

    @property
    def k(self) -> int:
        """The size of the smallest class of the finished table."""
        return self.classes.k

    def manifest_json(self) -> str:
        """Return the manifest as JSON text; the same protection gives the same bytes."""
        return json.dumps(self.manifest, indent=2, ensure_ascii=False) + "\n"

    def write(
        self,
        path: str | Path,
        *,
        manifest: str | Path | None = None,
        report: str | Path | None = None,
        public_report: str | Path | None = None,
    ) -> list[Path]:
        """Write table, manifest and, if asked for, reports; all of them or none.

        Parameters
        ----------
        path
            Where the table goes; its ending says the format.
        manifest
            Where the manifest goes; by default beside the table, ``safe.csv`` with ``safe.manifest.json``.
        report
            Where the report for the data holder goes; none by default.
        public_report
            Where the report for publication goes, without figures of the original; none by default.

        Returns
        -------
        paths
            What was written.
        """
        path = Path(path)
        manifest = check_targets(path, manifest, report, public_report=public_report)
        writers: dict[Path, Callable[[Path], None]] = {manifest: self._write_manifest}
        if report is not None:
            writers[Path(report)] = self._write_report
        if public_report is not None:
            writers[Path(public_report)] = self._write_public_report
        writers[path] = lambda place: write_plainly(self.table, place, target=path)  # the table appears last
        verify_k(self.table, self.schema.protected, int(self.manifest["k"]["asked"]))
        if self.limits is not None:
            self.limits.recount(self.table, self.schema)
        write_files(writers)
        return [path, *(place for place in writers if place != path)]

    def report(self, path: str | Path, *, public: bool = False) -> Path:
        """Write the report as one HTML file that opens offline.

        Parameters
        ----------
        path
            Where it goes: a ``.html`` file.
        public
            The variant for publication: no figures of the original other than what was lost, no attacks, no signature.

        Returns
        -------
        path
            What was written.
        """
        path = Path(path)
        check_report(path)
        write_files({path: self._write_public_report if public else self._write_report})
        return path

    def _write_manifest(self, path: Path) -> None:
        write_text(path, self.manifest_json())

    def _write_report(self, path: Path) -> None:
        from shoal.report.page import render_report

        write_text(path, render_report(self))

    def _write_public_report(self, path: Path) -> None:
        from shoal.report.page import render_report

        write_text(path, render_report(self, public=True))


def default_manifest_path(path: Path) -> Path:
    """Return ``safe.manifest.json`` for ``safe.csv`` or ``safe.csv.gz``.

    Examples
    --------
    >>> default_manifest_path(Path("out/safe.csv.gz")).name
    'safe.manifest.json'
    """
    name = path.name.removesuffix(".gz")
    return path.with_name(f"{Path(name).stem}.manifest.json")


def check_targets(
    path: Path,
    manifest: str | Path | None,
    report: str | Path | None,
    *,
    public_report: str | Path | None = None,
    inputs: tuple[Path, ...] = (),
) -> Path:
    """Refuse, before any work, places that cannot be written or that are one and the same; returns the manifest's."""
    check_output(path, inputs=inputs)
    manifest = Path(manifest) if manifest is not None else default_manifest_path(path)
    check_output(manifest, inputs=inputs, table=False)
    for page in (report, public_report):
        if page is not None:
            check_report(Path(page), inputs)
    places = [Path(place).resolve() for place in (path, manifest, report, public_report) if place is not None]
    if len(set(places)) < len(places):
        raise ParameterError("table, manifest and reports need different files")
    return manifest


def check_report(path: Path, inputs: tuple[Path, ...] = ()) -> None:
    """Refuse a place for the report that cannot be written or does not look like a web page."""
    if path.suffix.lower() not in {".html", ".htm"}:
        raise ParameterError(f"the report is a web page; call it {path.stem or 'report'}.html instead of {path.name}")
    check_output(path, inputs=inputs, table=False)
