"""Runs test files of another project under pytest and writes worker.py's lines: `python pytest_worker.py FILE[:FILE...]
OUTPUT DONE [FILTER [EVERY]]`.
"""
import json
import os
import pathlib
import re
import resource
import sys
import zlib

import pytest

OPTIONS = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "filterwarnings=",  # a warning is no failure here
           "--continue-on-collection-errors"]


def processor_seconds():
    """Of all threads of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class Recorder:
    def __init__(self, output, done, pattern, every):
        self.output, self.done, self.pattern, self.every = output, done, re.compile(pattern), every
        self.result, self.processor = {}, 0.0

    def write(self, **entry):
        self.output.write(json.dumps(entry) + "\n")
        self.output.flush()

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid not in self.done and self.pattern.search(item.nodeid)
                    and zlib.crc32(item.nodeid.encode()) % self.every == 0]  # the same sample wherever files are skipped

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(test=f"{report.nodeid} (its collection)", outcome="error", seconds=0.0, error=report.longreprtext[-4000:])

    def pytest_runtest_logstart(self, nodeid):
        self.result, self.processor = {"outcome": "passed", "seconds": 0.0}, processor_seconds()
        self.write(start=nodeid)

    def pytest_runtest_logreport(self, report):
        self.result["seconds"] = round(self.result["seconds"] + report.duration, 3)
        if report.outcome == "passed" or self.result["outcome"] != "passed":
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        said = crash.message if crash else str(report.longrepr)
        self.result.update(outcome=report.outcome, error=said[:4000], trace=report.longreprtext[-6000:])

    def pytest_runtest_logfinish(self, nodeid):
        self.write(test=nodeid, processor=round(processor_seconds() - self.processor, 3), **self.result)

    def pytest_sessionfinish(self):
        self.write(end=True)


def main(files, output, done, pattern="", every="1"):
    with open(output, "a") as stream:
        recorder = Recorder(stream, set(pathlib.Path(done).read_text().split("\n")), pattern, int(every))
        status = pytest.main([*files.split(os.pathsep), *OPTIONS], plugins=[recorder])
    sys.exit(int(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
