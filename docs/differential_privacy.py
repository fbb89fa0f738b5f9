"""Write the tables of docs/differential-privacy.md, computed by shoal.dp. Run: python docs/differential_privacy.py."""

import re
from pathlib import Path

import numpy as np

from shoal import dp

PAGE = Path(__file__).parent / "differential-privacy.md"


def safe_table():
    """The largest sampling probability before a safe k-anonymisation."""
    lines = ["| k | epsilon 0.25 | epsilon 0.5 | epsilon 1 | epsilon 2 |", "|---|---|---|---|---|"]
    for k in (5, 10, 20, 50, 100):
        shares = [dp.safe_beta(k=k, epsilon=epsilon, delta=1e-6) for epsilon in (0.25, 0.5, 1.0, 2.0)]
        lines.append(f"| {k} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |")
    return "\n".join(lines)


def records_table():
    """The numbers of records that the theorems require."""
    lines = [
        "| error at most | SmallDB, 55 interval queries on 10 cells | ReleaseIntervals, 1,024 cells |",
        "|---|---|---|",
    ]
    for alpha in (0.2, 0.1, 0.05):
        small = dp.small_db_records_needed(universe=10, queries=55, epsilon=1.0, alpha=alpha, beta=0.01)
        intervals = dp.intervals_records_needed(sigma=10, epsilon=1.0, alpha=alpha, beta=0.01)
        lines.append(f"| {alpha} | {small:,} | {intervals:,} |")
    return "\n".join(lines)


def reach():
    """The largest claim that an audit of 300 runs refutes if the tables are distinguished with certainty."""
    certain = dp.audit(lambda table, runs: np.full(runs, table), 0, 1, epsilon=1.0, runs=300)
    return f"{certain.epsilon_lower:.2f}"


def page(text):
    """Return the page with its tables and figures renewed."""
    text, found = re.subn(r"(<!-- reach -->).*?(<!-- end -->)", lambda match: match[1] + reach() + match[2], text)
    if found != 1:
        raise SystemExit("the page has no marker for the reach of an audit")
    for name, table in {"safe": safe_table(), "records": records_table()}.items():
        pattern = rf"(<!-- table {name} -->\n).*?(\n<!-- end -->)"
        text, found = re.subn(pattern, lambda match, table=table: match[1] + table + match[2], text, flags=re.DOTALL)
        if found != 1:
            raise SystemExit(f"the page has no markers for the table {name}")
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"written: {PAGE}")
