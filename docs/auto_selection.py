"""Write the page that says what the method ``auto`` selects, from the code that selects it.

python docs/auto_selection.py
"""

from pathlib import Path

from shoal.methods import auto, effort
from shoal.methods.mixed_effort import BLOCK_LIMIT, mixed_work

PAGE = Path(__file__).parent / "how-auto-selects.md"
SIZES = (50, 500, 5_000, 50_000, 500_000, 5_000_000)
EFFORTS = ("fast", "balanced", "best")
K, ATTRIBUTES, COORDINATES = 5, 10, 40


def page():
    """Return the text of the page."""
    return "\n".join([
        head(), table(numeric_work), "", f"*{ATTRIBUTES} numeric columns, k = {K}.*", "", many_attributes(), "",
        mixed_head(), "", table(mixed), "", f"*{COORDINATES} numbers and categories in all, k = {K}.*", "", tail(),
    ])  # fmt: skip


def link(name):
    return f"[`{name}`](methods/reference/{name}.md)"


def head():
    proven = " and ".join(f"{records} records for k up to {k}" for k, records in effort.PROVEN_K)
    selected = {
        "one numeric column, replaced by means": f"{link('optimal-1d')}, the optimum",
        f"numbers replaced by means, up to {effort.PROVEN_RECORDS} records, effort not `fast`": (
            f"{link('set-partition')}; with up to {proven} it proves the optimum of most tables"
        ),
        "numbers replaced by means, more records": (
            f"{link('annealing')}, a search that begins with the groups of another method"
        ),
        "categories, missing cells, or other representatives than means": (
            f"{link('mixed-annealing')}, the same search by the loss that is reported"
        ),
        "categories only, `--recode frequencies`": f"{link('nominal')}, which keeps frequency tables",
        "categories only, `--recode suppress`, few enough combinations": link("cell-suppression"),
    }
    rows = "\n".join(f"| {case} | {method} |" for case, method in selected.items())
    return f"""\
# How `auto` selects a method

`auto` is the default. What it selects depends on the kinds of the quasi-identifiers, what replaces them, the number of
records and the effort, and without a time limit never on the machine: the same table gets the same groups everywhere.
The manifest names the selected method with its options and the reason; the same options given by hand repeat it.

| table | selected method |
|---|---|
{rows}

## Numbers

The work of the search, by number of records and effort. A *sweep* visits every record once; a table of several blocks
is searched in several *passes*, each with other blocks; a *chain* is an independent search, and the best parts of all
are combined; a search that is *heated again* starts once more from its result.
"""


def table(describe):
    rows = [f"| {n:,} | " + " | ".join(describe(n, level) for level in EFFORTS) + " |" for n in SIZES]
    return "| records | `fast` | `balanced` | `best` |\n|---:|---|---|---|\n" + "\n".join(rows)


def numeric_work(n, level):
    choice = auto.choose(n, ATTRIBUTES, K, effort=level)
    return f"`{choice.method}`" if choice.method != "annealing" else searched(choice.options)


def mixed(n, level):
    return searched(mixed_work(n, COORDINATES, level))


def searched(options):
    """Return the options of a search as a phrase."""
    start = options["start"]
    if start == "mona-plus" and options["start_block"]:
        start += f" (blocks of {options['start_block']:,})"
    work = []
    if options.get("chains", 1) > 1:
        work.append(f"{options['chains']} chains of {options['sweeps']} sweeps")
    elif options["passes"] > 1:
        work.append(f"{options['passes']} passes of {options['sweeps']} sweeps")
    else:
        work.append(f"{options['sweeps']} sweeps")
    if options.get("costly_sweeps"):
        work.append(f"{options['costly_sweeps']} of the costliest groups")
    if options.get("windows"):
        work.append("windows of a few groups")
    if options.get("program"):
        work.append("an integer program")
    if options.get("reheats"):
        work.append(f"heated again {options['reheats']} times")
    return f"{start}, then {', '.join(work)}"


def many_attributes():
    blocks = ", ".join(f"{effort.start_of_many(d)['start_block']:,} for {d}" for d in (20, 50, 200))
    return f"""\
With more than {effort.MANY_ATTRIBUTES} columns no tree excludes many records, so the first groups of tables with more
than {auto.SMALL_TABLE_RECORDS:,} records are formed in smaller blocks ({blocks} columns), and each record is compared
with all groups of its block (`neighbours=record`)."""


def mixed_head():
    return f"""\
## Categories, missing cells, other representatives

Up to {BLOCK_LIMIT:,} records a table is searched as a whole, above in blocks. The start is `ona-star` while that takes
seconds, and `mixed-blocks` above."""


def tail():
    return f"""\
## With a time limit

`--time-limit 60s` (or `5m`, `2h`) measures the speed of the machine first, takes the most thorough start and first
search that fit, and heats the search again until the time ends. Up to {auto.SEARCHED_TABLE_RECORDS:,} records with at
least {auto.LEAST_SECONDS:g} seconds `set-partition` goes on from there and proves a lower bound. The groups then depend
on the speed of the machine; the manifest states how much work was done, and the same options without a time limit
repeat it. Ctrl-C ends a search, and the best groups found so far are released.

## With requirements beyond k

The groups that `auto` finds are changed afterwards until every group satisfies l, t and the others, see
[satisfying requirements](privacy.md#satisfying-requirements). Where that changed a group, numbers in up to some 6,000
records have a second start, from a search in windows of a few groups; and then `auto` searches once more by
the reported loss, without any violation: at the effort `balanced` up to 200 sweeps, above 8,000 records 2 passes of 12
sweeps, above 100,000 records one of 6. With a unit the groups are changed until every group has k different persons,
see [several rows per person](persons.md). How much time and loss each effort takes:
[choosing speed or quality](speed-or-quality.md).
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
