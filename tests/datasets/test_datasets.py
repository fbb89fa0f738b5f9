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
def test_a_seed_names_one_database(make):
    assert np.array_equal(make(4), make(4))
    assert not np.array_equal(make(4)[:100], make(5)[:100])


def test_patients_have_holes_only_when_asked():
    assert datasets.patients(200).null_count().sum_horizontal().item() == 0
    holes = datasets.patients(2000, missing=0.25)
    assert 400 < holes["income"].null_count() < 600
    assert holes["age"].null_count() == 0


def test_reference_data_are_found_by_the_environment_variable(tmp_path, monkeypatch):
    (tmp_path / "census.csv").write_text("a,b\n1,2\n")
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    assert datasets.load("census").rows() == [(1, 2)]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileProblem, match=r"tarragona.csv was not found in .*; set SHOAL_DATA"):
        datasets.load("tarragona")
    with pytest.raises(ParameterError, match='did you mean "tarragona"'):
        datasets.load("taragona")
