"""Each shell command that a README shows, but for those of `tuff` itself (guides_test.py). What needs no network and no
minutes is run, in a copy of the folders that it writes to. The rest is looked at: files, options, targets, labels and tests
of those names are there. Of those that need JAX, the ones that this Python can run are."""
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

TUFF = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = TUFF.parent
ROOT = pathlib.Path(__file__).resolve().parents[2]
HAS_JAX = importlib.util.find_spec("jax") is not None
PROGRAMS = re.compile(r"(cat|\./dev|cmake|ctest|cpack|conan|pip|python3?|git|graph_fuzz_test|c_run_cost|c_threads|build/\S+) ")
# Why a command is looked at only.
LOOKED_AT = [
    (r"\./dev ", "installs packages, downloads and builds; CI runs demo and tests"),
    (r"cmake |cpack ", "builds; the tests package and rpm do"),
    (r"conan ", "builds; the test conan does"),
    (r"ctest ", "the tests themselves"),
    (r"pip |python -m venv|V/bin/pip", "from the network; python_wheel installs what it makes"),
    (r"git ", "of another repository"),
    (r"cat ", "several processes, where there is no JAX or Gloo"),
    (r"graph_fuzz_test .*--coverage", "for hours"),
    (r"build/", "of builds with sanitizers, or for minutes"),
    (r"c_threads|c_run_cost", "tests of their own"),
    (r"python", "measures, downloads or needs files that are not here"),
]
# Commands that are run, and what is typed instead of a placeholder or a number of hours.
RUN = [
    (r"python3 bench/plot.py .*--section", []),
    (r"python3? -c 'import jax", []),
    (r"python - ", []),
    (r"cat > sum.py", []),
    (r"python frontend/python/make_sdist.py DIR", []),
    (r"graph_fuzz_test (?!.*--coverage)", [(r"--graphs=\d+", "--graphs=1"), ("SEED", "1"), ("graph_fuzz_test", str(BUILD / "tests/fuzz/graph_fuzz_test"))]),
    (r"python -m workloads (list|export gpt2 DIR)", [("export gpt2 DIR", "export gpt2 DIR --no-weights")]),
]


def guides():
    told = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True)
    return told.stdout.split() if told.returncode == 0 else []


def statements(block):
    """The block's commands; the whole of it where it writes a file that a later one runs."""
    if block.startswith("cat >"):
        return [block]
    found, lines = [], iter(block.replace("\\\n", " ").splitlines())
    for line in lines:
        if here := re.search(r"<<'(\w+)'", line):
            for more in lines:
                line += "\n" + more
                if more == here[1]:
                    break
            found.append(line)
        else:
            # Between quotes nothing ends.
            pieces = re.findall(r"""'[^']*'|"[^"]*"|&&|;|[^'"&;]+|.""", re.sub(r"\s+#.*", "", line))
            found += re.split(r"\0", "".join("\0" if piece in ("&&", ";") else piece for piece in pieces))
    return found


def commands_of(text):
    """(folder, command, the same without variables) of each. `cd` counts until its block or its parenthesis ends."""
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.S | re.M)
    blocks += re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    for block in blocks:
        folder = outside = "."
        for command in statements(block):
            command = re.sub(r"^do ", "", command.strip())
            opens, closes = command.startswith("("), command.count(")") > command.count("(")
            command = command.strip("() ") if opens or closes else command
            outside = folder if opens else outside
            if moved := re.fullmatch(r"cd (\S+)", command):
                folder = moved[1]
                continue
            bare = re.sub(r"^([A-Z_]+=\S+ )+", "", command)
            if PROGRAMS.match(bare) and len(bare.split()) > 1:
                in_bench = folder == "." and re.search(r"-m (workloads|scaling)", bare)
                yield "bench" if in_bench else folder, command, bare
            folder = outside if closes else folder


