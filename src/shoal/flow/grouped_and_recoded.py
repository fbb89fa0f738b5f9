"""From a prepared table to a recoded one: groups, requirements beyond k, representatives.

The same for a whole table and for a part of it that an engine protects by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.progress import SILENT, Progress
from shoal.flow.group import Blocks, Grouped, find_blocks, group_records
from shoal.flow.prepare import MethodData, Prepared
from shoal.flow.recode import Recoded, recode_table, resolve_recodes
from shoal.schema.columns import Recode
from shoal.schema.plan import Plan

if TYPE_CHECKING:
    from shoal.privacy.person_joins import PersonRequirements


def group_and_recode(
    prepared: Prepared, plan: Plan, *, data: MethodData | None = None, progress: Progress = SILENT
) -> tuple[Grouped, Recoded]:
    """Group a prepared table, satisfy all requirements, and replace quasi-identifiers by representatives.

    Parameters
    ----------
    prepared
        The table, or a part of one.
    plan
        What is requested; whole persons are not grouped here.
    data
        Encoded arrays that several plans for one prepared table share.
    progress
        Progress callback.
    """
    requirements = plan.requirements
    blocks = find_blocks(prepared, requirements)
    shared = data is not None and not blocks.suppressed
    arrays = data if data is not None and shared else MethodData(prepared, blocks.suppressed)
    more = requirements.beyond_k or requirements.global_recoding or requirements.max_share is not None
    rule = None
    if more or prepared.counted(requirements) is not None:
        grouped, rule = _grouped_beyond_k(prepared, plan, arrays, blocks, progress)
    else:
        grouped = group_records(prepared, requirements, plan.method, data=arrays, blocks=blocks, progress=progress)
    if not shared and Recode.MEDOID not in resolve_recodes(prepared, grouped).values():
        arrays.forget()  # the coordinates are not needed any more, and recoding needs the memory
    return _recoded(prepared, plan, grouped, arrays, rule, progress)


def _recoded(
    prepared: Prepared, plan: Plan, grouped: Grouped, arrays: MethodData, rule: PersonRequirements | None,
    progress: Progress,
) -> tuple[Grouped, Recoded]:  # fmt: skip
    def recode(groups: Grouped) -> Recoded:
        return recode_table(
            prepared, groups, decimals=plan.decimals, sums=plan.sums, keep_moments=plan.keep_moments, data=arrays,
            progress=progress,
        )  # fmt: skip

    recoded = recode(grouped)
    if rule is not None:
        from shoal.flow.person_requirements import settle_classes

        grouped, recoded = settle_classes(
            prepared, grouped, recoded, rule, recode=recode, progress=progress,
            data=lambda: MethodData(prepared, grouped.blocks.suppressed),
        )  # fmt: skip
    return grouped, recoded


def _grouped_beyond_k(
    prepared: Prepared, plan: Plan, arrays: MethodData, blocks: Blocks, progress: Progress
) -> tuple[Grouped, PersonRequirements | None]:
    """Return groups that satisfy requirements beyond k, and those that persons are counted for.

    Raises before any grouping if one is not achievable.
    """
    from shoal.flow.person_requirements import check_achievable, person_requirements
    from shoal.flow.satisfy import read_confidential, satisfy_requirements

    requirements = plan.requirements
    confidential = read_confidential(prepared.table, plan.schema, requirements, prepared.whole_table)
    size = None
    rule = person_requirements(prepared, requirements, confidential)
    if rule is not None:
        check_achievable(rule, blocks)
    elif confidential is not None:
        confidential.check_achievable(requirements, blocks)
    if confidential is not None:
        size = confidential.group_size(requirements)
    grouped = group_records(
        prepared, requirements, plan.method, size=size, data=arrays, blocks=blocks, progress=progress
    )
    return satisfy_requirements(prepared, grouped, confidential, data=arrays, progress=progress), rule
