"""Much work in one process holds no more memory than little: `python soak_test.py [KIND...] [--scale F]`.

    calls       100,000 runs of small programs
    contexts    1,000 times a context, a device and a program, all dropped
    programs    10,000 programs that differ, compiled, run once and dropped
    mixed       all by turns in four threads, for two minutes. Beside them the disk with the caches fills and empties (as
                root, who may mount a small one), ours is cleared, the driver's vanishes, and entries are as old and as
                young as a clock that jumps makes them

Each on the CPU and on the first Vulkan device, programs and contexts there a tenth as often. Every result is compared
with NumPy's. From half of the work to its end, what the process has in memory may grow by 4 MiB, with a driver's
compiler in it by 16; open files and threads not at all. 77: skipped, no NumPy.
"""
import argparse
import contextlib
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "frontend" / "python"))
try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)
import tuff

GROWTH_BYTES = {"cpu": 4 << 20, "vulkan": 16 << 20}
MIXED_SECONDS = 120


def usage():
    with open("/proc/self/statm") as statm:
        resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {"bytes": resident, "files": len(os.listdir("/proc/self/fd")), "threads": len(os.listdir("/proc/self/task"))}


def text_of(kind, constant):
    """A program of one argument and what NumPy makes of it; constants differ, so that no cache has the program."""
    if kind == 0:
        return (f"func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {{\n"
                f"  %c = stablehlo.constant dense<{constant:.6e}> : tensor<1000xf32>\n"
                f"  %y = stablehlo.multiply %x, %c : tensor<1000xf32>\n  return %y : tensor<1000xf32>\n}}",
                (1000,), lambda x: x * np.float32(f"{constant:.6e}"))
    if kind == 1:
        return (f"func.func @main(%x: tensor<16x24xf32>) -> tensor<16x16xf32> {{\n"
                f"  %c = stablehlo.constant dense<{constant:.6e}> : tensor<24x16xf32>\n"
                f"  %y = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : "
                f"(tensor<16x24xf32>, tensor<24x16xf32>) -> tensor<16x16xf32>\n  return %y : tensor<16x16xf32>\n}}",
                (16, 24), lambda x: x @ np.full((24, 16), np.float32(f"{constant:.6e}")))
    return (f"func.func @main(%x: tensor<64x37xf32>) -> tensor<64xf32> {{\n"
            f"  %c = stablehlo.constant dense<{constant:.6e}> : tensor<f32>\n"
            f"  %y = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : "
            f"(tensor<64x37xf32>, tensor<f32>) -> tensor<64xf32>\n  return %y : tensor<64xf32>\n}}",
            (64, 37), lambda x: np.maximum(x.max(1), np.float32(f"{constant:.6e}")))


class Sample:
    """A program with an argument and its result."""

    def __init__(self, device, number):
        text, shape, compute = text_of(number % 3, 1 + number % 1_000_000 * 1e-6)
        self.program = device.load(text.encode())
        self.x = np.random.default_rng(number).standard_normal(shape).astype(np.float32)
        self.y = compute(self.x)

    def run(self):
        result = np.asarray(self.program(self.x))
        assert np.allclose(result, self.y, rtol=1e-5, atol=1e-4), (result, self.y)


def calls(device):
    samples = [Sample(device, number) for number in range(3)]
    return lambda i: samples[i % 3].run()


def programs(device):
    return lambda i: Sample(device, i).run()


def contexts(device):
    id = device.info.id
    return lambda i: Sample(tuff.Device(id, tuff.Context(cache_directory="")), i % 3).run()


WORK = {"calls": (calls, 100_000), "programs": (programs, 10_000), "contexts": (contexts, 1_000)}


