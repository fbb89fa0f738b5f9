"""The partition of nominal records beside the figures of Cost (2023, Tables 6.6 and 6.7), and what is left to gain.

    python benchmarks/nominal_partition.py [instances] [time_limit]

k = 3, n = 200, m = 5; the samples of the thesis are not public, so instances are drawn as it describes. Printed is a
Markdown table: mean values of the linear master, of Algorithm 7 as published, of the best clustering and its proven
bound, how many instances are solved to proven optimality, and the largest gap.
"""

import sys
import time

import numpy as np

from shoal.datasets import adult_categories, category_codes, nominal_problems
from shoal.methods.nominal.integer_construction import PUBLISHED
from shoal.methods.nominal.partition import column_generation

PRINTED = {  # linear optimum, Alg. 7 with exact P6 on optimal duals, seconds for both
    "adult200m5": (68.7, 79.5, 165.11 + 69.58),
    "200m5_2percent": (10.6, 20.6, 16.16 + 29.04),
    "200m5_20percent": (60.2, 76.9, 64.48 + 54.66),
    "200m5_100percent": (172.4, 201.2, 368.02 + 117.06),
}
SHARES = {"200m5_2percent": 0.02, "200m5_20percent": 0.2, "200m5_100percent": 1.0}


def instance(scenario, seed):
    if scenario == "adult200m5":
        return category_codes(adult_categories(200, 5, seed=seed))
    return nominal_problems(200, SHARES[scenario], seed=seed)


def measured(scenario, instances, time_limit):
    gamma, lambda_ = PUBLISHED[scenario]["optimal"]
    rows = []
    for seed in range(instances):
        codes = instance(scenario, seed)
        published, best = {}, {}
        column_generation(codes, 3, construction="exact", gamma=gamma, lambda_=lambda_, facts=published)
        begin = time.process_time()
        column_generation(codes, 3, time_limit=time_limit, facts=best)
        seconds = time.process_time() - begin
        rows.append((published["linear"], published["weight"], best["weight"], best["bound"], best["gap"], seconds))
    return np.array(rows)


def main():
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    time_limit = float(sys.argv[2]) if len(sys.argv) > 2 else 300.0
    column_generation(np.zeros((6, 1), np.int32), 3)  # compiled
    print(
        "| scenario | linear, printed | linear | Alg. 7, printed | Alg. 7 | best | bound | solved | largest gap | CPU "
        "seconds, mean (largest) | seconds, printed |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for scenario, (linear, seven, seconds) in PRINTED.items():
        rows = measured(scenario, instances, time_limit)
        mean = rows.mean(axis=0)
        print(
            f"| {scenario} | {linear} | {mean[0]:.1f} | {seven} | {mean[1]:.1f} | {mean[2]:.1f} | {mean[3]:.1f} | "
            f"{int((rows[:, 4] == 0).sum())} of {instances} | {100 * rows[:, 4].max():.1f} % | "
            f"{mean[5]:.1f} ({rows[:, 5].max():.1f}) | {seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
