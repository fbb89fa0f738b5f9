"""Protection by an engine that reads a table in parts: what is checked before, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from shoal.api.release import Release
from shoal.core.arguments import choice
from shoal.core.progress import SILENT, Progress
from shoal.engines.disk import finish_folder, protect_to_folder
from shoal.engines.leaf_job import check_engine_plan
from shoal.engines.parts_evidence import Accepted, PartsRelease
from shoal.engines.spark_session import is_spark_frame, spark_session
from shoal.errors import ParameterError, json_text
from shoal.flow.remarks import Remark
from shoal.privacy.k_anonymity import Classes
from shoal.recoding.loss import Loss
from shoal.schema.columns import Schema
from shoal.schema.loading import complete_schema, stated_identifiers
from shoal.schema.plan import Plan, ReadOptions
from shoal.tables import Table, read_head, write_files
from shoal.tables.files import check_report, check_targets, is_database, write_text
from shoal.tables.parquet_parts import is_parquet, open_parts
from shoal.tables.private_folders import check_folder_output, place_folder, private_folder

if TYPE_CHECKING:
    from shoal.flow.released import Released
    from shoal.report.reported_file import ReportedFile
    from shoal.tables.parquet_parts import ParquetParts


class Engine(StrEnum):
    """Where a plan is run: in memory, in files on one machine, on a cluster, or in memory or files as memory allows."""

    LOCAL = "local"
    DISK = "disk"
    SPARK = "spark"
    AUTO = "auto"


class PartitionedRelease(Release):
    """A release that an engine wrote to files; the table itself is not in memory.

    Parameters
    ----------
    found
        What was achieved.
    paths
        The files or the folder that were written.
    source
        The path of the original, which a report reads; copies and pickles lack it.
    engine
        The engine that made it.
    """

    def __init__(
        self, found: PartsRelease, paths: Sequence[Path], source: Path | None = None, engine: str = "disk"
    ) -> None:
        self.found = found
        self.paths = list(paths)
        self.engine = engine
        self._source = source

    def __getstate__(self) -> dict[str, Any]:
        return {"found": self.found, "paths": self.paths, "engine": self.engine, "_source": None}

    def __repr__(self) -> str:
        groups = self.manifest["groups"]
        text = f"{self.found.figures.records:,} records in {groups['count']:,} groups, k={self.k}"
        return f"<{type(self).__name__}: {text}; {self._loss_text()}; {self._method_text()}; {self._place()}>"

    def _place(self) -> str:
        """Return where the release is."""
        return str(self.__dict__.get("paths", ["files"])[0])

    @property
    def plan(self) -> Plan:
        """What was done: schema, requirements, method."""
        return self.found.plan

    @property
    def classes(self) -> Classes:
        """The equivalence classes, counted on the files."""
        return self.found.counted.recount.classes

    @property
    def loss(self) -> Loss:
        """What was lost."""
        return self.found.figures.loss(self.plan.requirements.k)

    @property
    def manifest(self) -> dict[str, Any]:
        """What was done, as a dictionary that holds no values of records."""
        return self.found.manifest

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What a person should know before the table is released."""
        return self.found.remarks

    def write(self, *_args: Any, **_options: Any) -> NoReturn:
        """Raise: the release is written already."""
        self.__getattr__("write")

    def report(
        self, path: str | Path, *, public: bool = False, original: Any = None, title: str | None = None,
        language: str = "en", population: Any = None, sampling_fraction: float | None = None, control: Any = None,
        overwrite: bool = False, progress: Progress = SILENT,
    ) -> Path:  # fmt: skip
        """Write the report as one HTML file that opens offline.

        k, requirements and losses are those of all records. All else is measured on a sample of 100,000 to 200,000
        records, whole equivalence classes that a hash selects, and the report says so.

        Parameters
        ----------
        path, public, title, language, overwrite
            As in :meth:`shoal.Release.report`.
        original
            The path of the original, for a release that was copied; not read for a public report, nor where rows were
            released in a random order.
        population, sampling_fraction, control
            Not possible: they need all classes, not a sample of them.
        progress
            Progress callback.
        """
        from shoal.report.page import render_report

        if any(given is not None for given in (population, sampling_fraction, control)):
            raise ParameterError(
                "the report of a release in parts measures a sample of its classes, and population, sampling_fraction "
                'and control need all of them; leave them out, or protect the table with engine="local"'
            )
        path, before = Path(path), None if public else self._before(original)
        check_report(path, [*self.paths, *(() if before is None else before.files)], overwrite=overwrite)
        released, paired, file = self._sample(before, progress)
        text = render_report(released, paired, public=public, title=title, file=file, language=language)
        write_files({path: lambda temporary: write_text(temporary, text)}, private=() if public else (path,))
        return path

    def _before(self, original: Any) -> ParquetParts | None:
        """Return the original that a report reads."""
        source = self._source if original is None else Path(original)
        return None if source is None else open_parts(source)

    def _sample(
        self, before: ParquetParts | None, progress: Progress
    ) -> tuple[Released, Table | None, ReportedFile | None]:
        """Return a sample of the release, the same rows of the original, and the file that a report is about."""
        from shoal.api.sampled_release import sampled_release
        from shoal.report.reported_file import ReportedFile

        place = self.paths[0]
        file = ReportedFile(place.name, str(self.manifest["output"].get("sha256", "")))
        return *sampled_release(self.found, open_parts(place), before, progress), file

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise ParameterError(
            f'a release in parts is in {self._place()}, not in memory, so it has no "{name}"; read it from there, or '
            'protect the table with engine="local"'
        )


