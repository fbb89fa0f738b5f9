"""The attack suite; its fixtures ``record`` and ``repetitions`` are in tests/conftest.py."""

collect_ignore = ["guided_fuzzing.py"]  # a program of its own, which needs atheris
