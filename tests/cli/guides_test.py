"""Each `tuff` command that a guide shows, as a reader would type it. Those that take minutes, or other systems, are
only looked at: a command of that name, with options of those names."""
import json
import pathlib
import re
import shlex
import shutil

import bench_test
import harness
from harness import ADD, MODELS, TuffTest, onnx_model

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = ["README.md", "bench/README.md", "bench/FORMAT.md", *sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "frontend").rglob("README.md"))]
LONG = {"roof", "tune", "check-device", "test", "bench"}
PLACEHOLDER = re.compile(r"[A-Z]{3,}\b|[|]")  # COMMAND, bash|zsh|fish


def commands_of(text):
    """[words] of every command in blocks and between backquotes."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.S | re.M)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    for line in lines:
        for part in re.split(r" ; | && | > ", re.sub(r"\s+#.*", "", line)):
            if re.match(r"\s*([A-Z_]+=\S+ )*tuff [a-z-]", part) and "{" not in part:
                yield shlex.split(part)


class Guides(TuffTest):
    def setUp(self):
        super().setUp()
        for name in ("MODEL", "DIR", "mlp_bundle"):
            shutil.copytree(MODELS / "mlp", self.folder / name)
        shutil.copy(MODELS / "mlp/inputs/x.npy", self.folder)
        self.write("model.mlir", ADD)
        self.write("model.onnx", onnx_model("Relu", ["image"]))
        self.write_npy("cat.npy", "f4", [3], [1, 2, 3])
        for name in ("before.json", "after.json"):
            self.write(name, json.dumps(bench_test.results_with(1)))
        self.help = {}

    def options_of(self, command):
        if command not in self.help:
            self.help[command] = set(re.findall(r"(?<![\w-])--?[a-z-]+", self.tuff(command, "--help").stdout))
        return self.help[command]

    def look_at(self, command, words):
        options = {word.split("=")[0] for word in words if word.startswith("-") and word != "-"}
        self.assertLessEqual(options, self.options_of(command), words)

    def is_run(self, command, words):
        if command in LONG and words[:1] != ["compare"]:
            return False
        if "--shape" in words:  # of models that are not at hand
            return False
        known = all((self.folder / word).exists() or not PLACEHOLDER.search(word) for word in words)
        return known and (command in ("devices", "manual") if words in ([], ["compare"]) else True)

    def run_or_look_at(self, words):
        environment = {}
        while "=" in words[0]:
            name, environment[name] = words.pop(0).split("=", 1)
        command, words = words[1], words[2:]
        if command.startswith("-"):
            return
        if words[:1] != ["compare"]:
            self.look_at(command, words)
        if self.is_run(command, words):
            self.tuff(command, *words, cwd=self.folder, **environment)
            self.ran += 1

    def test_all(self):
        vulkan = "vulkan:" in self.tuff("devices").stdout
        for guide in GUIDES:
            self.ran = 0
            for words in commands_of((ROOT / guide).read_text()):
                if "vulkan" not in words or vulkan:
                    with self.subTest(guide=guide, command=shlex.join(words)):
                        self.run_or_look_at(words)
            print(f"{guide}: {self.ran} run")


if __name__ == "__main__":
    harness.main()
