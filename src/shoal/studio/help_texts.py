"""What each field means: the words of the help beside it, and of the table of fields in the documentation."""

from __future__ import annotations

HELP = {
    "path": "The file is read in its place: it is not copied, not changed and not sent anywhere.",
    "delimiter": (
        "The sign between the fields of a text file. It is found in the file; choose it only if the preview is wrong."
    ),
    "encoding": "How letters are stored. If ä or é look wrong in the preview, try latin-1 or cp1252.",
    "decimal": "The sign before the decimals: 1.5 with a point, 1,5 with a comma.",
    "na_values": (
        "Further texts that mean a missing value, separated by commas. An empty field is always missing; −999 is a "
        "value unless it is named here."
    ),
    "sheet": "The sheet of the workbook that holds the table.",
    "address": (
        "SQLite: sqlite:///people.db?table=people, DuckDB: duckdb:///people.duckdb?table=people, PostgreSQL: "
        "postgresql://host/name?table=people. A password is better kept where the driver looks for it."
    ),
    "query": "A SELECT statement, where the address names no table.",
    "role": (
        "Who else could know this value about a person? An identifier is dropped. A quasi-identifier may be known "
        "to an intruder and is replaced. A confidential value must not become known and is kept. In doubt, quasi."
    ),
    "kind": (
        "Numbers are replaced by means, ordered categories by medians, categories without an order by the most "
        "frequent value."
    ),
    "weight": "1 counts as much as every other column; with 2 this column loses less and the others more.",
    "recode": (
        "What replaces the values of a group: a representative such as the mean, the range or set of its values, or"
        " a level of the hierarchy."
    ),
    "hierarchy": "With a hierarchy, a group gets the closest level of the tree that all its values share.",
    "tree": (
        "Each value is a leaf, and every name above it stands in the release for all values below it. Make a tree, "
        "then choose values or names and group, move, rename or ungroup them. Every change is a step that can be "
        "undone."
    ),
    "use": (
        "Groups never cross the values of a stratum, which stay as they are; an intruder may know them, so k holds "
        "with them. A sampling weight says how many people of the population a row represents; means and the loss "
        "count by it."
    ),
    "schema": (
        "A TOML file with the role, kind, order, weight, hierarchy and steps of each column, for the next table of "
        "the same kind, or for shoal protect --schema. It lists values of the original where columns have an order "
        "or a tree."
    ),
    "order": "From lowest to highest. Distances between categories follow this order.",
    "before": (
        "Done to the values before grouping: top and bottom coding, rounding, bands, joining rare categories. They "
        "cost information too, and the report says how much."
    ),
    "k": (
        "k is the smallest number of rows (or persons) that share the values of all quasi-identifiers. The "
        "probability of re-identifying a person by them is at most 1/k."
    ),
    "of": (
        "Where a person has several rows, k rows are fewer than k persons. Name the column that says which rows "
        "belong to one person, and k counts persons. Histories are persons whose rows are the same, one by one: choose "
        "them if an intruder may know several rows of a person."
    ),
    "l": (
        "Each equivalence class has at least l different values of each confidential column, so that its members do"
        " not share one value."
    ),
    "t": (
        "The confidential values of each equivalence class are distributed as in the whole table, up to this "
        "distance between 0 and 1."
    ),
    "alpha": "No confidential value has more than this share of an equivalence class.",
    "beta": (
        "No confidential value is more than this much likelier in an equivalence class than in the table, relative "
        "to its share there."
    ),
    "p": "Each equivalence class has at least p different values of each confidential column.",
    "max_size": "No group has more rows than this.",
    "missing": (
        "Rows are grouped by their known cells. fill: a missing cell gets the representative of its group. "
        "suppress: a column that mixes known and missing cells in a group is emptied there. by-pattern: only rows "
        "with the same missing cells are grouped. category: missing is a value of its own. impute: median or most "
        "frequent value."
    ),
    "statistics": (
        "A figure that others compute from the table, such as the mean of income by region. If the release changes "
        "it by more than the tolerance, nothing is released."
    ),
    "held_value": (
        "A column of numbers, whose mean is kept, or a condition such as income < 9000, whose share of the rows is "
        "kept."
    ),
    "held_domains": "The figure is kept for each value of these columns, such as region; empty for the whole table.",
    "held_relative": "2 allows the figure of the release to be 2 % larger or smaller than that of the original.",
    "effort": (
        "How long the search for good groups takes. More effort loses less information; k holds with each of them."
    ),
    "time_limit": "Seconds or minutes for the search. With a time limit a repeat may give other groups.",
    "method": (
        "auto selects a method for the data, k and the effort, and says why. Choose another one only if you need "
        "its properties."
    ),
    "folder": "Where the files are written. Files that exist are replaced only if that is chosen.",
    "extension": "The format of the protected table; the manifest and the reports keep theirs.",
    "title": "Printed at the top of both reports.",
    "decision": (
        "Whether the table may leave, and under which conditions. It is kept in the history beside the result that "
        "it is about."
    ),
    "findings": (
        "What someone has to decide before the table may leave. Accept a finding with the reason, which the history "
        "keeps, or change the plan and run it again."
    ),
    "step_name": "A word for this step, such as candidate; a branch that begins here is shown with it.",
    "step_note": "Why this step was taken. The history keeps it; no file of the release holds it.",
    "released": "The table as it would leave, made by any software.",
    "original": (
        "The table before protection, with the same rows in the same order. Without it only the released table is "
        "assessed."
    ),
    "check_quasi": "What an intruder may know about a person; the table is assessed for all of these columns together.",
    "check_confidential": "What must not become known; it is measured how well the table gives it away.",
}
"""By the name of the field."""
