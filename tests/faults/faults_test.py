"""Each fault is one error, and the run after it is right: `python faults_test.py TUFF INJECT [OPTION...] [KIND...]`.

    --some=N      about N calls of each kind fail (6)
    --all         every one
    --part=K/N    of these the K-th part of N: as many parts at once as there are cores

INJECT is the library of inject.cpp. Small runs of each command are made again and again, each time with another call
that fails. A run gives the right result, or one error and the exit code that its kind of fault has. Then a run without
faults, on the cache that is left, gives the right result.
"""
import os
import signal
import struct
import subprocess
import sys
import tempfile

MODULE = """module @m {
  func.func public @main(%x: tensor<3x5xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) {
    %w = stablehlo.constant dense<[[1.5, -2.0], [0.25, 3.0], [1.0, 1.0], [2.0, 0.5], [-1.0, 4.0]]> : tensor<5x2xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
    %t = stablehlo.tanh %d : tensor<3x2xf32>
    %r = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
    %s = "stablehlo.sort"(%y) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<5x3xf32>) -> tensor<5x3xf32>
    return %r, %s : tensor<3xf32>, tensor<5x3xf32>
  }
}
"""
VK = {"host memory": -1, "device memory": -2, "start": -3, "lost": -4}
# The exit codes that a kind of fault may end in; 0 is the right result.
MEMORY, FILES = (0, 8), (0, 1, 8, 10)
FAULTS = [("memory", "", MEMORY), ("thread", "", (0,)),
          *(("file", code, FILES) for code in ("EIO", "ENOSPC", "EINTR", "SHORT")),
          ("vulkan", VK["host memory"], (0, 3, 8, 9)), ("vulkan", VK["device memory"], (0, 3, 8, 9)),
          ("vulkan", VK["start"], (0, 1, 3)), ("vulkan", VK["lost"], (0, 1, 3, 9))]
# While kernels are compiled, the compilers take memory some 400,000 times: of those a process each fails this many times.
# c_faults has every way to them.
MOST_WHILE_COMPILING = 500
# nlohmann-json's destructor takes memory and ends the process where there is none.
ENDS_WITHOUT_MEMORY = ("profile",)


def npy(path, rows, columns):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header = header.ljust(117) + "\n"
    values = [(i * 7 % 11) / 4 - 1 for i in range(rows * columns)]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}f", *values))


class Runs:
    def __init__(self, tuff, inject, folder):
        self.tuff, self.inject, self.folder = tuff, inject, folder
        self.module, self.input = os.path.join(folder, "m.mlir"), os.path.join(folder, "x.npy")
        with open(self.module, "w") as file:
            file.write(MODULE)
        npy(self.input, 3, 5)
        self.cache = os.path.join(folder, "cache")

    def commands(self):
        run = ["run", self.module, "--input", f"x={self.input}", "--output-dir", os.path.join(self.folder, "out")]
        return {"run on the CPU": run + ["--device", "cpu"], "run on Vulkan": run + ["--device", "vulkan"],
                "profile": ["profile", self.module, "--device", "cpu", "--json"], "cache": ["cache", "stat"]}

    def run(self, words, kind="", at=0, code=""):
        """The exit code, stderr, the outputs, how many calls of the kind there were."""
        for name in ("out0.npy", "out1.npy"):
            path = os.path.join(self.folder, "out", name)
            if os.path.exists(path):
                os.remove(path)
        count = os.path.join(self.folder, "count")
        # Without the validation layer, which has threads and memory of its own.
        environment = dict(os.environ, TUFF_CACHE_DIR=self.cache, TUFF_VALIDATION="0")
        if kind:
            environment.update(LD_PRELOAD=self.inject, INJECT_FAULT=f"{kind}:{at}:{code}", INJECT_COUNT=count)
        try:
            done = subprocess.run([self.tuff, *words], capture_output=True, env=environment, timeout=120)
        except subprocess.TimeoutExpired:
            return "hangs", "", [], 0
        outputs = []
        for name in ("out0.npy", "out1.npy"):
            path = os.path.join(self.folder, "out", name)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    outputs.append(file.read())
        calls = 0
        if kind and os.path.exists(count):
            with open(count) as file:
                calls = int(file.read() or 0)
        return done.returncode, done.stderr.decode(errors="replace"), outputs, calls


def name_of(code):
    return signal.Signals(-code).name if isinstance(code, int) and code < 0 else str(code)


def judge(code, stderr, outputs, right, allowed):
    """What is wrong with a run, or nothing."""
    if code not in allowed:
        return f"ends in {name_of(code)}: {stderr.strip()[-300:]}"
    errors = sum(line.startswith("error:") for line in stderr.splitlines())
    if code == 0:
        return "has other results" if outputs != right else ""
    return "" if errors == 1 else f"prints {errors} errors: {stderr.strip()[-300:]}"


def sweep(runs, what, words, fault, some, part, parts):
    kind, code, allowed = fault
    runs.run(words)  # the cache is filled
    right_code, stderr, right, _ = runs.run(words)
    if right_code == 3:
        print(f"skipped: {what}: {stderr.strip()[:100]}")
        return 0, []
    assert right_code == 0, stderr
    wrong, tried = [], 0
    for cold in (False, True):
        if cold:
            runs.run(["cache", "clear"])
        total = runs.run(words, kind, 0, code)[3]
        most = min(some, MOST_WHILE_COMPILING) if cold and kind == "memory" and "Vulkan" in what else some
        step = max(1, total // most)
        for at in list(range(1 + (step // 2 if cold else 0), total + 1, step))[part - 1::parts]:
            if cold:
                runs.run(["cache", "clear"])
            tried += 1
            flaw = judge(*runs.run(words, kind, at, code)[:3], right, allowed)
            if not flaw and (cold or tried % 7 == 1):  # a cold run is what writes caches
                flaw = judge(*runs.run(words)[:3], right, (0,))
                flaw = flaw and "leaves a cache with which the next run " + flaw
            if flaw:
                wrong.append(f"{what}, {kind} {code} at {at} of {total}{' cold' if cold else ''}: {flaw}")
                print(wrong[-1], flush=True)
    return tried, wrong


def main():
    some, part, parts = 6, 1, 1
    for word in sys.argv[3:]:
        if word.startswith("--some="):
            some = int(word[7:])
        if word == "--all":
            some = sys.maxsize
        if word.startswith("--part="):
            part, parts = map(int, word[7:].split("/"))
    kinds = [word for word in sys.argv[3:] if not word.startswith("-")]
    wrong, tried = [], 0
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(sys.argv[1], sys.argv[2], folder)
        for what, words in runs.commands().items():
            for fault in FAULTS:
                if kinds and fault[0] not in kinds or fault[0] == "vulkan" and "Vulkan" not in what:
                    continue
                if fault[0] == "memory" and what in ENDS_WITHOUT_MEMORY:
                    continue
                more, flaws = sweep(runs, what, words, fault, some, part, parts)
                tried += more
                wrong += flaws
                print(f"{what}: {fault[0]} {fault[1]}: {more} faults, {len(flaws)} wrong", flush=True)
    print(f"{tried} faults, {len(wrong)} wrong")
    return 1 if wrong or tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
