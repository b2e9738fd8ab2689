"""Training steps over several processes of this machine, beside what `tuff plan --mesh` says that they take.

    python -m mesh [--plugin PLUGIN] [--tuff TUFF] [--counts 1,2,4,8] [--steps 20] [--link 1TB/s,100us,1GB/s] [--hosts 1000]

Each process has one device, of one thread on the CPU; where there are more processes than cores they share them. One line
a mesh: the median step, its time by the plan, and their ratio; the efficiency of weak scaling, which is the time of one
process's step, times the processes that share a core, over that of the mesh's, and the same by the plans. What a
call takes, and without --link the link, are measured first with as many processes. With --hosts each process is on a host
of its own (a network namespace, as root), whose link sends so many Mbit/s.
"""
import argparse
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile

from .hosts import Hosts

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"


def run_ranks(options, count, script, *words, log=""):
    """What process 0 prints, read as JSON, and what it says as TUFF_LOG is `log`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hosts = options.network
    coordinator = f"{hosts.address(0) if hosts else '127.0.0.1'}:{port}"
    environment = dict(os.environ, PYTHONPATH=str(HERE.parents[1] / "frontend" / "python"), TUFF_PJRT_PLUGIN=options.plugin,
                       JAX_PLATFORMS="tuff,cpu", TUFF_DEVICE="cpu", OMP_NUM_THREADS="1", TUFF_LOG=log)
    program = [sys.executable, "-W", "ignore", str(HERE / script), coordinator, str(count)]
    ranks = [subprocess.Popen([*(hosts.command(rank) if hosts else []), *program, str(rank), *map(str, words)],
                              env=dict(environment, **({"TUFF_HOST": hosts.address(rank)} if hosts else {})), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(count)]
    outputs = [rank.communicate(timeout=900) for rank in ranks]
    for rank, (_, said) in zip(ranks, outputs):
        if rank.returncode:
            sys.exit(f"a process ends with {rank.returncode}:\n{said[-3000:]}")
    return json.loads(outputs[0][0].strip().splitlines()[-1]), outputs[0][1]


def plan(options, module, count, host):
    """By devices that compute at once, as in a step; of their plans the one in the middle."""
    command = [options.tuff, "plan", module, "--device", "cpu", "--mesh", str(count), "--measure", *host, "--json",
               *([] if options.hosts else ["--one-host"])]
    plans = [subprocess.Popen(command, env=dict(os.environ, OMP_NUM_THREADS="1"), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) for _ in range(count)]
    outputs = [one.communicate() for one in plans]
    for one, (_, said) in zip(plans, outputs):
        if one.returncode:
            sys.exit(said)
    return sorted((json.loads(planned) for planned, _ in outputs), key=lambda planned: planned["step_ms"])[count // 2]


def usual(times):
    """The median of those after the first quarter, which warm up."""
    return statistics.median(times[len(times) // 4:]) if times else 0


def measure_exchange(options, count, elements):
    """Of sums of so many elements over processes of one host: the bytes that one sends, the seconds that their exchange takes
    and those that the rest of the call does."""
    sums, said = run_ranks(options, count, "exchange.py", elements, log="run")
    exchange = usual([float(ms) / 1e3 for ms in re.findall(r"exchange \S+ ([0-9.]+) ms", said)])
    return sums["sent_bytes"], exchange, usual(sums["times"]) - exchange


def measure_host(options, count):
    """`plan`'s words for as many processes as the mesh has: the time of a small exchange of many arrays and of its call, and
    what more each byte takes in a large one."""
    _, small, call = measure_exchange(options, count, 256 * count)
    words = ["--call", f"{call * 1e6:.1f}us"]
    if options.link or count == 1:
        return [*words, "--link", options.link or "1TB/s"]
    sent, large, _ = measure_exchange(options, count, 1 << 22)
    between = f"{options.hosts / 8}MB/s" if options.hosts else "1TB/s"  # all that the host does counts as the host's
    return [*words, "--link", f"{between},{small / 2 * 1e6:.1f}us,{sent / (large - small) / 1e6:.1f}MB/s"]


def main():
    parser = argparse.ArgumentParser(prog="python -m mesh")
    parser.add_argument("--plugin", default=str(BUILD / "libpjrt_tuff.so"))
    parser.add_argument("--tuff", default=str(BUILD / "tuff"))
    parser.add_argument("--counts", default="1,2,4,8")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--link")
    parser.add_argument("--hosts", type=float, metavar="MBIT")
    options = parser.parse_args()
    options.network = None
    counts = list(map(int, options.counts.split(",")))
    cores = len(os.sched_getaffinity(0))
    hosts = {count: measure_host(options, count) for count in counts}
    if options.hosts:
        options.network = Hosts(max(counts), f"{options.hosts}mbit")
    try:
        compare(options, cores, hosts)
    finally:
        if options.network:
            options.network.remove()


def compare(options, cores, hosts):
    for count, words in hosts.items():
        print(f"{count} processes: {' '.join(words)}", flush=True)
    for weights in "whole", "spread":
        alone = planned_alone = None
        for count, host in hosts.items():
            with tempfile.TemporaryDirectory() as folder:
                module = os.path.join(folder, "step.mlir")
                times = run_ranks(options, count, "step.py", weights, options.steps, module)[0]["times"]
                planned = plan(options, module, count, host)
            median = usual(times) * 1e3
            crowd = max(1, count / cores)
            alone, planned_alone = alone or median, planned_alone or planned["step_ms"]
            idle = 100 * (1 - planned["compute_ms"] / planned["step_ms"])
            print(f"{weights:6} weights, {count} processes: step {median:7.1f} ms, planned {planned['step_ms']:7.1f} "
                  f"(ratio {planned['step_ms'] / median:.2f}; {idle:.0f} % of it no computing), "
                  f"{planned['sent_bytes'] / 1e6:.1f} MB sent, efficiency {alone * crowd / median:.2f} "
                  f"(planned {planned_alone * crowd / planned['step_ms']:.2f})", flush=True)


if __name__ == "__main__":
    main()