def _not_in_memory(name: str) -> property:
    return property(lambda self: self.__getattr__(name), doc="Not available: the release is in files.")


for _name in (
    "released",
    "table",
    "data",
    "grouping",
    "outcome",
    "assessment",
    "moments_kept",
    "risk",
    "utility",
    "statistics",
):
    setattr(PartitionedRelease, _name, _not_in_memory(_name))


class SparkRelease(PartitionedRelease):
    """A release that is a DataFrame of Spark.

    Parameters
    ----------
    found
        What was achieved.
    data
        The released table; it was counted after it was computed, and is not computed again.
    """

    def __init__(self, found: PartsRelease, data: Any) -> None:
        super().__init__(found, [], engine="spark")
        self._data = data

    @property
    def data(self) -> Any:
        """The released table, a DataFrame of Spark; write it with ``release.data.write``."""
        return self._data

    def _before(self, original: Any) -> None:
        """Return None: rows of a DataFrame have no order by which those of the original could be found."""
        if original is not None:
            raise ParameterError(
                "the rows of a DataFrame of Spark cannot be matched with those of an original, so its report measures "
                'the release alone; leave out original=, or protect files with engine="spark" and output="..."'
            )

    def _sample(
        self,
        before: ParquetParts | None,  # noqa: ARG002 - there is none
        progress: Progress,
    ) -> tuple[Released, Table | None, ReportedFile | None]:
        """Return a sample of the released DataFrame."""
        from shoal.api.sampled_release import released_sample
        from shoal.engines.spark_checks import sample_frame

        if self._data is None:
            raise ParameterError("a copy of this release lacks the DataFrame that a report measures")
        rows, records = sample_frame(self._data, self.plan.schema.protected, progress=progress)
        return released_sample(self.found, Table.from_native(rows), records), None, None

    def _place(self) -> str:
        return "release.data, a DataFrame of Spark"

    def __getstate__(self) -> dict[str, Any]:
        return {"found": self.found, "paths": [], "engine": self.engine, "_source": None, "_data": None}


def chosen_engine(engine: str, data: Any, output: str | Path | None) -> str:
    """Return the engine that runs: ``auto`` is ``disk`` where memory will not do, or where a folder is written.

    Parameters
    ----------
    engine
        What the user asks for; a DataFrame of Spark is protected by ``spark`` in any case.
    data
        The table, or its path.
    output
        Where the release is written.
    """
    engine = choice(Engine, engine, "engine")
    if is_spark_frame(data):
        if engine == "disk" or output is not None:
            raise ParameterError(
                "a DataFrame of Spark is protected by engine=spark and comes back as one; leave out output= and "
                "engine=disk, and write release.data"
            )
        return "spark"
    if engine == "local":
        if output is not None:
            raise ParameterError(
                'output= is for engines that write the release themselves; leave it out and call release.write("...")'
            )
        return engine
    if str(output) == "-" or (output is not None and is_database(output)):
        raise ParameterError(f"engine={engine} writes a folder or a file of Parquet, not {output}; name one of these")
    if output is None:
        raise ParameterError(f'engine={engine} writes the release itself; name a folder or a file in output="..."')
    if engine in {"disk", "spark"}:
        return engine
    if not isinstance(data, str | Path):
        return "local"
    parquet = is_parquet(data)
    if parquet and (is_folder_output(output) or not open_parts(Path(data)).fits_memory()):
        return "disk"
    return "local"


