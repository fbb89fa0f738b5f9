"""Without pyspark or Java, one sentence says what to install; nothing else ever imports pyspark."""

import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from shoal.engines import spark_session
from shoal.engines.spark_session import is_spark_frame
from shoal.errors import ParameterError


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "people.parquet"
    parquet.write_table(pa.table({"age": [1, 2, 3, 4]}), path)
    return path


def test_without_pyspark_the_extra_is_named(source, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ParameterError, match=r'pip install "shoal\[spark\]"'):
        shoal.protect(source, 2, quasi=["age"], engine="spark", output=tmp_path / "safe")
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


def test_without_java_its_package_is_named(source, tmp_path, monkeypatch):
    class Session:
        @staticmethod
        def getActiveSession():  # noqa: N802 - the name of Spark
            return None

    class Library:
        __version__ = "4.0.1"
        SparkSession = Session

    monkeypatch.setitem(sys.modules, "pyspark", Library)
    monkeypatch.setitem(sys.modules, "pyspark.sql", Library)
    monkeypatch.setattr(spark_session.shutil, "which", lambda _: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ParameterError, match="needs Java 17 beside shoal"):
        shoal.protect(source, 2, quasi=["age"], engine="spark", output=tmp_path / "safe")
    monkeypatch.setattr(Library, "__version__", "3.4.2")
    with pytest.raises(ParameterError, match=r"3\.5 or newer, and 3\.4\.2 is installed"):
        shoal.protect(source, 2, quasi=["age"], engine="spark", output=tmp_path / "safe")


def test_what_disk_refuses_spark_refuses_in_the_same_words(source, tmp_path):
    texts = []
    for engine in ("disk", "spark"):
        with pytest.raises(ParameterError) as stopped:
            shoal.protect(source, 2, quasi=["age"], global_recoding=True, engine=engine, output=tmp_path / "safe")
        texts.append(str(stopped.value).replace(engine, "ENGINE"))
    assert texts[0] == texts[1]


def test_a_frame_of_spark_is_known_by_its_class():
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    assert is_spark_frame(frame)
    assert not is_spark_frame(pa.table({"age": [1]}))
