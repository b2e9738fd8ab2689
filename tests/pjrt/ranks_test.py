"""Several processes on this machine as one program of JAX: `python ranks_test.py PLUGIN TUFF_DEVICE [CASE...]`.

77: skipped, no JAX or no library that carries data (TUFF_TRANSPORT: gloo or ucx). `cpux2`: each process has two devices.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from data_parallel_test import wrong
from program_process import HERE, NOT_HERE, on_plugin, run_program
from rank_process import Rank, free_port

PLUGIN, DEVICE = sys.argv[1:3]
SECONDS = 30  # in which all ranks end once one is lost


def objects_in(text):
    """What several processes print through mpirun, which may put two on one line."""
    found, at = [], text.find("{")
    while at >= 0:
        value, end = json.JSONDecoder().raw_decode(text, at)
        found.append(value)
        at = text.find("{", end)
    return found


class RanksCase(unittest.TestCase):
    def start(self, count, *command, device=DEVICE, environments=None):
        coordinator = f"127.0.0.1:{free_port()}"
        ranks = [Rank(PLUGIN, device, coordinator, count, i, command, (environments or {}).get(i, {})) for i in range(count)]
        for rank in ranks:
            self.addCleanup(rank.stop)
        return ranks

    def run_well(self, *arguments, **options):
        """The last line of each rank."""
        ranks = self.start(*arguments, **options)
        last = []
        for i, rank in enumerate(ranks):
            code = rank.end(240)
            if code and any(words in rank.text for words in NOT_HERE):
                self.skipTest(rank.said[-1])
            self.assertEqual(code, 0, f"rank {i}: {rank.text[-3000:]}")
            lines = list(rank.lines.queue)
            self.assertTrue(lines, f"rank {i} prints nothing: {rank.text[-3000:]}")
            last.append(lines[-1])
        return last

    def ends_naming(self, rank, lost, words=""):
        code = rank.end(SECONDS)
        self.assertNotIn(code, (0, -signal.SIGABRT, -signal.SIGSEGV), rank.text[-3000:])
        self.assertRegex(rank.text, rf"Rank \({lost}\).*{words}")


class RanksTest(RanksCase):
    def test_collectives_of_two(self):
        self.assertEqual(self.run_well(2, "rank_collectives.py"), ["all well"] * 2)

    def test_collectives_of_four(self):
        self.assertEqual(self.run_well(4, "rank_collectives.py"), ["all well"] * 4)

    def test_collectives_of_two_with_two_devices_each(self):
        self.assertEqual(self.run_well(2, "rank_collectives.py", device="cpux2"), ["all well"] * 2)

    def trains_alike(self, model, *counts, spread=()):
        process = run_program(["data_parallel.py", model, "1"], on_plugin(PLUGIN, DEVICE), 200)
        alone = json.loads(process.stdout.strip().splitlines()[-1])
        for count in counts:
            results = [json.loads(line) for line in self.run_well(count, "data_parallel.py", model, count, *spread)]
            for result in results:
                self.assertEqual(list(wrong(alone, result, count)), [])
                self.assertEqual(result["losses"], results[0]["losses"])

    def test_training_an_mlp_is_that_of_one_device(self):
        self.trains_alike("mlp", 2, 4)

    def test_training_a_vision_transformer_is_that_of_one_device(self):
        self.trains_alike("vit", 2)

    def test_training_a_gpt2_whose_weights_are_spread_is_that_of_one_device(self):
        self.trains_alike("gpt2", 2, 4, spread=["spread"])

    def test_eight_processes_of_mpirun(self):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        for model, *spread in (["vit"], ["gpt2", "spread"]):
            process = run_program(["data_parallel.py", model, "1"], on_plugin(PLUGIN, DEVICE), 200)
            alone = json.loads(process.stdout.strip().splitlines()[-1])
            done = subprocess.run(
                ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "8", sys.executable, "-W", "ignore",
                 HERE / "programs" / "ranks.py", "mpirun", "data_parallel.py", model, "8", *spread],
                env=dict(os.environ, **on_plugin(PLUGIN, DEVICE), OMP_NUM_THREADS="1"), capture_output=True, text=True,
                timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr[-3000:])
            results = objects_in(done.stdout)
            self.assertEqual(len(results), 8, done.stdout)
            for result in results:
                self.assertEqual(list(wrong(alone, result, 8)), [])

    def test_training_goes_on_from_its_checkpoint(self):
        def losses(ranks):
            return [line for line in ranks[0].lines.queue if line.startswith("loss")]
        with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as broken:
            at_once = self.start(2, "rank_checkpoint.py", whole)
            self.assertEqual([rank.end(240) for rank in at_once], [0, 0], at_once[0].text[-3000:])
            self.assertEqual(len(losses(at_once)), 8)
            until = self.start(2, "rank_checkpoint.py", broken, 1, 5)
            self.assertEqual(until[1].end(240), 9)
            self.ends_naming(until[0], 1)
            self.assertEqual(losses(until), losses(at_once)[:5])
            after = self.start(2, "rank_checkpoint.py", broken)
            self.assertEqual([rank.end(240) for rank in after], [0, 0], after[0].text[-3000:])
            self.assertEqual(losses(after), losses(at_once)[4:])


class LostRanksTest(RanksCase):
    def steps(self, count, *arguments):
        ranks = self.start(count, "rank_steps.py", *arguments)
        for rank in ranks:
            for _ in range(3):
                self.assertIn("step", rank.line())
        return ranks

    def test_a_killed_rank(self):
        ranks = self.steps(3)
        ranks[1].process.kill()
        for rank in ranks[0], ranks[2]:
            self.ends_naming(rank, 1, "connection is closed")

    def test_the_first_rank_is_killed(self):
        # JAX's coordinator dies with it: JAX ends the others itself, which may be before a run fails.
        ranks = self.steps(3)
        ranks[0].process.kill()
        for rank in ranks[1:]:
            self.assertNotEqual(rank.end(SECONDS), 0)
            self.assertRegex(rank.text, r"Rank \(0\) of \(3\).* is lost")

    def test_the_first_rank_is_stopped(self):
        ranks = self.steps(3)
        ranks[0].process.send_signal(signal.SIGSTOP)
        for rank in ranks[1:]:
            self.ends_naming(rank, 0, "nothing was heard")

    def test_a_stopped_rank(self):
        ranks = self.steps(3)
        ranks[1].process.send_signal(signal.SIGSTOP)
        for rank in ranks[0], ranks[2]:
            self.ends_naming(rank, 1, "nothing was heard")

    def test_a_rank_that_others_wait_for_in_a_barrier(self):
        for stopped in 0, 1:
            ranks = self.steps(2, stopped, 20, "stops")
            self.ends_naming(ranks[1 - stopped], stopped, "nothing was heard")
            ranks[stopped].stop()

    def test_a_rank_whose_program_fails(self):
        ranks = self.steps(3, 1, 20, "fails")
        for rank in ranks[0], ranks[2]:
            self.ends_naming(rank, 1, "program has ended")
        self.assertIn("the data of this rank is bad", ranks[1].text)

    def test_a_rank_that_runs_another_program(self):
        ranks = self.steps(2, 1, 20, "differs")
        self.ends_naming(ranks[0], "[01]", r"all ranks must run the same programs")
        self.assertIn("main(1x8xf32, f32)", ranks[0].text)

    def test_a_missing_library(self):
        for environment, lost in (({0: {}, 1: {"TUFF_TRANSPORT": "/nowhere.so"}}, 1), ):
            ranks = self.start(2, "rank_collectives.py", environments=environment)
            self.ends_naming(ranks[0], lost, "libgloo0")
            self.assertGreater(ranks[1].end(SECONDS), 0)
            self.assertIn("Install Gloo or UCX (Debian: libgloo0", ranks[1].text)


if __name__ == "__main__":
    engine = os.environ.get("TUFF_TRANSPORT", "gloo")
    if not pathlib.Path(PLUGIN).with_name(f"libtuff_{engine}.so").exists():
        print(f"skipped: libtuff_{engine}.so is not there; it is built where lib{engine}-dev is installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
