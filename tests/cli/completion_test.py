"""Completions, the manual page, and what a mistyped word was meant to be."""
import shutil
import subprocess

import harness
from harness import ADD, MODELS, TuffTest


class Completion(TuffTest):
    def test_bash_completes_commands_and_options(self):
        script = self.write("tuff.bash", self.tuff("completion", "bash").stdout)
        ask = ("source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _tuff; echo \"${{COMPREPLY[@]}}\"")

        def complete(words, at):
            done = subprocess.run(["bash", "-c", ask.format(script, words, at)], capture_output=True, text=True, check=True)
            return done.stdout.split()
        self.assertEqual(complete("tuff pro", 1), ["profile"])
        self.assertIn("--output-dir", complete("tuff run --o", 2))
        self.assertEqual(complete("tuff cache st", 2), ["stat"])
        self.assertEqual(complete("tuff run model", 2), [])

    def test_other_shells_read_their_script(self):
        for shell in ("zsh", "fish"):
            script = self.write(f"tuff.{shell}", self.tuff("completion", shell).stdout)
            if shutil.which(shell):
                subprocess.run([shell, "-n", script], check=True)
        self.tuff("completion", "tcsh", code=2)

    def test_the_manual_names_every_command(self):
        page = self.tuff("manual").stdout
        for command in ("run", "explain", "plan", "profile", "tune", "roof", "devices", "doctor", "cache", "test", "bench"):
            self.assertIn(f".SS tuff {command}\n", page)
        for text in ("TUFF_CACHE_DIR", ".I MODEL\n", ".B \\-o, \\-\\-output"):
            self.assertIn(text, page)
        if shutil.which("man"):
            path = self.write("tuff.1", page)
            done = subprocess.run(["man", "--warnings", "-l", path], capture_output=True, text=True)
            self.assertEqual(done.stderr, "")


class DidYouMean(TuffTest):
    def test_commands(self):
        self.assertIn("Did you mean (profile) instead of (profiel)?", self.tuff("profiel", "x.mlir", code=2).stderr)
        self.assertNotIn("Did you mean", self.tuff("xyzzy", code=2).stderr)

    def test_options(self):
        model = self.write("add.mlir", ADD)
        result = self.tuff("run", model, "--outptu-dir=out", code=2)
        self.assertIn("Did you mean (--output-dir) instead of (--outptu-dir)?", result.stderr)


class Bundles(TuffTest):
    def test_a_bundles_own_inputs_are_taken_where_none_are_given(self):
        bundle = self.folder / "mlp"
        shutil.copytree(MODELS / "mlp", bundle)
        result = self.tuff("run", bundle, "--device", "cpu", "--check")
        self.assertIn("the bundle's own inputs are used for 1 arguments (x ...)", result.stderr)

    def test_where_outputs_go_is_looked_at_before_the_work(self):
        model, blocked = self.write("add.mlir", ADD), self.write("file", "")
        result = self.tuff("run", model, "--output-dir", f"{blocked}/out", code=1)
        self.assertIn("cannot be created", result.stderr)


if __name__ == "__main__":
    harness.main()
