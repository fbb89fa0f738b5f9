"""The manifest: what was done, so that anybody can repeat and check it, without a single value of a record."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

from shoal.core.grouping import Grouping
from shoal.flow.prepare import Prepared
from shoal.methods.registry import Method
from shoal.privacy.k_anonymity import Classes
from shoal.recoding.loss import Loss
from shoal.schema.columns import Role
from shoal.tables import Table


def build_manifest(
    *,
    prepared: Prepared,
    released: Table,
    method: Method,
    options: dict[str, Any],
    facts: dict[str, Any],
    grouping: Grouping,
    classes: Classes,
    loss: Loss,
    keep_integers: bool,
    warnings: tuple[str, ...],
    limits: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what was done, as a dictionary for JSON; holds nothing that depends on time, place or threads."""
    schema = prepared.schema
    dropped = set(schema.named(Role.IDENTIFIER))
    return {
        "shoal": version("shoal"),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("numpy", "numba", "polars", "narwhals")},
        "input": {
            "records": prepared.table.n_rows,
            "columns": len(prepared.table.names),
            "fingerprint": f"sha256:{prepared.table.fingerprint()}",
        },
        "output": {
            "records": released.n_rows,
            "columns": len(released.names),
            "fingerprint": f"sha256:{released.fingerprint()}",
        },
        "schema": {
            "columns": [
                {
                    "name": column.name,
                    "role": str(column.role),
                    "kind": str(column.kind),
                    **(
                        {"weight": column.weight, "recode": str(column.representative)}
                        if column.role == Role.QUASI
                        else {}
                    ),
                    **({"dropped": True} if column.name in dropped else {}),
                }
                for column in schema.columns
            ],
            "within": list(schema.within),
            "sampling_weight": schema.sampling_weight,
            "missing": str(schema.missing),
            "keep_integers": keep_integers,
        },
        "method": {"name": method.name, "options": options, "facts": _lasting(facts), "blocks": len(prepared.blocks)},
        "missing_values": {"imputed": prepared.imputed, "suppressed": prepared.suppressed},
        "k": {"asked": grouping.k, "reached": classes.k},
        **({} if limits is None else {"limits": limits}),
        "groups": {
            "count": len(grouping),
            "sizes": {str(size): count for size, count in grouping.size_histogram().items()},
        },
        "loss": {
            "information": loss.information,
            "sse": loss.sse,
            "sst": loss.sst,
            "columns": {
                name: {
                    "information": column.information,
                    "sse": column.sse,
                    "sst": column.sst,
                    **({} if column.ncp is None else {"ncp": column.ncp, "total_il": column.height}),
                }
                for name, column in loss.columns.items()
            },
            "discernibility": loss.discernibility,
            "average_size": loss.average_size,
            **({} if loss.gap is None else {"bound": loss.bound, "gap": loss.gap}),
            **({"tables": loss.tables.as_dict()} if loss.tables is not None else {}),
        },
        "warnings": list(warnings),
    }


def _lasting(facts: Any) -> Any:
    """Return facts without those that differ from run to run: times, and logs of searches."""
    if isinstance(facts, dict):
        return {key: _lasting(fact) for key, fact in facts.items() if key != "log" and not key.startswith("seconds")}
    return [_lasting(fact) for fact in facts] if isinstance(facts, list) else facts
