"""The Mondrian family: cut the table in halves across its longest side until the parts are small enough.

Thaeter 2021, sections 7.1 and 7.2 (Algorithms 18 and 19); Thaeter & Reischuk 2021, Algorithms 4 and 5; LeFevre,
DeWitt & Ramakrishnan 2006, doi:10.1109/ICDE.2006.101. Cost O(n d log n) time, O(n d² log n) with pairs, O(n) memory.
These are the fastest methods and those with the largest loss; a group is a box, so they suit a release of ranges.
Otherwise use ``mona-plus``.

Where the text of the papers and their figures differ, the code follows the figures: cuts are by rank, so that equal
values may be separated, and a part of exactly 2k records is not cut.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.kernels.cut_blocks import Cutting, cut_into_blocks
from shoal.methods.options import Range
from shoal.methods.registry import method

Whole = Literal["2k", "2k-1"]
PAIR_SCALE = 0.5**0.5  # the sum or difference of two attributes is then along a unit vector


@method(
    "mondrian",
    title="Halves across the attribute with the widest range",
    complexity="n d log n",
    reference="LeFevre et al. 2006; Thaeter 2021, Alg. 18",
    when="ranges are released, or seconds count more than loss",
    max_size=lambda k: 2 * k,
    float32=True,
    version=1,
)
def mondrian(
    points: NDArray[np.float64],
    k: int,
    *,
    whole: Whole = "2k",
    first: Annotated[int, Range(0)] | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group records by Mondrian: each cut is across the attribute with the widest range.

    Parameters
    ----------
    whole
        The largest part that is not cut: ``2k``, as in the published runs, or ``2k-1``, as in the text of the papers,
        which loses less.
    first
        The attribute of the first cut, counted from 0; None to select it like the others.

    Returns
    -------
    labels
        The group number of each record; groups are numbered from the low to the high side of the cuts.

    Examples
    --------
    >>> import numpy as np
    >>> mondrian(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([0, 1, 0, 1, 1])
    """
    return _cut(points, k, whole, Cutting("range", first), progress)


@method(
    "mondrian-v",
    title="Halves across the attribute with the largest variance",
    complexity="n d log n",
    reference="Thaeter 2021, section 7.1; Thaeter & Reischuk 2021, section 4",
    when="as mondrian; about 20 % less loss",
    max_size=lambda k: 2 * k,
    float32=True,
)
def mondrian_v(
    points: NDArray[np.float64],
    k: int,
    *,
    whole: Whole = "2k",
    first: Annotated[int, Range(0)] | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group records by Mondrian with variances: each cut is across the attribute with the largest variance.

    Standardised attributes all have variance 1, so the first cut is a tie, which the first attribute wins; the
    published runs on Credit Card began with the fourth attribute (``first=3``).

    Parameters
    ----------
    whole, first
        As for ``mondrian``.

    Examples
    --------
    >>> import numpy as np
    >>> mondrian_v(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2, whole="2k-1")
    array([0, 1, 0, 1, 1])
    """
    return _cut(points, k, whole, Cutting("variance", first), progress)


@method(
    "mondrian-v2d",
    title="Halves across the attribute, or the sum or difference of two, with the largest variance",
    complexity="n d² log n",
    reference="Thaeter 2021, Alg. 19; Thaeter & Reischuk 2021, Alg. 5",
    when="as mondrian-v; less loss where attributes depend on each other",
    max_size=lambda k: 2 * k,
    float32=True,
)
def mondrian_v2d(
    points: NDArray[np.float64],
    k: int,
    *,
    whole: Whole = "2k",
    first: Annotated[int, Range(0)] | None = None,
    pair_scale: Annotated[float, Range(above=0)] = PAIR_SCALE,
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group records by Mondrian with slanted cuts, at 45 degrees between two attributes.

    Parameters
    ----------
    whole, first
        As for ``mondrian``.
    pair_scale
        The factor of a sum or difference of two attributes. 1/√2, as in the text, compares unit vectors; 1, as in one
        row of the paper's Table 6, prefers pairs.

    Examples
    --------
    >>> import numpy as np
    >>> mondrian_v2d(np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [6.0, 6.0], [7.0, 7.0]]), 2)
    array([0, 0, 1, 1, 1])
    """
    return _cut(points, k, whole, Cutting("pairs", first, pair_scale), progress)


def largest_whole(k: int, whole: Whole) -> int:
    """Return the size of the largest part that is not cut.

    Examples
    --------
    >>> largest_whole(5, "2k")
    10
    """
    return 2 * k if whole == "2k" else 2 * k - 1


def _cut(points: NDArray[np.float64], k: int, whole: Whole, cutting: Cutting, progress: Progress) -> NDArray[np.int64]:
    return cut_into_blocks(points, largest_whole(k, whole), cutting, progress=progress).labels
