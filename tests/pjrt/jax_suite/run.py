"""JAX's own tests on the plugin: `python run.py TESTS PLUGIN --device cpu --json OUT.json [FILE...]`.

TESTS is the `tests` folder of the JAX repository at the tag of the JAX that is installed, with jax/_src/
hypothesis_test_util.py beside it (`git archive jax-v0.10.2 tests jax/_src/hypothesis_test_util.py`).
One process per file; a crash or a test beyond the time limit ends that process, is charged to the test that was
running, and the rest of the file goes on in a new one. See filter.py for what is left out of the count, and table.py
for the table.

OUT.json: {"device", "every", "date", "jax", "files": {file: {test: {"outcome", "seconds", "error", "reason"}}}}.
"""
import argparse
import collections
import datetime
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from filter import reason_of

FILES = ("lax_test", "lax_control_flow_test", "lax_numpy_test", "lax_numpy_einsum_test", "lax_numpy_indexing_test",
         "lax_numpy_operators_test", "lax_numpy_reducers_test", "lax_numpy_setops_test", "lax_numpy_ufuncs_test",
         "lax_numpy_vectorize_test", "nn_test", "random_lax_test", "lax_autodiff_test", "lax_vmap_test", "fft_test",
         "api_test", "python_callback_test", "debugging_primitives_test", "checkify_test", "linalg_test",
         "array_interoperability_test", "lax_scipy_test", "lax_scipy_sparse_test", "scipy_fft_test",
         "scipy_interpolate_test", "scipy_ndimage_test", "scipy_optimize_test", "scipy_signal_test",
         "scipy_spatial_test", "scipy_stats_test", "dtypes_test", "export_test", "pjit_test", "shard_map_test")
WORKER = pathlib.Path(__file__).with_name("worker.py")
PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "frontend" / "python"  # registers the plugin with JAX
STARTUP_S = 90  # importing JAX and collecting a file's tests
NAP_S = 0.05


def environment(plugin, device):
    return dict(os.environ, PYTHONPATH=str(PACKAGE), TUFF_PJRT_PLUGIN=str(plugin), JAX_PLATFORMS="tuff,cpu",
                TUFF_DEVICE=device, JAX_NUM_GENERATED_CASES="1", JAX_SKIP_SLOW_TESTS="1", JAX_ENABLE_X64="0",
                PYTHONDONTWRITEBYTECODE="1")


class FileRun:
    """The outcomes of a file's tests, or of several files', over as many processes as it takes."""

    def __init__(self, paths, env, pattern, every, test_s, worker=WORKER):
        self.paths, self.env, self.choice, self.test_s, self.worker = paths, env, [pattern, str(every)], test_s, worker
        self.results, self.running, self.ended, self.position = {}, None, False, 0

    def read(self, output):
        """Takes in the complete lines that are new; true if there were any."""
        with open(output) as stream:
            stream.seek(self.position)
            lines = stream.read()
        lines = lines[:lines.rfind("\n") + 1]
        self.position += len(lines.encode())
        for entry in map(json.loads, lines.splitlines()):
            self.running = entry.get("start")
            self.ended |= "end" in entry
            if "test" in entry:
                self.results[entry.pop("test")] = entry
        return bool(lines)

    def one_process(self, scratch):
        output, done, log = (scratch / name for name in ("output", "done", "log"))
        output.write_text("")
        done.write_text("\n".join(self.results))
        self.position, self.running = 0, None
        with open(log, "w") as stream:
            files = os.pathsep.join(map(str, self.paths))
            command = [sys.executable, str(self.worker), files, str(output), str(done), *self.choice]
            process = subprocess.Popen(command, env=self.env, stdout=stream, stderr=stream, cwd=self.paths[0].parent)
        left, why = STARTUP_S * len(self.paths), "crashed"
        while process.poll() is None:
            time.sleep(NAP_S)
            left -= NAP_S  # by naps, not by the clock: it goes on while both processes are stopped
            if self.read(output):
                left = self.test_s
            elif left < 0:
                why = "hung"
                process.kill()
                process.wait()
        self.read(output)
        if self.ended:
            return
        tail = log.read_text(errors="replace")[-3000:]
        if self.running is None:
            raise SystemExit(f"{self.paths[0].name} ends outside its tests:\n{tail}")
        self.results[self.running] = {"outcome": why, "error": tail, "seconds": self.test_s}

    def run(self):
        with tempfile.TemporaryDirectory() as scratch:
            while not self.ended:
                self.one_process(pathlib.Path(scratch))
        for name, result in self.results.items():
            result["reason"] = reason_of(name, result)
        return self.results


def outcomes(results):
    return dict(collections.Counter("left out" if r["reason"] else r["outcome"] for r in results.values()))


def load_results(path, device, every):
    """What an earlier run of the same kind left in `path`."""
    known = json.loads(path.read_text()) if path.exists() else {}
    if known and (known["device"], known["every"]) != (device, every):
        raise SystemExit(f"{path} holds results of --device {known['device']} --every {known['every']}.")
    return known.get("files", {})


def add_options(parser):
    """What all suites can be told."""
    parser.add_argument("--json", type=pathlib.Path, required=True, help="results; files already in it are kept")
    parser.add_argument("--match", default="", help="regular expression of the tests to run; results of others are kept")
    parser.add_argument("--every", type=int, default=1, help="runs only every Nth test of a file: a sample")
    parser.add_argument("--test-seconds", type=float, default=120, help="beyond this a test hangs")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tests", type=pathlib.Path)
    parser.add_argument("plugin", type=pathlib.Path)
    parser.add_argument("files", nargs="*", default=FILES)
    parser.add_argument("--device", default="cpu")
    add_options(parser)
    options = parser.parse_intermixed_args()
    env = environment(options.plugin.resolve(), options.device)
    files = load_results(options.json, options.device, options.every)
    about = {"device": options.device, "every": options.every, "date": datetime.date.today().isoformat(),
             "jax": importlib.metadata.version("jax")}
    for file in options.files:
        begin = time.monotonic()
        path = (options.tests / f"{file}.py").resolve()
        kept = files.get(file, {}) if options.match else {}
        files[file] = kept | FileRun([path], env, options.match, options.every, options.test_seconds).run()
        options.json.write_text(json.dumps({**about, "files": files}, indent=0))
        print(f"{file}: {outcomes(files[file])} in {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