def watched(name, device, scale):
    """True: the process grew. Programs and contexts of Vulkan are fewer, as drivers take their time for each."""
    make, count = WORK[name]
    id = device.info.id
    count = max(20, int(count * scale * (1 if id == "cpu" or name == "calls" else 0.1)))
    once, seen, start = make(device), [], time.time()
    for i in range(1, count + 1):
        once(i)
        if i in (count // 2, count):
            seen.append(usage())
    return report(f"{name} x {count:,} on {id}", seen, time.time() - start, GROWTH_BYTES[id.partition(":")[0]])


def report(what, seen, seconds, most_bytes):
    grown = {key: seen[-1][key] - seen[0][key] for key in seen[0]}
    wrong = grown["bytes"] > most_bytes or grown["files"] > 0 or grown["threads"] > 0
    print(f"{'GREW' if wrong else 'flat'}: {what}: {seen[-1]}, grown by {grown}, {seconds:.0f} s", flush=True)
    return wrong


def small_disk(folder, mebibytes):
    """Mounts a file system of that size on the folder, for this process alone; False where it may not."""
    new_mounts = 0x00020000
    if ctypes.CDLL(None).unshare(new_mounts) != 0:
        return False
    commands = [["mount", "--make-rprivate", "/"], ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", folder]]
    return all(subprocess.run(command, capture_output=True).returncode == 0 for command in commands)


class Disturbance:
    """What happens to the folder of the caches: another thing each time."""

    def __init__(self, folder, is_small):
        self.folder, self.is_small, self.count = folder, is_small, 0

    def happen(self):
        happenings = [tuff.Context().clear_cache, self.jump_back, self.forget_drivers, self.jump_ahead]
        if self.is_small:
            happenings += [self.fill, self.empty]
        happenings[self.count % len(happenings)]()
        self.count += 1

    def fill(self):
        with contextlib.suppress(OSError), open(self.folder / "filler", "wb") as file:
            while True:
                file.write(bytes(1 << 16))
                file.flush()

    def empty(self):
        (self.folder / "filler").unlink(missing_ok=True)

    def forget_drivers(self):
        for path in (self.folder / "driver").rglob("*"):
            if path.is_file():
                path.unlink(missing_ok=True)

    def jump_back(self):
        self.set_times(0)

    def jump_ahead(self):
        self.set_times(time.time() + 10 * 365 * 86400)

    def set_times(self, seconds):
        for path in self.folder.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                os.utime(path, (seconds, seconds))


def mixed(devices, disturbance, scale):
    """All by turns in threads that share the devices, while the caches have no peace."""
    failures, done, end = [], [0] * 4, time.time() + MIXED_SECONDS * scale

    def work(number):
        try:
            turns = [WORK[name][0](device) for name in WORK for device in devices]
            while time.time() < end:
                turns[done[number] % len(turns)](number * 1_000_000 + done[number])
                done[number] += 1
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(done))]
    seen = []
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(2, MIXED_SECONDS * scale / 10))
        seen.append(usage())
        disturbance.happen()
    for failure in failures:
        print(f"wrong: {failure!r}")
    what = f"mixed, {sum(done):,} turns, {disturbance.count} disturbances"
    return report(what, seen[len(seen) // 2:-1], MIXED_SECONDS * scale, GROWTH_BYTES["vulkan"]) or bool(failures)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", default=[*WORK, "mixed"])
    parser.add_argument("--scale", type=float, default=1, help="so much of the work")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        is_small = "mixed" in options.kinds and small_disk(folder, 8)
        if "mixed" in options.kinds and not is_small:
            print("no small disk may be mounted here: none fills")
        os.environ["TUFF_CACHE_DIR"], os.environ["MESA_SHADER_CACHE_DIR"] = folder + "/kernels", folder + "/driver"
        vulkan = [info.id for info in tuff.devices() if info.id.startswith("vulkan")][:1]
        devices = [tuff.Device(id) for id in ["cpu", *vulkan]]
        grown = [watched(kind, device, options.scale) for kind in options.kinds if kind in WORK for device in devices]
        if "mixed" in options.kinds:
            grown.append(mixed(devices, Disturbance(pathlib.Path(folder), is_small), options.scale))
        if is_small:
            subprocess.run(["umount", "-l", folder], check=True)
    return any(grown)


if __name__ == "__main__":
    sys.exit(main())
