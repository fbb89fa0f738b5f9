"""The same groups and the same bytes on other processors.

Three processors are emulated, each in a process of its own: a BLAS for an old Pentium 4, a NumPy without AVX2 and
AVX-512, and compiled loops for a generic x86-64. On each of them one figure that is wrong on purpose must differ;
otherwise the emulation does nothing, and the comparison could not fail.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("processor_digests.py")
WRONG = "wrong: "


def digests(**changed):
    """The digests on a processor that environment variables describe."""
    run = subprocess.run(
        [sys.executable, str(SCRIPT)], env=os.environ | changed, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def newer_instructions():
    """The instructions beyond SSE4 that NumPy has code for and this processor knows."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]


def differing(usual, found):
    """The names of the figures that differ; both must have the same names."""
    assert set(usual) == set(found)
    return [name for name in usual if usual[name] != found[name]]


@pytest.mark.skipif(platform.machine() not in {"x86_64", "AMD64"}, reason="the emulated processors are x86-64")
def test_three_other_processors_give_the_same_groups_and_bytes(tmp_path):
    if not newer_instructions():
        pytest.skip("this processor is as old as the emulated ones")
    usual = digests()
    assert len([name for name in usual if name.startswith("labels of")]) >= 20
    assert len([name for name in usual if name.startswith("bytes of")]) >= 12
    processors = {
        "BLAS": {"OPENBLAS_CORETYPE": "Prescott"},
        "NumPy": {"NPY_DISABLE_CPU_FEATURES": " ".join(newer_instructions())},
        # machine code for one processor must not be loaded on the other
        "compiler": {"NUMBA_CPU_NAME": "generic", "SHOAL_CACHE": str(tmp_path)},
    }
    for name, environment in processors.items():
        assert differing(usual, digests(**environment)) == [WRONG + name], name
