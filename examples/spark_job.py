"""For the data engineer: a DataFrame of Spark protected on the cluster, and written only after k was counted.

Run it with ``spark-submit examples/spark_job.py FOLDER`` on a cluster whose nodes have Shoal and Java 17, or with
``python examples/spark_job.py FOLDER`` on one machine (extra ``spark``).
"""

# %% A table as an earlier job left it
import os
import sys
from pathlib import Path

import shoal

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "spark-example").absolute()
(folder / "stays").mkdir(parents=True, exist_ok=True)
for number, part in enumerate(shoal.datasets.patients(2_000).iter_slices(500)):
    part.write_parquet(folder / "stays" / f"{number:03d}.parquet")

# %% A session; workers run the Python of the driver
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("protect stays").config("spark.ui.showConsoleProgress", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", 4)  # a small table
stays = spark.read.parquet(str(folder / "stays"))

# %% The release is a DataFrame of Spark; an error is raised instead where a class has fewer than k rows
release = shoal.protect(
    stays,
    5,
    quasi=["age", "income", "region"],
    confidential=["diagnosis"],
    identifiers=["name"],
    unnamed="other",
    effort="fast",
)
print(release)
assert release.k >= 5
assert "name" not in release.data.columns

# %% It goes where the next job reads it, in any format that the cluster writes, with its manifest beside it
release.data.write.mode("overwrite").parquet(str(folder / "safe"))
(folder / "safe.manifest.json").write_text(release.manifest_json() + "\n", encoding="utf-8")

# %% An independent count of what was written
counts = spark.read.parquet(str(folder / "safe")).groupBy("age", "income", "region").count()
assert counts.agg({"count": "min"}).first()[0] >= 5
spark.stop()
