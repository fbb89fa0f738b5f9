"""What the runs would cost that docs/reproduction.md leaves out, measured on one run of each.

    python docs/reproduction_costs.py

measures one run for the smallest and the largest k of each row with cells that were not computed (some minutes), in
processor time, and stores it in docs/reproduction-costs.json. docs/reproduction.md shows it.
"""

import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from kept import keep, kept  # noqa: E402 - one block with those below

from published import computed, printed  # noqa: E402 - found through the path above
from shoal.methods.running import run  # noqa: E402

STARTS = 21  # the gain factors that a search tries, each of which is a run
COSTS = Path(__file__).parent / "reproduction-costs.json"


def left_out():
    """The runs whose cells were not computed, each once: a key without k, with the numbers k and the cells."""
    found = {}
    for row in printed.rows():
        if row.measure == "ratio":
            continue  # follows from losses
        for column, text in row.cells():
            if printed.status(row, column, text) == printed.ABSENT:
                call, _, k = row.key(column).rpartition("/k=")
                ks, cells = found.setdefault(call, (set(), []))
                ks.add(int(k))
                cells.append((row, column))
    return {call: (sorted(ks), cells) for call, (ks, cells) in found.items()}


def runs_of(call):
    """How many runs of a method one number k takes."""
    data, method, options, _ = computed.parsed(f"{call}/k=2")
    return options.get("runs", STARTS if method.endswith("gamma") else 1) * (
        computed.DATABASES if data in computed.SIMULATED else 1
    )


def hours(call, ks):
    """The estimated processor hours of all numbers k: the mean of the measured runs times their number."""
    seconds = kept(COSTS)[call]
    return sum(seconds.values()) / len(seconds) * runs_of(call) * len(ks) / 3600


def lines():
    """(data, method, cells, processor seconds of a run, runs, processor hours) of what was left out."""
    for call, (ks, cells) in left_out().items():
        seconds = sorted(kept(COSTS)[call].values())
        data, method, options, _ = computed.parsed(f"{call}/k=2")
        best = f", best of {options['runs']}" if "runs" in options else ""
        shown = " to ".join(dict.fromkeys(f"{value:.2g}" for value in seconds))
        yield data, f"`{method}`{best}", len(cells), shown, f"{runs_of(call) * len(ks):,}", f"{hours(call, ks):.2f}"


def measure():
    for call, (ks, _) in left_out().items():
        data, method, options, _ = computed.parsed(f"{call}/k=2")
        points = computed.database(data, 0) if data in computed.SIMULATED else computed.points(data)
        options |= {"gamma": 1.0} if method.endswith("gamma") else {"runs": 1}
        run(method, points[:200], 2, **options)  # compiles
        found = {}
        for k in sorted({ks[0], ks[-1]}):
            begun = time.process_time()
            run(method, points, k, **options)
            found[str(k)] = time.process_time() - begun
        keep(COSTS, call, found)
        print(call, found, flush=True)


if __name__ == "__main__":
    measure()