def is_folder_output(output: str | Path) -> bool:
    """Return whether an output is a folder of Parquet files: its name has no extension.

    Examples
    --------
    >>> is_folder_output("safe/"), is_folder_output("safe.parquet")
    (True, False)
    """
    return not Path(output).suffix


def protect_by_engine(
    engine: str, given: Mapping[str, Any], changes: Mapping[str, Any], make_plan: Callable[[Schema], Plan],
    reading: ReadOptions,
) -> PartitionedRelease:  # fmt: skip
    """Protect a table in parts: Parquet files into a folder or a file, or a DataFrame of Spark into another one.

    Parameters
    ----------
    engine
        ``disk`` or ``spark``.
    given
        The arguments of :func:`shoal.protect`.
    changes
        Roles and treatment of columns, as the user states them.
    make_plan
        Returns the plan for a complete schema.
    reading
        Read options, of which Parquet has none.
    """
    data = given["data"]
    if given["previous"] is not None:
        raise ParameterError("previous= needs the whole table in memory; leave it out, or take engine=local")
    if reading.given():
        raise ParameterError(f"read options ({', '.join(reading.given())}) apply to text files only")
    accepted = Accepted(given["accept_loss"], given["accept_derived"], given["accept_relinking"])
    if is_spark_frame(data):
        return _protect_frame(data, given, changes, make_plan, accepted)
    if not isinstance(data, str | Path):
        raise ParameterError(f"engine={engine} reads Parquet files; name the path of a file, a folder or a pattern")
    source, target = open_parts(Path(data)), Path(given["output"])
    head = read_head(Path(data), unread=stated_identifiers(given["schema"], changes))
    plan = make_plan(complete_schema(head, given["schema"], changes))
    check_engine_plan(plan, engine)
    inputs = (Path(data), *source.files) if Path(data).exists() else source.files
    write = _write_folder if is_folder_output(target) else _write_file
    if engine == "disk":
        run = partial(protect_to_folder, source, plan, accepted=accepted)
        return write(run, target, inputs, {**given, "engine": engine})
    from shoal.engines import spark

    with spark_session() as session:
        by_tasks = partial(spark.protect_to_folder, session, source, plan, accepted=accepted)
        return write(by_tasks, target, inputs, {**given, "engine": engine})


def _protect_frame(
    frame: Any, given: Mapping[str, Any], changes: Mapping[str, Any], make_plan: Callable[[Schema], Plan],
    accepted: Accepted,
) -> SparkRelease:  # fmt: skip
    from shoal.engines.spark import frame_schema_table, protect_frame
    from shoal.engines.spark_sources import check_frame

    check_frame(frame)
    plan = make_plan(complete_schema(Table.from_native(frame_schema_table(frame)), given["schema"], changes))
    check_engine_plan(plan, "spark")
    return SparkRelease(*protect_frame(frame, plan, accepted=accepted, progress=given["progress"]))


def _write_folder(
    run: Callable[..., PartsRelease], target: Path, inputs: tuple[Path, ...], given: Mapping[str, Any]
) -> PartitionedRelease:
    check_folder_output(target, inputs=inputs, overwrite=given["overwrite"])
    with private_folder(target) as folder:
        found = run(folder, progress=given["progress"])
        finish_folder(folder / "new", found.manifest)
        place_folder(folder / "new", target)
    return PartitionedRelease(found, [target], Path(given["data"]), given["engine"])


def _write_file(
    run: Callable[..., PartsRelease], target: Path, inputs: tuple[Path, ...], given: Mapping[str, Any]
) -> PartitionedRelease:
    if target.suffix.casefold() != ".parquet":
        raise ParameterError(
            f"engine={given['engine']} writes a folder, or a file that ends in .parquet, not {target.name}"
        )
    manifest = check_targets(target, None, None, inputs=inputs, overwrite=given["overwrite"])
    with private_folder(target) as folder:
        found = run(folder, single=target.name, progress=given["progress"])
        text = json_text(found.manifest) + "\n"
        staged = folder / "new" / target.name

        def move(temporary: Path) -> None:
            staged.replace(temporary)

        write_files({target: move, manifest: lambda temporary: write_text(temporary, text)})
    return PartitionedRelease(found, [target, manifest], Path(given["data"]), given["engine"])
