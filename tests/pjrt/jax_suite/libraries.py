"""The tests of libraries that stand on JAX, on the plugin or on JAX's own CPU backend:
`python libraries.py PLUGIN --device cpu --json OUT.json LIBRARY=PATH...`.

PATH is a test file, or a folder with test files, in a checkout of the library's public repository, at the tag of the
release that is installed. The same files run with `--device jax` on JAX's own CPU backend; `compare.py JAX.json
TUFF.json` counts what passes of what passes there. A file that asks JAX for several CPU devices gets as many of tuff's.
Processes, limits and OUT.json are those of run.py; its names of files are LIBRARY/FILE.
"""
import argparse
import datetime
import importlib.metadata
import itertools
import json
import os
import pathlib
import re
import time

from run import FileRun, add_options, environment, load_results, outcomes

WORKER = pathlib.Path(__file__).with_name("pytest_worker.py")
OWN_SETTINGS = ("JAX_NUM_GENERATED_CASES", "JAX_SKIP_SLOW_TESTS", "JAX_ENABLE_X64")  # each library has its own
TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
ASKS_FOR_DEVICES = re.compile(r"(?:xla_force_host_platform_device_count=|jax_num_cpu_devices\W+)(\d+)")


def library_environment(plugin, device, count):
    if device == "jax":
        return dict(os.environ, JAX_PLATFORMS="cpu", PYTHONDONTWRITEBYTECODE="1")
    one = f"{device}:0" if device == "vulkan" else device
    settings = environment(plugin, f"{one}x{count}" if count > 1 else device)
    return {name: value for name, value in settings.items() if name not in OWN_SETTINGS or name in os.environ}


def devices_of(file):
    """How many devices the file, or the conftest.py beside it, asks JAX for."""
    texts = (path.read_text() for path in (file, file.with_name("conftest.py")) if path.exists())
    return max([1, *(int(count) for text in texts for count in ASKS_FOR_DEVICES.findall(text))])


def runs_of(library, path, together):
    """(name, files, devices) of each process: a file's, or a folder's where its files go together."""
    if path.is_file():
        yield f"{library}/{path.stem}", [path], devices_of(path)
        return
    files = sorted(file for file in path.rglob("*.py") if TEST_FILE.fullmatch(file.name))
    kind = (lambda file: (file.parent, devices_of(file))) if together else (lambda file: (file, devices_of(file)))
    for (place, count), group in itertools.groupby(sorted(files, key=kind), kind):
        name = pathlib.PurePath(library) / str(place.relative_to(path)).removesuffix(".py")
        yield str(name / f"{count} devices" if together and count > 1 else name), list(group), count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin", type=pathlib.Path)
    parser.add_argument("paths", nargs="+", metavar="LIBRARY=PATH")
    parser.add_argument("--device", default="cpu", help="as TUFF_DEVICE; `jax` is JAX's own CPU backend")
    parser.add_argument("--together", action="store_true", help="the files of a folder share a process: for samples")
    add_options(parser)
    options = parser.parse_intermixed_args()
    files = load_results(options.json, options.device, options.every)
    about = {"device": options.device, "every": options.every, "date": datetime.date.today().isoformat(),
             "jax": importlib.metadata.version("jax")}
    paths = [(library, pathlib.Path(path).resolve()) for library, _, path in (entry.partition("=") for entry in options.paths)]
    for name, group, count in (run for library, path in paths for run in runs_of(library, path, options.together)):
        begin = time.monotonic()
        env = library_environment(options.plugin.resolve(), options.device, count)
        kept = files.get(name, {}) if options.match else {}
        files[name] = kept | FileRun(group, env, options.match, options.every, options.test_seconds, WORKER).run()
        options.json.write_text(json.dumps({**about, "files": files}, indent=0))
        print(f"{name}: {outcomes(files[name])} in {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
