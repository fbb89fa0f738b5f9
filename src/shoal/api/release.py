"""The result of a protection: the table, its groups, the evidence, and the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.core.arguments import checked
from shoal.core.grouping import Grouping
from shoal.errors import ParameterError, json_text
from shoal.flow.released import Released
from shoal.flow.remarks import Remark
from shoal.methods.contract import Outcome
from shoal.privacy.k_anonymity import Classes
from shoal.recoding.loss import Loss
from shoal.schema.columns import Role, Schema
from shoal.schema.plan import Plan
from shoal.tables import Table, write_files
from shoal.tables.files import (
    check_report,
    check_targets,
    files_beside,
    format_of,
    holder_record_path,
    is_database,
    write_directly,
    write_text,
)

if TYPE_CHECKING:
    from shoal.api.database_release import WrittenTable
    from shoal.evaluate.risk import Risk
    from shoal.evaluate.utility import Utility
    from shoal.flow.checked_statistics import ComparedStatistic
    from shoal.flow.holder_record import HolderRecord
    from shoal.flow.kept_moments import KeptMoments
    from shoal.privacy.assessment import Assessment
    from shoal.report.outside_data import OutsideData
    from shoal.tables.table import FileNumber
    from shoal.tables.written import WrittenFile


LARGE_TABLE_RECORDS = 100_000
"""Records from which memory is returned between the steps of writing; below, it is not worth the time."""


class Release:
    """A protected table with the evidence for it.

    Parameters
    ----------
    released
        The last stage of a protection.
    original
        The table that was protected, to measure risk and utility. It is confidential: this private handle is the only
        way to it, and pickle, copy and repr drop it.
    previous
        The file of the holder's record that the release starts from, if it does.
    accepted
        What was accepted: ``loss``, ``relinking``, ``derived``, ``second_release``.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 32, 60, 62], "name": ["Ann", "Bob", "Cyd", "Dan"]})
    >>> release = shoal.protect(people, k=2, quasi=["age"], identifiers=["name"])
    >>> release.data.to_dict(as_series=False)
    {'age': [31, 31, 61, 61]}
    >>> release
    <Release: 4 records in 2 groups of 2, k=2; information loss 0.44 %; optimal-1d@1>
    """

    def __init__(
        self,
        released: Released,
        original: Table | None = None,
        *,
        previous: Path | None = None,
        accepted: Sequence[str] = (),
    ) -> None:
        self.released = released
        self._original = original
        self._previous = previous
        self._accepted = tuple(accepted)

    def __getstate__(self) -> dict[str, Any]:
        return {"released": copy(self.released), "_original": None, "_previous": None, "_accepted": self._accepted}

    def __repr__(self) -> str:
        return f"<Release: {self.grouping.summary()}; {self._loss_text()}; {self._method_text()}>"

    def __str__(self) -> str:
        from shoal.core.text import text_table

        header, rows = ("quasi-identifier", "replaced by", "loss"), self._rows()
        return f"{self!r}\n{text_table(header, rows)}"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the released table as an Arrow stream, for every library that reads one: ``pl.DataFrame(release)``."""
        from shoal.tables.table import to_arrow

        return to_arrow(self.table).__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        from shoal.core.text import html_table

        remarks = "".join(f"<li>{escape(str(remark))}</li>" for remark in self.remarks)
        table = html_table(("quasi-identifier", "replaced by", "loss"), self._rows())
        return f"<p>{escape(repr(self)[1:-1])}</p>{table}<ul>{remarks}</ul>"

    def _rows(self) -> list[tuple[str, str, str]]:
        entries = {entry["name"]: entry for entry in self.manifest["schema"]["columns"]}
        return [
            (name, str(entries[name]["recode"]), f"{100 * column.information_loss:.2f} %")
            for name, column in self.loss.columns.items()
        ]

    def _loss_text(self) -> str:
        return f"information loss {100 * self.loss.information_loss:.2f} %"

    def _method_text(self) -> str:
        return ", ".join(entry["algorithm"] for entry in self.manifest["method"]["resolved"])

    @property
    def plan(self) -> Plan:
        """What was done: schema, requirements, method."""
        return self.released.plan

    @property
    def schema(self) -> Schema:
        """Roles, kinds and treatment of the columns."""
        return self.plan.schema

    @property
    def table(self) -> Table:
        """The protected table, as Shoal holds it."""
        return self.released.table

    @property
    def data(self) -> Any:
        """The protected table, in the library that the original came in (polars for text files)."""
        return self.table.native

    @property
    def grouping(self) -> Grouping:
        """The group of each record; internal evidence, not part of what is released."""
        return self.released.grouping

    @property
    def classes(self) -> Classes:
        """The equivalence classes, counted on the finished table."""
        return self.released.recount.classes

    @property
    def assessment(self) -> Assessment | None:
        """All privacy models on the finished table, where requirements beyond k were requested."""
        return self.released.recount.assessment

    @property
    def loss(self) -> Loss:
        """What was lost."""
        return self.released.loss

    @property
    def moments_kept(self) -> KeptMoments | None:
        """What was restored where means and covariances were to be kept; None without ``keep_moments``."""
        return self.released.moments

    @property
    def outcome(self) -> Outcome:
        """What the grouping method returned."""
        return self.released.outcome

    @property
    def manifest(self) -> dict[str, Any]:
        """What was done, as a dictionary that holds no values of records."""
        return self.released.manifest

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What a person should know before the table is released."""
        return self.released.remarks

    @property
    def k(self) -> int:
        """The smallest number of what k counts (records, persons or households) in a class of the finished table."""
        return self.classes.k

    @cached_property
    def risk(self) -> Risk:
        """The residual risk, measured when first needed; see :func:`shoal.risk`."""
        from shoal.evaluate.risk import risk

        confidential, weight = self.schema.named(Role.CONFIDENTIAL), self.schema.released_weight
        known = [name for name in self.schema.known_columns if name not in {*confidential, weight}]
        names = [*known, *confidential, *([] if weight is None else [weight])]
        persons = self.released.persons
        found = risk(
            self._paired_original().with_types(names), self.table.with_types(names), quasi=known,
            confidential=confidential, sampling_weight=weight, schema=self.schema, k=self.grouping.k,
            units=None if persons is None or self.schema.unit is None else persons.unit,
        )  # fmt: skip
        if persons is None:
            return found
        from shoal.privacy.k_anonymity import class_labels
        from shoal.privacy.person_risk import person_figures

        labels = class_labels(self.table, self.schema.protected)
        figures = person_figures(labels, persons.unit, persons.household, threshold=0.2)
        return replace(found, persons=figures)

    @cached_property
    def statistics(self) -> tuple[ComparedStatistic, ...]:
        """The statistics that must hold, before and after; confidential, since they have figures of the original."""
        if not self.schema.statistics:
            return ()
        from shoal.flow.checked_statistics import compare_statistics

        return compare_statistics(self.schema.statistics, self._paired_original(), self.table)

    @cached_property
    def utility(self) -> Utility:
        """How useful quasi-identifiers and confidential attributes still are; see :func:`shoal.utility`."""
        from shoal.evaluate.utility import utility

        names = [*self.schema.protected, *self.schema.named(Role.CONFIDENTIAL)]
        original, released = self._paired_original().with_types(names), self.table.with_types(names)
        return utility(original, released, columns=names, schema=self.schema)

    def loss_table(self) -> Any:
        """Return the loss of each quasi-identifier as a DataFrame of the library that the original came in."""
        from shoal.tables.frames import backend_of, data_frame

        return data_frame(*self.loss.rows(), backend_of(self.data))

    def manifest_json(self, written: WrittenFile | WrittenTable | None = None) -> str:
        """Return the manifest as JSON text; the same protection gives the same bytes.

        Parameters
        ----------
        written
            The file that the table was written to; its name, size and SHA-256 are then stated under ``output``.
        """
        output = {} if written is None else written.as_dict()
        manifest = self.manifest | {"output": self.manifest["output"] | output}
        return json_text(manifest) + "\n"

    @checked
    def write(
        self,
        path: str | Path,
        *,
        manifest: str | Path | None = None,
        holder_record: str | Path | None = None,
        report: str | Path | None = None,
        public_report: str | Path | None = None,
        run_file: str | Path | None = None,
        title: str | None = None,
        language: str = "en",
        population: Any = None,
        sampling_fraction: float | None = None,
        control: Any = None,
        overwrite: bool = False,
    ) -> list[Path]:
        """Write table, manifest, holder's record and, if requested, reports and run file; all of them or none.

        Table, manifest and public report can be released; their permissions follow the umask. The holder's record,
        the full report and the run file are confidential: they have mode 0600, also where they replace a file with
        another one.

        Parameters
        ----------
        path
            The output file; its extension sets the format. Or the URI of a table of a database, such as
            ``sqlite:///people.db?table=safe``; the other files are then in the working directory.
        manifest
            The file of the manifest; by default beside the table, ``safe.csv`` with ``safe.manifest.json``.
        holder_record
            The file of the holder's record (:class:`shoal.HolderRecord`), which is needed for a second release of the
            same people; by default beside the table, ``safe.holder.parquet``, mode 0600; ``none`` for none. A release
            that was loaded or copied has no handle to its original, so that no record can be written.
        report
            The file of the report for the data holder; none by default.
        public_report
            The file of the report for publication, without figures of the original; none by default.
        run_file
            The run file, by which ``shoal run`` repeats the release; none by default. The table must have been read
            from a file.
        title
            The title of the reports; they also state the name of the table, its SHA-256 and the date.
        language
            The language of the reports, ``en`` or ``de``.
        population, sampling_fraction, control
            As in :meth:`report`, for the report for the data holder.
        overwrite
            Whether existing files are replaced; if not, one of them raises :class:`shoal.errors.FileProblem`.

        Returns
        -------
        paths
            What was written.
        """
        table = path if is_database(path) else None
        path = files_beside(path)
        record = self._record_path(path, holder_record)
        manifest = check_targets(
            path if table is None else str(table), manifest, report, public_report=public_report, holder_record=record,
            run_file=run_file, inputs=[*self._inputs(), *_files_of(population, control)], overwrite=overwrite,
        )  # fmt: skip
        outside = self._outside(population, sampling_fraction, control, reported=report is not None)
        stored = self._stored(path if table is None else None)
        found: list[WrittenFile | WrittenTable] = []
        writers: dict[Path, Callable[[Path], None]] = {}
        if table is None:
            writers[path] = self._table_writer(stored, path, found)
        writers[manifest] = lambda temporary: write_text(temporary, self.manifest_json(found[0]))
        if record is not None:
            writers[record] = self._record_writer(found)
        if report is not None:
            writers[Path(report)] = self._report_writer(
                self._original, public=False, title=title, language=language, path=path, found=found, outside=outside
            )
        if public_report is not None:
            writers[Path(public_report)] = self._report_writer(
                None, public=True, title=title, language=language, path=path, found=found
            )
        if run_file is not None:
            if table is not None:
                raise ParameterError("a run file names files; write the table to a file to save a run file with it")
            outputs = {"manifest": manifest, "report": report, "public_report": public_report}
            known = {"population": population, "sampling_fraction": sampling_fraction, "control": control}
            text = self._run_text(Path(run_file), path, record, outputs, known, {"title": title, "language": language})
            writers[Path(run_file)] = lambda temporary: write_text(temporary, text)
        confidential = [Path(place) for place in (record, report, run_file) if place is not None]
        if table is None:
            write_files(writers, private=confidential)
        else:
            from shoal.api.database_release import WrittenTable, check_origin, write_release_table

            database = check_origin(str(table), self._original)
            found.append(WrittenTable(database, stored.n_rows, len(stored.names)))
            write_release_table(
                self.released, stored, str(table), writers, private=confidential, overwrite=overwrite
            )  # fmt: skip
        return list(writers)

    @checked
    def report(
        self,
        path: str | Path,
        *,
        public: bool = False,
        original: Any = None,
        title: str | None = None,
        language: str = "en",
        population: Any = None,
        sampling_fraction: float | None = None,
        control: Any = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the report as one HTML file that opens offline.

        Parameters
        ----------
        path
            A ``.html`` file; its mode is 0600, that of a public report follows the umask.
        public
            The variant for publication: no figures of the original other than the loss, no attacks, no signature.
        original
            The original table, for a release that was loaded or copied and has no handle to it.
        title
            The title of the report.
        language
            The language of the report, ``en`` or ``de``.
        population
            The number of individuals of the population of which the table is a sample, or a table of them (a DataFrame
            or a file), for the risk of a journalist. Not for a public report.
        sampling_fraction
            The share of the population that the table is, instead of its size.
        control
            A table of people of the same population who are not in the release (a DataFrame or a file): the baseline of
            singling out, linkability, membership and inference, which are measured with it only. Not for a public
            report.
        overwrite
            Whether an existing file is replaced; if not, it raises :class:`shoal.errors.FileProblem`.

        Returns
        -------
        path
            What was written.
        """
        path = Path(path)
        check_report(path, [*self._inputs(), *_files_of(population, control)], overwrite=overwrite)
        given = self._original if original is None else Table.from_native(original)
        outside = self._outside(population, sampling_fraction, control, reported=not public)
        writer = self._report_writer(
            None if public else given, public=public, title=title, language=language, outside=outside
        )
        write_files({path: writer}, private=() if public else (path,))
        return path

    def _record_path(self, path: Path, holder_record: str | Path | None) -> Path | None:
        """Return where the holder's record goes; None without one. Raises where it was asked for and cannot be made."""
        original = self._original
        unread = original is not None and bool(original.unread)
        if holder_record is None and (original is None or unread):
            return None
        record = holder_record_path(path, holder_record)
        if record is not None and unread:
            raise ParameterError(
                "the direct identifiers were not read, so that no holder's record can be written; protect with "
                'read_identifiers=True, or write with holder_record="none"'
            )
        return record

    def _table_writer(
        self, stored: Table, path: Path, found: list[WrittenFile | WrittenTable]
    ) -> Callable[[Path], None]:
        """Return what writes the table and recounts the bytes; ``found`` gets what they hold."""
        from shoal.flow.recount_file import recount_file

        def write(temporary: Path) -> None:
            _return_memory(self.table.n_rows)
            write_directly(stored, temporary, target=path)
            released = self.released
            written = recount_file(
                temporary, path, stored, self.schema, self.plan.requirements, released.units,
                persons=released.persons, expected=self.grouping.labels, whole=released.whole,
            )  # fmt: skip
            found.append(written)

        return write

    def _record_writer(self, found: list[WrittenFile | WrittenTable]) -> Callable[[Path], None]:
        """Return what writes the holder's record; raises before anything is written if there is no original."""
        original = self._needed_original()

        def write(temporary: Path) -> None:
            _return_memory(self.table.n_rows)
            made = self._record(original, found[0])
            _return_memory(self.table.n_rows)
            made.write(temporary)

        return write

    def _run_text(
        self,
        run_file: Path,
        table: Path,
        record: Path | None,
        outputs: Mapping[str, str | Path | None],
        known: Mapping[str, Any],
        texts: Mapping[str, Any],
    ) -> str:
        """Return the text of the run file: the plan as it was resolved, and the files that were read and written."""
        from shoal.flow.resolved import resolved_call
        from shoal.schema.run_file import Accepted, InputFiles, OutputFiles, RunFile, format_run

        source = None if self._original is None else self._original.source
        if source is None or (self.released.second is not None and self._previous is None):
            raise ParameterError(
                "a run file names the files that the release was made from; give table and holder's record as files"
            )
        plan = replace(self.released.stated_plan, method=resolved_call(self.plan.method, self.released.runs))
        places: dict[str, Any] = {name: None if place is None else Path(place) for name, place in outputs.items()}
        record = Path("none") if record is None else record
        output = OutputFiles(table, holder_record=record, title=texts["title"], language=texts["language"], **places)
        accept = Accepted(**dict.fromkeys(self._accepted, True))
        inputs = InputFiles(source, self._previous, **_stated_outside(known))
        return format_run(RunFile(plan, inputs, output, accept), run_file.parent)

    def _outside(
        self, population: Any, sampling_fraction: float | None, control: Any, *, reported: bool
    ) -> OutsideData | None:
        """Return what is known of the population and a control table; raises where no report would show it."""
        if population is None and sampling_fraction is None and control is None:
            return None
        if not reported:
            raise ParameterError(
                "population, sampling_fraction and control are for the report for the data holder; request it with "
                "report= (command line: --report), or leave them out"
            )
        from shoal.report.outside_data import outside_data

        return outside_data(
            population, sampling_fraction, control, records=self.table.n_rows, schema=self.schema,
            options=self.plan.reading.given(),
        )  # fmt: skip

    def _needed_original(self) -> Table:
        if self._original is None:
            raise ParameterError(
                "this release has no handle to its original; measure it with shoal.risk(original, release.data, ...) "
                "or shoal.utility(original, release.data)"
            )
        return self._original

    def _paired_original(self) -> Table:
        return self.released.paired(self._needed_original())

    def _stored(self, path: Path | None) -> Table:
        """Return the table for a format: what a text file holds as text has its type where the format has types.

        Columns that are released unchanged are read from a text file as they are written there.
        """
        if self.table.dialect is None or (path is not None and format_of(path).family == "text"):
            return self.table
        unchanged = [name for name in self.table.names if name not in self.schema.protected]
        typed = self.table.with_types(unchanged)
        has_truth_values = path is not None and format_of(path).family in {"parquet", "arrow", "excel"}
        return typed.with_truth_values(unchanged) if has_truth_values else typed

    def _record(self, original: Table, written: WrittenFile | WrittenTable) -> HolderRecord:
        from shoal.flow.holder_record import holder_record

        return holder_record(self.released, original, written=written.as_dict())

    def _inputs(self) -> list[Path | FileNumber]:
        """Return the files that the release was made from, which no output may replace."""
        tables = [self.table] if self._original is None else [self.table, self._original]
        return list(dict.fromkeys(path for table in tables for path in table.inputs))

    def _report_writer(
        self,
        original: Table | None,
        *,
        public: bool,
        title: str | None,
        language: str,
        path: Path | None = None,
        found: Sequence[WrittenFile | WrittenTable] = (),
        outside: OutsideData | None = None,
    ) -> Callable[[Path], None]:
        """Return what writes a report; ``path`` is the table beside it, and ``found`` its bytes once it is written."""

        def write(target: Path) -> None:
            from shoal.report.page import render_report
            from shoal.report.reported_file import ReportedFile

            paired = None if original is None else self.released.paired(original)
            digest = str(found[0].as_dict().get("sha256", "")) if found else ""
            file = None if path is None else ReportedFile(path.name, digest)
            text = render_report(
                self.released, paired, public=public, title=title, file=file, language=language, outside=outside
            )
            write_text(target, text)

        return write


def _files_of(*given: Any) -> list[Path]:
    """Return the files among tables, numbers and paths, which no output may replace."""
    named = [one for one in given if isinstance(one, str | Path)]
    if not named:
        return []
    from shoal.evaluate.population_risk import stated_size

    return [Path(one) for one in named if not isinstance(stated_size(one), int)]


def _stated_outside(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return population and control as a run file states them: numbers and files."""
    found = {name: value for name, value in known.items() if value is not None}
    if not found:
        return {}
    from shoal.evaluate.population_risk import stated_size

    if isinstance(stated_size(found.get("population")), int):
        found["individuals"] = stated_size(found.pop("population"))
    for name in ("population", "control"):
        if not isinstance(found.get(name, ""), str | Path):
            raise ParameterError(f"a run file names files; give {name} as a file to save a run file with it")
    return found


def _return_memory(records: int) -> None:
    """Return free memory to the system between the steps of writing a large table."""
    if records >= LARGE_TABLE_RECORDS:
        from shoal.core.memory import return_free_memory

        return_free_memory()
