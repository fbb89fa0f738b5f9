"""Commands with something wrong in them: files, schema files, hierarchy files, options and combinations.

Every cell of the tables is unique, so that a test can search for cells in what a command prints. ``CASES`` lists the
commands; :func:`write_inputs` writes the files that they name.
"""

import gzip
import io
import struct
from dataclasses import dataclass

import polars as pl

N = 12
PEOPLE = pl.DataFrame(
    {
        "name": [f"Qname{7001 + i}x" for i in range(N)],
        "age": [7340 + 11 * i for i in range(N)],
        "sex": [f"Qsex{7100 + i % 6}x" for i in range(N)],
        "income": [8150021.25 + 10007 * i for i in range(N)],
        "diagnosis": [f"Qdiag{7200 + i % 4}x" for i in range(N)],
        "weight": [9001.5 + i for i in range(N)],
    }
)
CELLS = sorted({str(value) for column in PEOPLE.iter_columns() for value in column})
"""The texts of all cells."""
ROLES = ["--quasi", "age,sex,income", "--confidential", "diagnosis", "--identifiers", "name"]
WEIGHT = ["--sampling-weight", "weight"]


@dataclass(frozen=True)
class Case:
    """A command that must stop with one sentence: exit code 2 for wrong use, 1 for a violated requirement."""

    name: str
    arguments: tuple[str, ...]
    code: int = 2


def protect(*extra, file="people.csv", out="out.csv", roles=(*ROLES, *WEIGHT), k="3", method="mdav"):
    method = () if method is None else ("--method", method)
    return ("protect", file, "-k", k, *roles, *method, "-o", out, *extra)


def without(*names):
    """Return the options of roles without some of them."""
    pairs = zip((*ROLES, *WEIGHT)[::2], (*ROLES, *WEIGHT)[1::2], strict=True)
    return tuple(text for pair in pairs if pair[0].removeprefix("--") not in names for text in pair)


# Options of protect: the option and values that it does not accept.
OPTIONS = {
    "-k": ["0", "1", "-1", "1.5", "nan", "", "ten", "13", "1000000000000000000000000000000", "0x3", "3,4"],
    "--seed": ["-1", "-9223372036854775809", "1.5", "x", "", "1" + "0" * 400],
    "--method": ["mdv", "", "MDAV ", "auto,mdav", "../mdav", "__init__", "None"],
    "--effort": ["fastest", "", "balanced"],
    "--time-limit": ["0", "-1", "abc", "nan", "inf", "1d", "", "0s", "1e999"],
    "--option": ["gamma", "=1", "gamma=1", "passes=x", "", "storage=float16"],
    "--recode": ["average", "age=average", "incme=mean", "sex=mean", "mean,age=median", "age=frequencies", "=mean",
                 "age=", "diagnosis=range", "sex=midrange", "sex=hierarchy,age"],
    "--missing": ["drop", "", "ERROR", "own-group", "0"],
    "--decimals": ["-1", "16", "abc", "²", "1.5", "99999999999999999999", "1e3"],
    "--max-size": ["2", "0", "-5", "3.5", "x"],
    "--l": ["0", "-1", "1.5", "nan", "inf", "x", "5", "1e300"],
    "--l-kind": ["shannon", "recursive", "", "entropy,distinct"],
    "--c": ["0", "-1", "3", "nan", "x"],
    "--p": ["0", "-2", "1.5", "x", "5"],
    "--alpha": ["0", "-0.1", "1.1", "nan", "x", "0.01"],
    "--t": ["-0.1", "1.1", "nan", "inf", "x"],
    "--beta": ["0", "-1", "nan", "x"],
    "--column-weight": ["age", "age=x", "age=-1", "age=nan", "age=inf", "incme=2", "=2"],
    "--strata": ["nowhere", "age", "name", "sex,age", "income"],
    "--sampling-weight": ["nowhere", "age", "name", "diagnosis", ""],
    "--numeric": ["sex", "nowhere"],
    "--nominal": ["nowhere"],
    "--ordinal": ["sex=a<b", "sex=", "sex", "nowhere=a<b", "sex=a<a<b", "=a<b", "sex=<<"],
    "--hierarchy": ["sex=none.csv", "sex", "nowhere=flat", "sex=intervals", "sex=calendar", "sex=.", "sex=empty.csv",
                    "sex=cycle.csv", "sex=deep.csv", "sex=latin.csv", "sex=binary.csv", "sex=twice.csv",
                    "sex=parents.csv", "sex=gap.csv", "sex=other.csv", "sex=long.csv", "=flat", "sex=zero.csv"],
    "--delimiter": ["ab", "\n", '"', "|", "\0", "é", "a"],
    "--encoding": ["utf-99", "", "rot13", "hex", "utf-16", "\0", "base64"],
    "--decimal": ["x", ".,", "", ";", "5"],
    "--threads": ["0", "-1", "x", "1.5"],
    "--schema": ["none.toml", ".", "people.csv", "binary.csv", "empty.csv/x"],
    "--quasi": ["nowhere", "age,nowhere", "diagnosis", "name"],
    "--confidential": ["nowhere", "age", "name"],
    "--identifiers": ["nowhere", "age"],
    "--other": ["nowhere", "age", "name"],
    "--unnamed": ["zzz", "", "quasi,other"],
    "--manifest": ["people.csv", "out.csv", "none/x.json", "."],
    "--report": ["people.csv", "out.csv", "report.pdf", "none/x.html", ".", "x"],
    "--public-report": ["people.csv", "report.pdf", "none/x.html"],
    "--nosuch": ["1"],
}  # fmt: skip

