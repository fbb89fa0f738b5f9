"""Random small tables with units: every class of a release has k persons, whatever else is requested."""

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ShoalError

METHODS = ("mdav", "mdav-star", "ona", "ona-star", "mondrian", "mona", "lloyd", "auto")


@st.composite
def cases(draw):
    """A table with persons of several rows, and arguments of a protection."""
    seed, persons = draw(st.integers(0, 10**6)), draw(st.integers(6, 25))
    rng = np.random.default_rng(seed)
    unit = rng.permutation(np.repeat(np.arange(persons), rng.integers(1, draw(st.integers(2, 8)), persons)))
    home = unit // 2
    n, scale = unit.size, draw(st.sampled_from([0.0, 0.2, 5.0]))
    a = np.round(rng.normal(size=persons)[unit] * 10 + scale * rng.normal(size=n), 1)
    frame = pl.DataFrame({
        "unit": unit + 100, "home": home, "a": a, "b": rng.integers(0, 4, n), "c": rng.choice(list("xyz"), n),
        "s": rng.choice(list("uvw"), n), "g": np.where(unit % 2 == 0, "even", "odd"),
    })  # fmt: skip
    choices = {
        "method": draw(st.sampled_from(METHODS)),
        "recode": draw(st.sampled_from([None, "medoid", "suppress", {"a": "range"}, {"a": "median", "c": "set"}])),
        "global_recoding": draw(st.booleans()),
        "strata": draw(st.sampled_from([None, ["g"]])),
        "l": draw(st.sampled_from([None, 2])),
        "of": draw(st.sampled_from([None, "units", "households"])),
        "missing": draw(st.sampled_from(["by-pattern", "impute"])),
    }
    if draw(st.booleans()):
        frame = frame.with_columns(a=pl.when(pl.Series(rng.random(n) < 0.2)).then(None).otherwise(pl.col("a")))
    return frame, draw(st.integers(2, 5)), choices


@settings(deadline=None)
@given(cases())
def test_every_class_has_k_of_what_k_counts(case):
    frame, k, choices = case
    try:
        release = shoal.protect(
            frame, k, quasi=["a", "b", "c"], confidential=["s"], unit="unit", household="home", unnamed="other",
            accept_loss=True, accept_relinking=True, **choices,
        )  # fmt: skip
    except ShoalError:  # one sentence instead of a release
        return
    counted = "home" if choices["of"] == "households" else "unit"
    whose = frame[counted].gather(release.released.order.original_rows).alias("whose")
    keys = ["a", "b", "c", *(choices["strata"] or [])]
    assert release.data.with_columns(whose).group_by(keys).agg(pl.col("whose").n_unique())["whose"].min() >= k
    assert release.data.height == frame.height
    assert sorted(release.data["s"]) == sorted(frame["s"])
