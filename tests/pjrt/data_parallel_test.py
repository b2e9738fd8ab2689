"""Training over several devices is training on one: `python data_parallel_test.py PLUGIN MODEL TUFF_DEVICE [COUNT...]`.

77: skipped, no JAX. The losses of programs/data_parallel.py on each number of devices are those of one; each device has
its shard of the batch, and a step exchanges what theory says, for each parameter its gradient: 2 (n - 1) / n of the
parameters' bytes. `MODEL,spread` spreads the parameters and the optimizer's state as well: they are gathered, and their
gradients scattered, which are as many bytes. Else all devices have them.
"""
import json
import re
import sys

from program_process import on_plugin, run_program
from tolerances import bound

TOLERANCE = bound("devices")
MORE_BYTES = 1.05  # than theory: the loss, small gradients of spread arrays


def train(plugin, model, device, count):
    """What the program prints, and which share of the last run each device waits."""
    process = run_program(["data_parallel.py", *model.split(",")[:1], str(count), *model.split(",")[1:]],
                          dict(on_plugin(plugin, device), TUFF_LOG="run"), 500)
    trained = json.loads(process.stdout.strip().splitlines()[-1])
    shares = re.findall(r"share \S+ [0-9.]+ m?s: device (\d+) waits [0-9.]+ m?s for exchanges, (\d+) % of it", process.stderr)
    trained["waits"] = {int(number): int(percent) for number, percent in shares}
    return trained


def wrong(alone, spread, count):
    """Yields a sentence for whatever is not as it must be."""
    for step, (a, b) in enumerate(zip(alone["losses"], spread["losses"], strict=True)):
        if abs(a - b) > TOLERANCE * max(1, abs(a)):
            yield f"the loss of step {step} is {b}, not {a}"
    if spread["shard"][0] * count != alone["shard"][0]:
        yield f"a shard is {spread['shard']} of {alone['shard']}"
    if count == 1:
        return
    theory = 2 * (count - 1) / count * spread["parameters"]
    if not theory <= spread["exchanged"] <= MORE_BYTES * theory + 64 * count:
        yield f"{spread['collectives']} collectives exchange {spread['exchanged']} bytes, {theory} in theory"
    batch = 4  # bytes of the loss, the labels and the device's number are few beside the images'
    for size in alone["shard"]:
        batch *= size
    for device, used in enumerate(spread["bytes"]):
        if used > spread["held"] + batch // count + 1024:
            yield f"device {device} holds {used} bytes"


def wrong_waits(waits, count):
    """Each device of one process tells in its log how long it waits."""
    if count > 1 and (sorted(waits) != list(range(count)) or not all(0 <= share <= 100 for share in waits.values())):
        yield f"devices wait {waits} %"


def main(plugin, model, device, *counts):
    alone = train(plugin, model, device, 1)
    if alone["losses"][-1] > alone["losses"][0]:
        sys.exit(f"one device learns nothing: {alone['losses']}")
    failures = 0
    for count in map(int, counts):
        spread = train(plugin, model, device, count)
        sentences = [*wrong(alone, spread, count), *wrong_waits(spread["waits"], count)]
        failures += bool(sentences)
        print(f"{model} over {count} devices: {'; '.join(sentences[:5]) or 'ok'}; bytes {alone['bytes']} -> "
              f"{spread['bytes']}, {spread['collectives']} collectives of {spread['exchanged']} bytes a step", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
