"""Processes on hosts of their own as one program of JAX: `python ranks_hosts_test.py PLUGIN TUFF_DEVICE [CASE...]`.

The hosts are network namespaces, each with a link of its own to the others, of 1 Gbit/s. 77: skipped, not root, no `ip`, no JAX, or no
library that carries data.
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from data_parallel_test import wrong
from program_process import NOT_HERE, on_plugin, run_program
from rank_process import Rank

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "mesh"))
from hosts import Hosts  # noqa: E402

PLUGIN, DEVICE = sys.argv[1:3]
HOSTS, TIMES, SECONDS = 4, 20, 30
LATEST = 5  # steps that a rank may be lost in; there are 8


class HostsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.network = Hosts(HOSTS, "1gbit")
        cls.addClassCleanup(cls.network.remove)
        cls.port = 40000

    def start(self, count, *command):
        HostsTest.port += 1
        ranks = [Rank(PLUGIN, DEVICE, f"{self.network.address(0)}:{self.port}", count, i, command,
                      {"TUFF_HOST": self.network.address(i)}, host=self.network.command(i))
                 for i in range(count)]
        for rank in ranks:
            self.addCleanup(rank.stop)
        return ranks

    def ended_well(self, ranks):
        """The lines of each."""
        lines = []
        for i, rank in enumerate(ranks):
            code = rank.end(300)
            if code and any(words in rank.text for words in NOT_HERE):
                self.skipTest(rank.said[-1])
            self.assertEqual(code, 0, f"rank {i}: {rank.text[-3000:]}")
            lines.append(list(rank.lines.queue))
        return lines

    def trains_alike(self, model, *spread):
        process = run_program(["data_parallel.py", model, "1"], on_plugin(PLUGIN, DEVICE), 200)
        alone = json.loads(process.stdout.strip().splitlines()[-1])
        for lines in self.ended_well(self.start(HOSTS, "data_parallel.py", model, HOSTS, *spread)):
            self.assertEqual(list(wrong(alone, json.loads(lines[-1]), HOSTS)), [])

    def test_a_vision_transformer_over_four_hosts_is_that_of_one_device(self):
        self.trains_alike("vit")

    def test_a_gpt2_whose_weights_are_spread_over_four_hosts_is_that_of_one_device(self):
        self.trains_alike("gpt2", "spread")

    def test_the_links_carry_what_theory_says(self):
        steps = 20
        for weights in "whole", "spread":
            for count in 2, HOSTS:
                before = [self.network.sent_bytes(i) for i in range(count)]
                nbytes = int(self.ended_well(self.start(count, "rank_traffic.py", weights, steps))[0][-1])
                for host in range(count):
                    ratio = (self.network.sent_bytes(host) - before[host]) / (steps * 2 * (count - 1) / count * nbytes)
                    print(f"{weights} weights over {count} hosts: host {host} sends {ratio:.4f} of theory", flush=True)
                    self.assertTrue(0.95 < ratio < 1.05, ratio)

    def loses(self, how, rank, step, folder):
        """The processes of a training that loses a rank; all have ended."""
        ranks = self.start(HOSTS, "rank_checkpoint.py", folder, rank, step, how)
        while ranks[rank].line() != f"{how} now":
            pass
        if how == "cut":
            self.network.plug(rank, "down")
        begin = time.monotonic()
        for i, other in enumerate(ranks):
            if i == rank and how != "cut":
                continue  # ended, or will never
            self.assertNotEqual(other.end(SECONDS), 0)
            named = rf"Rank \({rank}\)" if i != rank else "may be cut off|is lost"
            self.assertRegex(other.text, named)
        print(f"{how} of rank {rank} in step {step}: all others end after {time.monotonic() - begin:.1f} s", flush=True)
        ranks[rank].stop()
        self.network.plug(rank, "up")
        return ranks

    def losses(self, lines):
        return [line for line in lines if line.startswith("loss")]

    def is_lost_and_resumed(self, how):
        with tempfile.TemporaryDirectory() as folder:
            whole = self.losses(self.ended_well(self.start(HOSTS, "rank_checkpoint.py", folder))[0])
        dice = random.Random(7)
        for _ in range(TIMES):
            rank, step = dice.randrange(HOSTS), dice.randrange(1, LATEST)
            with tempfile.TemporaryDirectory() as folder:
                self.loses(how, rank, step, folder)
                resumed = self.losses(self.ended_well(self.start(HOSTS, "rank_checkpoint.py", folder))[0])
                self.assertEqual(resumed, whole[-len(resumed):])
                self.assertGreaterEqual(len(resumed), len(whole) - step)
                left = subprocess.run(["pgrep", "-f", folder], capture_output=True, text=True).stdout
                self.assertEqual(left, "", "processes are left")

    def test_killed_ranks(self):
        self.is_lost_and_resumed("kill")

    def test_stopped_ranks(self):
        self.is_lost_and_resumed("stop")

    def test_ranks_that_are_cut_off(self):
        self.is_lost_and_resumed("cut")


if __name__ == "__main__":
    for missing, says in ((not pathlib.Path(PLUGIN).with_name("libtuff_gloo.so").exists(), "no libtuff_gloo.so"),
                          (os.geteuid() != 0 or not shutil.which("ip"), "network namespaces need root and `ip`")):
        if missing:
            print("skipped:", says)
            sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
