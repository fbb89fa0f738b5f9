"""A plugin of pytest that writes down which test reaches which line of the code that is mutated.

Lines of compiled loops are not traced: a test that calls a loop from Python counts as reaching all lines of the loop
and of the loops that it calls. Each process of the test run writes a file of its own into the folder that an
environment variable names; :func:`merged` reads them all.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

FOLDER = "MUTANTS_LINES_FOLDER"
FILES = "MUTANTS_FILES"


class Tracer:
    """The lines that the running test has reached."""

    def __init__(self, files):
        self.files = frozenset(files)
        self.reached = set()
        self.of_kernel = {}

    def trace(self, frame, event, argument):  # noqa: ARG002 - the signature of the library
        """Trace the lines of functions in the chosen files only."""
        return self.trace_line if frame.f_code.co_filename in self.files else None

    def trace_line(self, frame, event, argument):  # noqa: ARG002
        if event == "line":
            self.reached.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace_line

    def called(self, kernel):
        """Add the lines of a compiled loop and of those that it calls."""
        found = self.of_kernel.get(id(kernel))
        if found is None:
            found = self.of_kernel[id(kernel)] = kernel_lines(kernel, self.files)
        self.reached |= found


def kernel_lines(kernel, files):
    """The lines of a compiled loop, and of the compiled loops whose names it uses."""
    lines, waiting, known = set(), [kernel], set()
    while waiting:
        function = waiting.pop().function
        if function in known:
            continue
        known.add(function)
        codes = [function.__code__]
        for code in codes:
            codes += [constant for constant in code.co_consts if hasattr(constant, "co_lines")]
            if code.co_filename in files:
                lines |= {(code.co_filename, line) for *_, line in code.co_lines() if line is not None}
            names = [function.__globals__.get(name) for name in code.co_names]
            waiting += [other for other in names if isinstance(other, type(kernel))]
    return lines


class Recorder:
    """Note after each test what it reached, and its processor time."""

    def __init__(self, tracer):
        self.tracer, self.tests = tracer, []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        self.tracer.reached = set()
        begun = time.process_time()
        threading.settrace(self.tracer.trace)
        sys.settrace(self.tracer.trace)
        yield
        sys.settrace(None)
        threading.settrace(None)
        lines = {}
        for file, line in sorted(self.tracer.reached):
            lines.setdefault(file, []).append(line)
        self.tests.append({"test": item.nodeid, "seconds": time.process_time() - begun, "lines": lines})

    def pytest_sessionfinish(self):
        file = Path(os.environ[FOLDER]) / f"{os.getpid()}.json"
        file.write_text(json.dumps(self.tests), encoding="utf-8")


def pytest_configure(config):
    from shoal.core.compiled import Kernel

    tracer = Tracer(os.environ[FILES].split(os.pathsep))
    call = Kernel.__call__

    def traced_call(self, *arguments):
        tracer.called(self)
        return call(self, *arguments)

    Kernel.__call__ = traced_call
    config.pluginmanager.register(Recorder(tracer))


def merged(folder, source):
    """For each file (relative to the package) and line the tests that reach it, and the processor time of each test."""
    reached, seconds = {}, {}
    for part in sorted(Path(folder).glob("*.json")):
        for row in json.loads(part.read_text(encoding="utf-8")):
            seconds[row["test"]] = round(row["seconds"], 3)
            for file, lines in row["lines"].items():
                name = str(Path(file).relative_to(source))
                for line in lines:
                    reached.setdefault(name, {}).setdefault(str(line), []).append(row["test"])
    return {"seconds": seconds, "reached": reached}
