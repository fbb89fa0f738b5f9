"""Run the tests that reach a changed line on the changed code.

A worker is a process in which pytest collects all tests once. For each mutant it replaces the code of the changed
function in place, runs the tests, the shortest first, until one fails, and puts the code back. The test that failed
must then pass again; otherwise the worker ends, and a new one tries the mutant once more. A change outside of functions
(a constant of a module, a default) needs a process that imports the changed file. Compiled loops that reach a changed
file are compiled in the worker; all others are loaded as they are stored.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 30  # of processor time for one mutant
COMPILED_SECONDS = 150
INTERPRETED_SECONDS = 3  # of one test whose loops run as plain Python, on the code as it is
PLAIN = ["-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "-q", "-q"]


class TooLong(BaseException):
    """The tests of a mutant take more processor time than they may."""


class Failures:
    """The test that failed, if one did."""

    def __init__(self):
        self.failed = None

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = report.nodeid


def seconds_of(job):
    return COMPILED_SECONDS if job["compiled"] else SECONDS


class Worker:
    """In place of the tests, run the tests of each mutant; one line of JSON for each in a file."""

    def __init__(self, jobs, source, results):
        self.jobs, self.source, self.results = jobs, source, results
        self.failures, self.seconds = Failures(), {}

    def pytest_collection(self, session):
        from hypothesis import Phase, settings

        session.config.pluginmanager.register(self.failures)
        usual = settings.get_profile("shoal")
        settings.register_profile("mutants", usual, phases=(Phase.explicit, Phase.generate))  # nothing is shrunk
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session):
        self.items = {item.nodeid: item for item in session.items}
        signal.signal(signal.SIGPROF, self.stop)
        for place, job in self.jobs:
            self.write({"place": place, "begun": time.time()})
            self.write({"place": place, **self.ended(job)})
        return True

    def stop(self, *_):
        raise TooLong

    def write(self, row):
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def ended(self, job):
        """How the tests of a mutant end, and the test that found it."""
        from changed_code import replaced_code

        file = self.source / job["file"]
        if job["number"] is None:
            return self.outcome(job["tests"], COMPILED_SECONDS)  # what they need may have to be compiled
        if job.get("interpreted"):
            return self.interpreted(file, job)
        try:
            with replaced_code(file, self.source, job["number"], compiled=job["compiled"]):
                outcome = self.outcome(job["tests"], seconds_of(job))
        except LookupError:
            return changed_module(self.source, job)
        if outcome["test"] and self.outcome([outcome["test"]])["test"]:
            self.write({"place": -1})  # what the mutant left behind makes the test fail
            os._exit(7)
        return outcome

    def interpreted(self, file, job):
        """Run the tests with the loops as plain Python.

        Tests that fail so on the code as it is, or that take long, are left out.
        """
        from changed_code import interpreted, replaced_code

        spent, left_out = 0.0, 0
        with interpreted(file, self.source):
            for name in job["tests"]:
                if (job["file"], name) not in self.seconds:
                    begun = time.process_time()
                    passes = self.outcome([name], INTERPRETED_SECONDS)["ended"] == "survived"
                    self.seconds[job["file"], name] = time.process_time() - begun if passes else None
                seconds = self.seconds[job["file"], name]
                if seconds is None or spent + seconds > SECONDS / 2:
                    left_out += 1
                    continue
                spent += seconds
                with replaced_code(file, self.source, job["number"], compiled=False):
                    outcome = self.outcome([name], 10 * seconds + 5)
                if outcome["ended"] != "survived":
                    return outcome | {"test": name}
        self.write({"place": -1, "left out": left_out, "of": len(job["tests"])})
        return {"ended": "survived", "test": ""}

    def outcome(self, tests, limit=SECONDS):
        self.failures.failed = None
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            for name in tests:
                item = self.items.get(name)
                if item is not None:
                    names = dict(getattr(getattr(item, "dtest", None), "globs", None) or {})
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                    if names:
                        item.dtest.globs.update(names)  # an example removes its names when it ends
                if self.failures.failed:
                    return {"ended": "found", "test": name}
        except TooLong:
            return {"ended": "too long", "test": ""}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return {"ended": "survived", "test": ""}


def changed_module(source, job):
    """Run the tests of a mutant in a new interpreter, which imports the changed file."""
    arguments = [sys.executable, __file__, "module", str(source), json.dumps(job)]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if ended.returncode in {0, 1}:
        return {"ended": "found" if ended.returncode else "survived", "test": ended.stdout.strip()}
    return {"ended": "too long" if ended.returncode == -signal.SIGXCPU else "found", "test": ""}


def run_module(source, job):
    """The work of the new interpreter: import the changed file, run the tests, print the test that fails."""
    import pytest
    from changed_code import ChangedModule, compile_anew, module_name
    from changes import mutated

    source = Path(source)
    file = source / job["file"]
    limit = seconds_of(job)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    tree = mutated(file.read_text(encoding="utf-8"), job["number"])[0]
    sys.meta_path.insert(0, ChangedModule(module_name(file, source), file, tree))
    output, quiet = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    if "core.compiled import" in file.read_text(encoding="utf-8"):
        compile_anew(file, source)
    failures = Failures()
    # the examples of a file of the package would import it once more, as it is
    tests = [test for test in job["tests"] if not test.startswith("src/")] or job["tests"]
    code = pytest.main(["-x", *PLAIN, *tests], plugins=[failures])
    os.write(output, (failures.failed or "").encode())
    os._exit(1 if code else 0)


def run_worker(source, jobs, results, paths):
    """The work of a worker: collect the tests under some paths, then try the mutants of a file of jobs."""
    import pytest

    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    worker = Worker(json.loads(Path(jobs).read_text(encoding="utf-8")), Path(source), Path(results))
    pytest.main([*PLAIN, *paths], plugins=[worker])


class Part:
    """Some of the mutants, and the worker that tries them; a new worker goes on where one ended."""

    def __init__(self, name, jobs, source, folder, paths):
        self.jobs, self.source, self.paths = dict(jobs), source, paths
        self.files = folder / f"{name}-jobs.json", folder / f"{name}-results.txt"
        self.done, self.tried, self.process, self.read, self.current = {}, {}, None, 0, None

    def waiting(self):
        return [(place, job) for place, job in self.jobs.items() if place not in self.done]

    def start(self):
        self.files[0].write_text(json.dumps(self.waiting()), encoding="utf-8")
        self.files[1].write_text("", encoding="utf-8")
        self.current, self.read = None, 0
        arguments = [sys.executable, __file__, "worker", str(self.source), *map(str, self.files), *self.paths]
        errors = self.files[1].with_suffix(".log").open("ab")
        self.process = subprocess.Popen(arguments, stderr=errors, start_new_session=True)

    def look(self, report):
        """Read new results; end a worker that hangs; return whether all mutants have a result."""
        lines = self.files[1].read_text(encoding="utf-8").splitlines() if self.process else []
        for line in lines[self.read :]:
            row = json.loads(line)
            if "begun" in row:
                self.current = row
            elif row["place"] >= 0:
                self.finish(row["place"], row, report)
        self.read = len(lines)
        current = self.current if self.process else None
        if current and time.time() - current["begun"] > 12 * seconds_of(self.jobs[current["place"]]):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.finish(current["place"], {"ended": "too long", "test": ""}, report)
        if self.waiting() and (self.process is None or self.process.poll() is not None):
            self.begin_again(report)
        return not self.waiting()

    def finish(self, place, row, report):
        self.done[place], self.current = row, None
        report(self.jobs[place], row["ended"], row["test"])

    def begin_again(self, report):
        if self.process is not None and self.current is None:
            sys.exit(f"a worker ended early; see {self.files[1].with_suffix('.log')}")
        if self.current is not None:
            place = self.current["place"]
            self.tried[place] = self.tried.get(place, 0) + 1
            if self.tried[place] > 1:
                self.finish(place, {"ended": "found", "test": "the process ended"}, report)
        if self.waiting():
            self.start()


def run_trials(jobs, source, folder, processes, report, paths):
    """Try all mutants in some workers; ``report`` is called for each."""
    numbered = list(enumerate(jobs))
    parts = [Part(n, numbered[n::processes], source, Path(folder), paths) for n in range(processes)]
    while parts:
        parts = [part for part in parts if not part.look(report)]
        time.sleep(0.3)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(sys.argv[2]).parent))
    if sys.argv[1] == "worker":
        run_worker(*sys.argv[2:5], sys.argv[5:])
    else:
        run_module(sys.argv[2], json.loads(sys.argv[3]))
