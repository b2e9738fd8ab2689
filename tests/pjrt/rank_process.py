"""A process of several that are one program of JAX (programs/ranks.py)."""
import os
import queue
import socket
import subprocess
import sys
import threading

from program_process import HERE, on_plugin


class Rank:
    """Its lines come as they are printed. `host`: the words of a command that runs it elsewhere."""

    def __init__(self, plugin, device, coordinator, count, rank, command, environment, host=()):
        program = [sys.executable, "-W", "ignore", str(HERE / "programs" / "ranks.py"), coordinator, str(count), str(rank)]
        self.process = subprocess.Popen(
            [*host, *program, *map(str, command)],
            env=dict(os.environ, **on_plugin(plugin, device), OMP_NUM_THREADS="1", **environment), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines, self.said = queue.Queue(), []
        self.readers = [threading.Thread(target=self.read, args=arguments) for arguments in (
            (self.process.stdout, self.lines.put), (self.process.stderr, self.said.append))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def read(stream, take):
        with stream:
            for line in stream:
                take(line.rstrip())

    def line(self, seconds=120):
        return self.lines.get(timeout=seconds)

    def end(self, seconds):
        """How it ended; TimeoutExpired where it did not."""
        self.process.wait(seconds)
        for reader in self.readers:
            reader.join(10)
        return self.process.returncode

    def stop(self):
        self.process.kill()
        self.end(30)

    @property
    def text(self):
        return "\n".join(self.said)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
