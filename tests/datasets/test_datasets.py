import numpy as np
import pytest

from shoal import datasets
from shoal.errors import FileProblem, ParameterError


def test_simc_has_the_sizes_of_the_paper():
    sizes = [len(datasets.simc(seed)) for seed in range(25)]
    assert min(sizes) > 1200
    assert max(sizes) < 2100
    assert datasets.simc(1).shape[1] == 10


def test_simc_records_lie_around_their_centres():
    table = datasets.simc(3)
    centres, rest = table[:100], table[100:]
    near = np.abs(rest[:, None] - centres[None]).max(axis=2).min(axis=1) <= 50
    clustered = int(near.sum())
    assert len(rest) - clustered == (100 + clustered) // 3 + 1


@pytest.mark.parametrize("make", [datasets.simu, datasets.simc])
def test_the_same_seed_gives_the_same_database(make):
    assert np.array_equal(make(4), make(4))
    assert not np.array_equal(make(4)[:100], make(5)[:100])


def test_patients_have_missing_values_only_if_requested():
    assert datasets.patients(200).null_count().sum_horizontal().item() == 0
    incomplete = datasets.patients(2000, missing=0.25)
    assert 400 < incomplete["income"].null_count() < 600
    assert incomplete["age"].null_count() == 0


def test_without_the_environment_variable_the_error_names_it(tmp_path, monkeypatch):
    beside = tmp_path / "shared" / "data"
    beside.mkdir(parents=True)
    (beside / "census.csv").write_text("a,b\n1,2\n")
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    for setting in (
        lambda: monkeypatch.delenv("SHOAL_DATA", raising=False),
        lambda: monkeypatch.setenv("SHOAL_DATA", ""),
    ):
        setting()
        with pytest.raises(FileProblem, match=r"SHOAL_DATA is not set; set it to the directory that contains census"):
            datasets.load("census")


def test_reference_data_are_found_by_the_environment_variable(tmp_path, monkeypatch):
    (tmp_path / "census.csv").write_text("a,b\n1,2\n")
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    assert datasets.load("census").rows() == [(1, 2)]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileProblem, match=r"tarragona.csv is not in .*; set the environment variable SHOAL_DATA"):
        datasets.load("tarragona")
    with pytest.raises(ParameterError, match='did you mean "tarragona"'):
        datasets.load("taragona")
