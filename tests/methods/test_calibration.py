from shoal.methods.calibration import calibrate


def test_calibration_measures_the_table_itself(rng):
    found = calibrate(rng.normal(size=(3000, 4)), 7)
    assert (found.d, found.k) == (4, 7)
    assert min(found.cut, found.leaf, found.refine, found.swaps) > 0
    assert calibrate().d == 10


def test_calibration_reads_tables_of_any_size(rng):
    for n in (7, 20, 100):
        assert calibrate(rng.normal(size=(n, 2)), 7).leaf > 0
