"""Reading and writing tables: files and DataFrames; rows, column order, types and labels are preserved.

All file input and output is in this package and in ``cli``. ``read_table`` and ``Table.from_native`` read a table,
``write_table`` and ``Table.native`` return it in the format or library of the input; ``write_files`` writes several
files so that all of them appear or none. Importing this package is fast: narwhals, polars, pyarrow, pandas and
pyreadstat are imported by the first call that needs them.
"""

from shoal.tables.atomic import write_files
from shoal.tables.dialect import Dialect
from shoal.tables.files import read_head, read_table, write_table
from shoal.tables.table import Table

__all__ = [
    "Dialect",
    "Table",
    "read_head",
    "read_table",
    "write_files",
    "write_table",
]