# Files in place of people.csv.
HEADER = b"name,age,sex,income,diagnosis,weight\n"
ROWS = PEOPLE.write_csv(include_header=False).encode()


def arrow_bytes(frame, write="write_ipc"):
    stream = io.BytesIO()
    getattr(frame, write)(stream)
    return stream.getvalue()


def column_bytes(name, values, write="write_parquet", **more):
    """Return people with one column replaced, as a file."""
    return arrow_bytes(PEOPLE.with_columns(pl.Series(name, values, **more)), write)


PARQUET = arrow_bytes(PEOPLE, "write_parquet")
ARROW = arrow_bytes(PEOPLE)
FILES = {
    "none.csv": None,
    "empty.csv": b"",
    "space.csv": b" \n\n  \n",
    "header.csv": HEADER,
    "one.csv": HEADER + ROWS.splitlines(keepends=True)[0],
    "two.csv": HEADER + b"".join(ROWS.splitlines(keepends=True)[:2]),
    "bom.csv": b"\xef\xbb\xbf",
    "garbage.csv": bytes(range(256)) * 40,
    "zeros.csv": b"\0" * 4096,
    "nul.csv": HEADER + ROWS.replace(b"Qsex7101x", b"Qse\0x7101x", 1),
    "quote.csv": HEADER + b'"' + ROWS,
    "short.csv": HEADER + ROWS + b"a,b\n",
    "more.csv": HEADER + ROWS + b"a,1,b,2,c,3,d,e,f\n",
    "same_names.csv": HEADER.replace(b"sex", b"age") + ROWS,
    "blank_name.csv": HEADER.replace(b"sex", b"") + ROWS,
    "no_header.csv": ROWS,
    "blank_age.csv": HEADER + b"".join(b"n,,s,1,d,2\n" for _ in range(N)),
    "blank_all.csv": HEADER + b",,,,,\n" * N,
    "one_blank.csv": HEADER + ROWS.replace(b",7340,", b",,", 1),
    "infinite.csv": HEADER + ROWS.replace(b"8150021.25", b"inf", 1),
    "huge.csv": HEADER + ROWS.replace(b"8150021.25", b"1e999", 1),
    "negative_weight.csv": HEADER + ROWS.replace(b"9001.5", b"-1", 1),
    "zero_weight.csv": HEADER + ROWS.replace(b"9001.5", b"0", 1),
    "blank_weight.csv": HEADER + ROWS.replace(b"9001.5", b"", 1),
    "text_weight.csv": HEADER + ROWS.replace(b"9001.5", b"Q7x", 1),
    "blank_weights.csv": HEADER + b"".join(b"n%d,%d,s,1,d,\n" % (i, i) for i in range(N)),
    "utf16.csv": "ä".encode("utf-16-le") * 50 + HEADER.decode().encode("utf-16-be"),
    "html.csv": b"<!doctype html><html><body>not found</body></html>\n",
    "json.csv": b'{"age": [1, 2, 3]}\n',
    "plain.csv.gz": HEADER + ROWS,
    "cut.csv.gz": gzip.compress(HEADER + ROWS * 50)[:80],
    "crc.csv.gz": gzip.compress(HEADER + ROWS)[:-8] + b"\0" * 8,
    "empty.csv.gz": gzip.compress(b""),
    "zero.csv.gz": b"",
    "cut.parquet": PARQUET[: len(PARQUET) // 2],
    "head.parquet": PARQUET[:8],
    "zero.parquet": b"",
    "text.parquet": HEADER + ROWS,
    "footer.parquet": PARQUET[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1",
    "flipped.parquet": PARQUET[:40] + bytes(b ^ 0xFF for b in PARQUET[40:120]) + PARQUET[120:],
    "cut.arrow": ARROW[: len(ARROW) // 2],
    "zero.arrow": b"",
    "text.arrow": HEADER + ROWS,
    "cut.feather": ARROW[:100],
    "zero.sav": b"",
    "text.sav": HEADER + ROWS,
    "head.sav": b"$FL2" + b"\0" * 200,
    "text.dta": HEADER + ROWS,
    "zero.dta": b"",
    "text.xpt": HEADER + ROWS,
    "text.sas7bdat": HEADER + ROWS,
    "people": HEADER + ROWS,
    "people.xyz": HEADER + ROWS,
    "people.zip": b"PK\x03\x04" + b"\0" * 40,
    "people.xls": b"\xd0\xcf\x11\xe0" + b"\0" * 40,
    "lists.parquet": column_bytes("age", [[1, 2]] * N),
    "structs.parquet": column_bytes("age", [{"a": 1}] * N),
    "binary.parquet": column_bytes("age", [b"\x00\xff"] * N),
    "nulls.parquet": column_bytes("age", [None] * N),
    "nulls_text.parquet": column_bytes("sex", [None] * N, dtype=pl.String),
    "nan.parquet": column_bytes("income", [float("nan")] * N),
    "inf.parquet": column_bytes("income", [float("inf"), *map(float, range(N - 1))]),
    "none.parquet": arrow_bytes(PEOPLE.head(0), "write_parquet"),
    "no_columns.parquet": arrow_bytes(pl.DataFrame(), "write_parquet"),
    "weights.parquet": column_bytes("weight", [[1.0]] * N),
    "infinite_weight.parquet": column_bytes("weight", [float("inf")] * N),
}  # fmt: skip

TREES = {
    "empty.csv": b"",
    "cycle.csv": b"Qsex7100x;X;Y;X\n",
    "deep.csv": b"Qsex7100x" + b"".join(b";n%d" % i for i in range(5000)) + b"\n",
    "latin.csv": "Qsex7100x;größer\n".encode("latin-1"),
    "binary.csv": bytes(range(128, 256)) * 30,
    "twice.csv": b"Qsex7100x;X\nQsex7100x;Y\n",
    "parents.csv": b"Qsex7100x;X;P\nQsex7101x;X;Q\n",
    "gap.csv": b"Qsex7100x;;P\n",
    "other.csv": b"a;X\nb;X\n",
    "long.csv": b'"' + b"x" * 200_000 + b'";X\n',
    "zero.csv": b"\0\0\0",
}

# Schema files: an entry and values of a type that it cannot have.
VALUES = {
    "number": "1", "fraction": "1.5", "nan": "nan", "infinite": "inf", "negative": "-1", "true": "true", "list": "[]",
    "numbers": "[1, 2]", "lists": '[["a"], ["b"]]', "table": "{}", "tables": "{a = {b = 1}}", "text": '"zzz"',
    "empty": '""', "date": "2020-01-01", "mixed": '["a", 1, true]', "twice": '["a", "a"]', "true list": "[true]",
}  # fmt: skip
COLUMN_ENTRIES = {
    "role": set(VALUES), "kind": set(VALUES), "recode": set(VALUES), "missing": set(VALUES),
    "weight": set(VALUES) - {"number", "fraction"},
    "order": set(VALUES),
    "hierarchy": set(VALUES),
}  # fmt: skip
TOP_ENTRIES = {
    "strata": set(VALUES) - {"list"},
    "sampling_weight": set(VALUES) - {"empty"},
    "missing": set(VALUES),
    "columns": set(VALUES) - {"table"},
}
SCHEMA_TEXTS = {
    "no TOML": "this is not TOML",
    "two keys": "missing = 'error'\nmissing = 'error'\n",
    "unknown entry": "colums = 1\n",
    "unknown column entry": "[columns.age]\nroll = 'quasi'\n",
    "unknown column": "[columns.agee]\nrole = 'quasi'\n",
    "no quasi": "[columns.age]\nrole = 'other'\n",
    "nested lists": "strata = " + "[" * 5000 + "]" * 5000 + "\n",
    "large number": "[columns.age]\nrole = 'quasi'\nweight = 1" + "0" * 5000 + "\n",
    "zero byte": "missing = 'error'\0\n",
    "long name": "[columns.'" + "x" * 100_000 + "']\nrole = 'quasi'\n",
    "dotted name": "[columns.age.sex]\nrole = 'quasi'\n",
    "mean of text": "[columns.sex]\nrole = 'quasi'\nrecode = 'mean'\n",
    "stratum and quasi": "strata = ['age']\n[columns.age]\nrole = 'quasi'\n",
    "order of others": "[columns.sex]\nrole = 'quasi'\nkind = 'ordinal'\norder = ['a', 'b']\n",
    "numeric text": "[columns.sex]\nrole = 'quasi'\nkind = 'numeric'\n",
    "cyclic tree": "[columns.sex]\nrole = 'quasi'\nhierarchy = {X = {Y = {X = ['Qsex7100x']}}}\n",
    "deep tree": "[columns.sex]\nrole = 'quasi'\nhierarchy = " + "{a = " * 3000 + "[]" + "}" * 3000 + "\n",
}


def schema_files():
    """Return schema files with one wrong entry each, by name."""
    texts = dict(SCHEMA_TEXTS)
    start = "[columns.name]\nrole = 'identifier'\n[columns.age]\nrole = 'quasi'\n"
    for entry, names in COLUMN_ENTRIES.items():
        for name in sorted(names):
            role = "" if entry == "role" else "role = 'quasi'\n"
            texts[f"{entry} {name}"] = f"[columns.age]\nrole = 'quasi'\n[columns.sex]\n{role}{entry} = {VALUES[name]}\n"
    for entry, names in TOP_ENTRIES.items():
        for name in sorted(names):
            rest = "" if entry == "columns" else start
            texts[f"{entry}: {name}"] = f"{entry} = {VALUES[name]}\n{rest}"
    return texts


OTHER_COMMANDS = {
    "no command": ("frobnicate",),
    "a command twice": ("protect", "protect"),
    "no file": ("protect",),
    "no k": ("protect", "people.csv", "-o", "out.csv"),
    "no output": ("protect", "people.csv", "-k", "3"),
    "two files": ("protect", "people.csv", "people.csv", "-k", "3", "-o", "out.csv"),
    "k twice in one": ("protect", "people.csv", "-k", "3", "5", "-o", "out.csv"),
    "no quasi": protect(roles=without("quasi")),
    "empty quasi": protect("--quasi", "", roles=without("quasi")),
    "comma quasi": protect("--quasi", ",", roles=without("quasi")),
    "output is input": protect(out="people.csv"),
    "output is a directory": protect(out="."),
    "output in no directory": protect(out="none/out.csv"),
    "output without extension": protect(out="out"),
    "output of an unknown format": protect(out="out.xyz"),
    "output to old Excel": protect(out="out.xls"),
    "output name of 300 characters": protect(out="x" * 300 + ".csv"),
    "output with a zero byte": protect(out="o\0ut.csv"),
    "input with a zero byte": protect(file="peo\0ple.csv"),
    "input name of 5000 characters": protect(file="x" * 5000 + ".csv"),
    "output name of 252 characters": protect(out="x" * 248 + ".csv"),
    "input is a symbolic link to itself": protect(file="loop.csv"),
    "output is a symbolic link to itself": protect(out="loop.csv"),
    "hierarchy is a symbolic link to itself": protect("--hierarchy", "sex=loop.csv"),
    "schema is a symbolic link to itself": protect("--schema", "loop.csv"),
    "input is a directory": protect(file="."),
    "empty input name": protect(file=""),
    "empty output name": protect(out=""),
    "report is the table": protect("--report", "out.html", "--public-report", "out.html"),
    "l without confidential": protect("--l", "2", roles=without("confidential")),
    "t without confidential": protect("--t", "0.2", roles=without("confidential")),
    "recursive without c": protect("--l", "2", "--l-kind", "recursive"),
    "c without l": protect("--c", "2", "--l-kind", "recursive"),
    "effort of mdav": protect("--effort", "fast"),
    "codes of numbers": protect(method="safe"),
    "one column of three": protect(method="optimal-1d"),
    "brute force of many": protect(method="brute-force", file="big.csv"),
    "verify without k": ("verify", "people.csv", "--quasi", "age"),
    "verify k of 1": ("verify", "people.csv", "-k", "1", "--quasi", "age"),
    "verify no quasi": ("verify", "people.csv", "-k", "2"),
    "verify unknown": ("verify", "people.csv", "-k", "2", "--quasi", "agee"),
    "verify l without confidential": ("verify", "people.csv", "-k", "2", "--quasi", "age", "--l", "2"),
    "verify semantics": ("verify", "people.csv", "-k", "2", "--quasi", "age", "--missing-semantics", "zzz"),
    "verify confidential-as": ("verify", "people.csv", "-k", "2", "--quasi", "age", "--confidential-as", "zzz"),
    "verify delta": ("verify", "people.csv", "-k", "2", "--quasi", "age", "--confidential", "sex", "--delta", "-1"),
    "verify no file": ("verify", "none.csv", "-k", "2", "--quasi", "age"),
    "assess no quasi": ("assess", "people.csv"),
    "assess unknown": ("assess", "people.csv", "--quasi", "agee"),
    "assess confidential unknown": ("assess", "people.csv", "--quasi", "age", "--confidential", "agee"),
    "assess both": ("assess", "people.csv", "--quasi", "age", "--confidential", "age"),
    "assess l of 0": ("assess", "people.csv", "--quasi", "age", "--confidential", "sex", "--l", "0"),
    "assess m of 0": ("assess", "people.csv", "--quasi", "age", "--confidential", "sex", "--m", "0"),
    "assess m of -5": ("assess", "people.csv", "--quasi", "age", "--confidential", "sex", "--m", "-5"),
    "assess threshold of 2": ("assess", "people.csv", "--quasi", "age", "--threshold", "2"),
    "assess threshold of -1": ("assess", "people.csv", "--quasi", "age", "--threshold", "-1"),
    "assess threshold nan": ("assess", "people.csv", "--quasi", "age", "--threshold", "nan"),
    "assess text weight": ("assess", "people.csv", "--quasi", "age", "--sampling-weight", "sex"),
    "assess semantics": ("assess", "people.csv", "--quasi", "age", "--missing-semantics", "drop"),
    "assess numeric text": ("assess", "people.csv", "--quasi", "age", "--confidential", "sex", "--numeric", "sex"),
    "evaluate one file": ("evaluate", "people.csv"),
    "evaluate no quasi": ("evaluate", "people.csv", "people.csv"),
    "evaluate no file": ("evaluate", "people.csv", "none.csv", "--quasi", "age"),
    "evaluate other rows": ("evaluate", "people.csv", "fewer.csv", "--quasi", "age,income"),
    "evaluate more rows": ("evaluate", "fewer.csv", "people.csv", "--quasi", "age,income"),
    "evaluate other columns": ("evaluate", "people.csv", "cities.csv", "--quasi", "age,income"),
    "evaluate target": ("evaluate", "people.csv", "people.csv", "--quasi", "age,income", "--target", "agee"),
    "evaluate text target": ("evaluate", "people.csv", "people.csv", "--quasi", "age,income", "--target", "sex"),
    "evaluate control": ("evaluate", "people.csv", "people.csv", "--quasi", "age,income", "--control", "none.csv"),
    "evaluate other control": ("evaluate", "people.csv", "people.csv", "--quasi", "age,income", "--confidential",
                               "diagnosis", "--control", "cities.csv"),
    "evaluate population": ("evaluate", "people.csv", "people.csv", "--quasi", "age", "--population", "cities.csv"),
    "evaluate empty": ("evaluate", "people.csv", "empty.csv", "--quasi", "age"),
    "compare no k": ("compare", "people.csv", "--quasi", "age"),
    "compare k of text": ("compare", "people.csv", "-k", "a", "--quasi", "age"),
    "compare k of 1": ("compare", "people.csv", "-k", "1,2", *ROLES),
    "compare method": ("compare", "people.csv", "-k", "3", "--methods", "mdv", *ROLES),
    "compare t": ("compare", "people.csv", "-k", "3", "--t", "2", "--methods", "mdav", *ROLES),
    "compare l": ("compare", "people.csv", "-k", "3", "--l", "x", "--methods", "mdav", *ROLES),
    "compare negative seed": ("compare", "people.csv", "-k", "3", "--seed", "-1", "--methods", "mdav", *ROLES),
    "compare csv": ("compare", "people.csv", "-k", "3", "--csv", "out.html", "--methods", "mdav", *ROLES),
    "compare csv over input": ("compare", "people.csv", "-k", "3", "--csv", "people.csv", "--methods", "mdav", *ROLES),
    "compare empty k": ("compare", "people.csv", "-k", "", *ROLES),
    "compare empty methods": ("compare", "people.csv", "-k", "3", "--methods", "", *ROLES),
    "compare time limit": ("compare", "people.csv", "-k", "3", "--time-limit", "0", "--methods", "mdav", *ROLES),
    "schema no file": ("schema", "none.csv"),
    "schema over input": ("schema", "people.csv", "-o", "people.csv"),
    "schema over a file": ("schema", "people.csv", "-o", "edited.toml"),
    "schema into no directory": ("schema", "people.csv", "-o", "none/x.toml"),
    "schema empty": ("schema", "empty.csv"),
    "schema garbage": ("schema", "garbage.csv"),
    "schema delimiter": ("schema", "people.csv", "--delimiter", "ab"),
    "methods unknown": ("methods", "mdv"),
    "methods two": ("methods", "mdav", "ona"),
    "demo k": ("demo", "--folder", "demo", "-k", "1"),
    "demo k of rows": ("demo", "--folder", "demo", "-k", "500", "--rows", "20"),
    "demo rows": ("demo", "--folder", "demo", "--rows", "3"),
    "demo missing": ("demo", "--folder", "demo", "--missing", "2"),
    "demo missing nan": ("demo", "--folder", "demo", "--missing", "nan"),
    "demo seed": ("demo", "--folder", "demo", "--seed", "-1"),
    "demo method": ("demo", "--folder", "demo", "--method", "mdv"),
    "demo folder is a file": ("demo", "--folder", "people.csv"),
}  # fmt: skip

DP = ("dp", "people.csv", "--epsilon", "1", "-o", "out.csv")
DP_BOUNDS = ("--bounds", "age=0..10000", "--bounds", "income=0..1e7")
DP_COMMANDS = {
    "dp epsilon 0": ("dp", "people.csv", "--epsilon", "0", "-o", "out.csv", *DP_BOUNDS),
    "dp epsilon -1": ("dp", "people.csv", "--epsilon", "-1", "-o", "out.csv", *DP_BOUNDS),
    "dp epsilon nan": ("dp", "people.csv", "--epsilon", "nan", "-o", "out.csv", *DP_BOUNDS),
    "dp epsilon inf": ("dp", "people.csv", "--epsilon", "inf", "-o", "out.csv", *DP_BOUNDS),
    "dp epsilon text": ("dp", "people.csv", "--epsilon", "x", "-o", "out.csv", *DP_BOUNDS),
    "dp no bounds": DP,
    "dp bounds text": (*DP, "--bounds", "age=x..y"),
    "dp bounds one": (*DP, "--bounds", "age=3"),
    "dp bounds reversed": (*DP, "--bounds", "age=9..3"),
    "dp bounds equal": (*DP, "--bounds", "age=3..3"),
    "dp bounds nan": (*DP, "--bounds", "age=nan..3"),
    "dp bounds inf": (*DP, "--bounds", "age=0..inf"),
    "dp bounds unknown": (*DP, "--bounds", "agee=0..3"),
    "dp bounds of text": (*DP, "--bounds", "sex=0..3"),
    "dp no sign": (*DP, "--bounds", "age"),
    "dp categories unknown": (*DP, "--categories", "nowhere=a|b"),
    "dp categories empty": (*DP, "--categories", "sex="),
    "dp mechanism": (*DP, *DP_BOUNDS, "--mechanism", "laplace"),
    "dp k": (*DP, *DP_BOUNDS, "-k", "0"),
    "dp k negative": (*DP, *DP_BOUNDS, "-k", "-3"),
    "dp output type": (*DP, *DP_BOUNDS, "--output-type", "zzz"),
    "dp delta of mondrian": (*DP, *DP_BOUNDS, "--delta", "0.1"),
    "dp order of mondrian": (*DP, *DP_BOUNDS, "--order", "sum"),
    "dp cells": (*DP, *DP_BOUNDS, "--mechanism", "histogram", "--cells", "0"),
    "dp neighbours": (*DP, *DP_BOUNDS, "--mechanism", "histogram", "--neighbours", "zzz"),
    "dp columns": (*DP, *DP_BOUNDS, "--columns", "agee"),
    "dp columns without bounds": (*DP, *DP_BOUNDS, "--columns", "weight"),
    "dp over input": ("dp", "people.csv", "--epsilon", "1", "-o", "people.csv", *DP_BOUNDS),
    "dp no file": ("dp", "none.csv", "--epsilon", "1", "-o", "out.csv", *DP_BOUNDS),
    "dp format": ("dp", "people.csv", "--epsilon", "1", "-o", "out.xyz", *DP_BOUNDS),
    "dp records": (*DP, "--bounds", "age=0..10000", "--mechanism", "intervals", "--records", "0"),
}  # fmt: skip


def cases():
    """Yield all commands."""
    for option, values in OPTIONS.items():
        for value in values:
            own = {"-k": {"k": value}, "--method": {"method": value}}.get(option)
            name = f"protect {option} {value[:40]!r}"
            if own is not None:
                yield Case(name, protect(**own))
                continue
            roles = without(option.removeprefix("--")) if option.removeprefix("--") in {
                "quasi", "confidential", "identifiers", "sampling-weight"} else (*ROLES, *WEIGHT)  # fmt: skip
            yield Case(name, protect(option, value, roles=roles))
    for name in FILES:
        yield Case(f"protect {name}", protect(file=name))
    for name in schema_files():
        yield Case(f"schema file, {name}", protect("--schema", f"schemas/{name}.toml", roles=()))
    for name, arguments in (OTHER_COMMANDS | DP_COMMANDS).items():
        rest = ("--unnamed", "other") if arguments[0] in {"verify", "assess", "evaluate", "compare"} else ()
        yield Case(name, (*map(str, arguments), *rest))


def write_inputs(folder):
    """Write all files that the commands name."""
    PEOPLE.write_csv(folder / "people.csv")
    PEOPLE.head(9).write_csv(folder / "fewer.csv")
    pl.concat([PEOPLE] * 10).write_csv(folder / "big.csv")
    pl.DataFrame({"city": ["a"] * N, "size": range(N)}).write_csv(folder / "cities.csv")
    for name, content in {**FILES, **TREES}.items():
        if content is not None:
            (folder / name).write_bytes(content)
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "edited.toml").write_text("# edited by hand\n")
    (folder / "schemas").mkdir()
    for name, text in schema_files().items():
        (folder / "schemas" / f"{name}.toml").write_bytes(text.encode())


CASES = list(cases())
