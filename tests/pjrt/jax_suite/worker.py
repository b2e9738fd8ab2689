"""Runs one of JAX's test files and writes a JSON line as each test starts and ends, so that a crash or a hang is
the fault of the test that was running: `python worker.py FILE OUTPUT DONE [FILTER [EVERY]]`.

DONE: a file of test names that are not to be run (again). FILTER: a regular expression of the names that are.
EVERY: of the file's tests only each so manieth is run.
"""
import importlib
import json
import pathlib
import re
import sys
import time
import traceback
import unittest


def add_jax_sources(folder):
    """Tests import helpers of jax._src that the wheel leaves out; they lie beside the tests."""
    import jax._src
    jax._src.__path__.append(str(folder.parent / "jax" / "_src"))
    sys.path.insert(0, str(folder))


def load(path):
    from absl import flags
    from jax._src import test_util
    module = importlib.import_module(path.stem)
    flags.FLAGS([str(path)])
    return test_util.JaxTestLoader().loadTestsFromModule(module)


def each_test(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from each_test(item)
        else:
            yield item


def chain(error):
    """The exception and what it was raised from, or while handling."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class Recorder(unittest.TestResult):
    def __init__(self, output):
        super().__init__()
        self.output, self.outcome, self.begin = output, None, 0.0

    def write(self, **entry):
        self.output.write(json.dumps(entry) + "\n")
        self.output.flush()

    def startTest(self, test):
        self.outcome, self.begin = {"outcome": "passed"}, time.monotonic()
        self.write(start=test.id())

    def stopTest(self, test):
        self.write(test=test.id(), seconds=round(time.monotonic() - self.begin, 3), **self.outcome)

    def fail(self, kind, error):
        if self.outcome["outcome"] == "passed":  # the first failure of a test is its cause
            said = [f"{type(e).__name__}: {e}" for e in chain(error[1])]
            self.outcome = {"outcome": kind, "error": "\n".join(said)[:4000],
                            "trace": "".join(traceback.format_exception(*error))[-6000:]}

    def addSkip(self, test, reason):
        self.outcome = {"outcome": "skipped", "error": reason}

    def addFailure(self, test, error):
        self.fail("failed", error)

    def addError(self, test, error):
        self.fail("error", error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.fail("failed" if issubclass(error[0], test.failureException) else "error", error)

    def addExpectedFailure(self, test, error):
        pass

    def addUnexpectedSuccess(self, test):
        self.outcome = {"outcome": "failed", "error": "an unexpected success"}


def main(file, output, done, pattern="", every="1"):
    path = pathlib.Path(file)
    sys.argv = [str(path)]
    add_jax_sources(path.parent)
    done = set(pathlib.Path(done).read_text().split("\n"))
    sample = list(each_test(load(path)))[::int(every)]
    wanted = [test for test in sample if test.id() not in done and re.search(pattern, test.id())]
    with open(output, "a") as stream:
        recorder = Recorder(stream)
        for test in wanted:
            test(recorder)
        recorder.write(end=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
