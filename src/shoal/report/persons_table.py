"""What a report states about persons: what k counts, how many persons and rows there are, and their loss apart."""

from __future__ import annotations

from shoal.flow.manifest import rounded
from shoal.flow.released import Released
from shoal.schema.requirements import Of

_COUNTED = {
    Of.ROWS: "rows: a class may have fewer persons than k",
    Of.UNITS: "different persons in each equivalence class",
    Of.HOUSEHOLDS: "different households in each equivalence class",
    Of.HISTORIES: "persons with equal sequences of released rows, the number of rows included",
}


def person_rows(released: Released, *, public: bool) -> list[tuple[str, str]]:
    """Return the rows of the table about persons; none where the table has neither a unit nor a household.

    Parameters
    ----------
    released
        The release.
    public
        Whether figures of the original are rounded as in the manifest.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> stays = pl.DataFrame({"patient": [1, 1, 2, 2, 3, 3, 4, 4], "age": [30, 31, 32, 33, 60, 61, 62, 63]})
    >>> release = shoal.protect(stays, 2, quasi=["age"], unit="patient", keep_links=True)
    >>> person_rows(release.released, public=False)[2]
    ('Rows kept', '8 of 8 (100.0 %)')
    """
    schema, manifest, plan = released.schema, released.manifest, released.plan
    if schema.unit is None and schema.household is None:
        return []
    counts, records = manifest["input"], manifest["input"]["records"]
    present = [f"{counts[name]:,} {name}" for name in ("persons", "households") if name in counts]
    kept = manifest["output"]["records"]
    rows = [
        ("k counts", _COUNTED[plan.of]),
        ("In the original", " and ".join([*present, f"{records:,} rows"])),
        ("Rows kept", f"{kept:,} of {records:,} ({100 * kept / records:.1f} %)"),
        ("Links between the rows of a person", "kept, by a random code" if schema.keep_links else "not kept"),
    ]
    if not schema.constant:
        return rows
    varying = [column.name for column in schema.quasi if not column.constant]
    losses = [released.loss.over(schema.constant), released.loss.over(varying)]
    if public:
        losses = [float(str(rounded(loss, manifest["loss"]["digits"]))) for loss in losses]
    within = "persons" if schema.unit else "households"
    weighed = "person" if plan.persons.weighting == "persons" else "row"
    rows += [
        (f"Constant within {within}", ", ".join(schema.constant)),
        ("Information loss of these columns", f"{100 * losses[0]:.3g} %"),
        ("Information loss of all others", f"{100 * losses[1]:.3g} %" if varying else "there are no others"),
        ("Objective", f"every {weighed} counts the same in means and loss"),
    ]
    return rows
