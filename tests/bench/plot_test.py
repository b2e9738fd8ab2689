"""bench/plot.py: the picture of the first page is what its table says, and results of `tuff bench --json` are read."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


class Plot(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def plot(self, source, *arguments):
        picture = self.folder / "picture.svg"
        done = subprocess.run([sys.executable, "-B", BENCH / "plot.py", source, picture, *arguments], capture_output=True, text=True)
        return done, picture.read_text() if picture.exists() else ""

    def test_the_first_pages_picture_is_of_its_table(self):
        page = (BENCH / "README.md").read_text()
        words = re.search(r"python3 bench/plot.py bench/README.md bench/first_second_steady.svg ((?:.*\\\n)*.*)", page)[1]
        options = re.findall(r"(--\w+) (?:\"([^\"]*)\"|(\S+))", words)
        done, drawn = self.plot(BENCH / "README.md", *[word for name, quoted, bare in options for word in (name, quoted or bare)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(drawn, (BENCH / "first_second_steady.svg").read_text(), "draw it again with the command of bench/README.md")

    def test_results_of_the_command(self):
        system = {"system": "tuff:cpu", "runs": [{"mode": "cold", "first_ms": 100, "second_ms": 11}], "steady": {"median": 10}}
        failed = {"system": "torch", "error": {"kind": "missing"}}
        results = {"format": "tuff-bench-1", "workloads": [{"name": "mine <1>", "systems": [system, failed]}]}
        source = self.folder / "results.json"
        source.write_text(json.dumps(results))
        done, drawn = self.plot(source)
        self.assertEqual(done.returncode, 0, done.stderr)
        shapes = tree.fromstring(drawn)
        marks = shapes.findall("{http://www.w3.org/2000/svg}circle")
        self.assertEqual(len(marks), 3 + 3, "the legend's and the one system's")
        self.assertIn("mine <1>", [element.text for element in shapes.iter()])

    def test_what_is_not_there_is_named(self):
        done, _ = self.plot(BENCH / "README.md", "--section", "No such heading")
        self.assertIn("no heading that begins with (No such heading)", done.stderr)
        done, _ = self.plot(BENCH / "README.md", "--section", "Forward passes", "--rows", "gpt9")
        self.assertIn("no results of gpt9", done.stderr)


if __name__ == "__main__":
    unittest.main()
