"""The tests of libraries that stand on JAX, on the plugin or on JAX's own CPU backend:
`python libraries.py PLUGIN --device cpu --json OUT.json LIBRARY=FILE...`.

FILE is a test file in a checkout of the library's public repository, at the tag of the release that is installed. The
same files run with `--device jax` on JAX's own CPU backend; `compare.py JAX.json TUFF.json` counts what passes of what
passes there. Processes, limits and OUT.json are those of run.py; its names of files are LIBRARY/FILE.
"""
import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import time

from run import FileRun, add_options, environment, load_results, outcomes

WORKER = pathlib.Path(__file__).with_name("pytest_worker.py")
OWN_SETTINGS = ("JAX_NUM_GENERATED_CASES", "JAX_SKIP_SLOW_TESTS", "JAX_ENABLE_X64")  # each library has its own


def library_environment(plugin, device):
    if device == "jax":
        return dict(os.environ, JAX_PLATFORMS="cpu", PYTHONDONTWRITEBYTECODE="1")
    settings = environment(plugin, device)
    return {name: value for name, value in settings.items() if name not in OWN_SETTINGS or name in os.environ}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin", type=pathlib.Path)
    parser.add_argument("files", nargs="+", metavar="LIBRARY=FILE")
    parser.add_argument("--device", default="cpu", help="as TUFF_DEVICE; `jax` is JAX's own CPU backend")
    add_options(parser)
    options = parser.parse_intermixed_args()
    env = library_environment(options.plugin.resolve(), options.device)
    files = load_results(options.json, options.device, options.every)
    about = {"device": options.device, "every": options.every, "date": datetime.date.today().isoformat(),
             "jax": importlib.metadata.version("jax")}
    for library, _, file in (entry.partition("=") for entry in options.files):
        begin, path = time.monotonic(), pathlib.Path(file).resolve()
        name = f"{library}/{path.stem}"
        kept = files.get(name, {}) if options.match else {}
        run = FileRun(path, env, options.match, options.every, options.test_seconds, WORKER)
        files[name] = kept | run.run()
        options.json.write_text(json.dumps({**about, "files": files}, indent=0))
        print(f"{name}: {outcomes(files[name])} in {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