class ShellGuides(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.options = {name for path in [*ROOT.rglob("CMakeLists.txt")] if "build" not in path.parts
                       for name in re.findall(r"\b(TUFF_\w+|SANITIZE)\b", path.read_text())}
        cls.targets = set(re.findall(r"^build ([\w.]+): phony", (BUILD / "build.ninja").read_text(), re.M))
        told = subprocess.run(["ctest", "-N"], cwd=BUILD, capture_output=True, text=True, check=True).stdout
        cls.tests = re.findall(r"Test +#\d+: (\S+)", told)

    def looks_right(self, folder, command):
        words = [word for word in re.split(r"\s+", command.split("\n")[0]) if word]
        texts = []  # of the programs: where their options stand
        for before, word in zip(words, words[1:] + [""]):
            if before == "--target" and words[0] == "cmake":
                self.assertTrue(word in self.targets, command)
            if before == "-R":
                pattern = word.strip("'\"")
                self.assertTrue(any(re.search(pattern, test) for test in self.tests) or "build/fuzzers" in words, command)
            if before == "-L":
                self.assertIn(word, ("quick", "full", "long"), command)
            if name := re.match(r"-D(TUFF_\w+|SANITIZE)=", before):
                self.assertIn(name[1], self.options, command)
            if before == "-m" and word not in ("venv", "tuff"):
                package = ROOT / folder / word.replace(".", "/")
                self.assertTrue(package.is_dir() or package.with_suffix(".py").exists(), command)
                texts += [path.read_text() for path in (package.rglob("*.py") if package.is_dir() else [package.with_suffix(".py")])]
            if before.endswith(".py") and words[0] not in ("git", "cat"):
                places = [path for path in (ROOT / folder / before, ROOT / "tests/models" / before, ROOT / "frontend/python" / before)
                          if path.exists()]
                self.assertTrue(places, command)
                texts += [path.read_text() for path in [places[0], *places[0].parent.glob("*.py")]]
            if before == "./dev":
                self.assertRegex((ROOT / "dev").read_text(), rf"(?m)^  {word}\)", command)
            if before.startswith(("build/tests/", "build/tsan/")):
                self.assertTrue(pathlib.Path(before).name in self.targets, command)
        for option in re.findall(r" (--[a-z][a-z-]+)", command.split("\n")[0]) if texts else []:
            self.assertTrue(any(option in text for text in texts), f"{option}: {command}")

    def is_run(self, folder, command, bare):
        """True iff it was; False: it is to be looked at."""
        changes = next((changes for pattern, changes in RUN if re.match(pattern, bare)), None)
        needs_jax = "jax" in command or "workloads" in command
        if changes is None or needs_jax and not HAS_JAX:
            return False
        for name, file in [("graph_fuzz_test", "tests/fuzz/graph_fuzz_test"), ("distributed", "libtuff_gloo.so")]:
            if name in bare and not (BUILD / file).exists():
                return False
        for pattern, text in changes:
            command = re.sub(pattern, text, command)
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            for path in ROOT.iterdir():
                if path.name == "bench":  # written to
                    shutil.copytree(path, place / path.name, ignore=shutil.ignore_patterns("__pycache__"))
                elif path.name != ".git":
                    (place / path.name).symlink_to(BUILD if path.name == "build" else path)
            (place / "bin").mkdir()
            for name in ("python", "python3"):
                (place / "bin" / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -B "$@"\n')
                (place / "bin" / name).chmod(0o755)
            environment = {**os.environ, "PATH": f"{place}/bin:{os.environ['PATH']}", "TUFF_CACHE_DIR": str(place / "cache"),
                           "PYTHONPATH": str(ROOT / "frontend/python"), "TUFF_LIBRARY": str(BUILD / "libtuff.so"),
                           "PJRT_NAMES_AND_LIBRARY_PATHS": f"tuff:{BUILD / 'libpjrt_tuff.so'}"}
            if needs_jax and "workloads" not in command:
                environment["JAX_PLATFORMS"] = "tuff"
            done = subprocess.run(["bash", "-ec", command], cwd=place / folder, env=environment, capture_output=True, text=True,
                                  timeout=300)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        return True

    def test_pip_has_a_virtual_environment(self):
        """Debian's and Ubuntu's own Python lets pip install nothing, and is not called `python`."""
        for guide in guides():
            for block in re.findall(r"^```(?:sh)?\n(.*?)^```", (ROOT / guide).read_text(), re.S | re.M):
                if re.search(r"^.*\bpip install (?!.*--target)", block, re.M):
                    self.assertRegex(block, r"-m venv \S+ && ", guide)

    def test_all(self):
        if not guides():
            self.skipTest("no checkout of git")
        for guide in guides():
            ran = looked_at = 0
            for folder, command, bare in commands_of((ROOT / guide).read_text()):
                with self.subTest(guide=guide, command=command):
                    if self.is_run(folder, command, bare):
                        ran += 1
                        continue
                    self.assertTrue(any(re.match(pattern, bare) for pattern, _ in [*LOOKED_AT, *RUN]), "of no kind: " + command)
                    self.looks_right(folder, bare)
                    looked_at += 1
            if ran + looked_at:
                print(f"{guide}: {ran} run, {looked_at} looked at")


if __name__ == "__main__":
    unittest.main()
