"""The server computes nothing: it imports no library for arrays or tables, and no other command imports the studio."""

import json
import subprocess
import sys

HEAVY = ["numpy", "numba", "polars", "pyarrow", "scipy", "narwhals"]


def imported(code):
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


def test_the_server_imports_no_library_that_computes():
    found = imported("import shoal.studio.server, uvicorn, shoal.report.palette")
    assert not found & set(HEAVY)


def test_other_commands_do_not_import_the_studio():
    found = imported("import shoal.cli.application")
    assert "starlette" not in found
    assert not [name for name in found if name.startswith("shoal.studio")]
