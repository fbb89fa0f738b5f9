"""What all tests share: the reference data, and compiled loops that are never stale."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

SOURCE = Path(__file__).parent.parent / "src" / "shoal"

settings.register_profile("shoal", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("shoal")


def pytest_configure(config):
    """Drop cached machine code when any kernel changed: numba looks at the file of the caller, not of the callee."""
    if hasattr(config, "workerinput"):
        return
    files = sorted(SOURCE.rglob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    stamp = SOURCE / "methods" / "__pycache__" / "kernels.sha256"
    if not stamp.exists() or stamp.read_text() != digest:
        for cached in [*SOURCE.rglob("*.nbi"), *SOURCE.rglob("*.nbc")]:
            cached.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest)


@pytest.fixture
def rng():
    return np.random.default_rng(20211)
