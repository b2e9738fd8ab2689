"""Training over several devices is training on one: `python data_parallel_test.py PLUGIN MODEL TUFF_DEVICE [COUNT...]`.

77: skipped, no JAX. The losses of programs/data_parallel.py on each number of devices are those of one; each device has
its shard of the batch, all have the parameters, and a step exchanges a gradient for each parameter and the loss.
"""
import json
import sys

from program_process import on_plugin, run_program
from tolerances import bound

TOLERANCE = bound("devices")


def train(plugin, model, device, count):
    process = run_program(["data_parallel.py", model, str(count)], on_plugin(plugin, device), 500)
    return json.loads(process.stdout.strip().splitlines()[-1])


def wrong(alone, spread, count):
    """Yields a sentence for whatever is not as it must be."""
    for step, (a, b) in enumerate(zip(alone["losses"], spread["losses"], strict=True)):
        if abs(a - b) > TOLERANCE * max(1, abs(a)):
            yield f"the loss of step {step} is {b}, not {a}"
    if spread["shard"][0] * count != alone["shard"][0]:
        yield f"a shard is {spread['shard']} of {alone['shard']}"
    if spread["collectives"] < 1 or spread["exchanged"] < spread["parameters"]:
        yield f"{spread['collectives']} collectives exchange {spread['exchanged']} bytes"
    batch = 4  # bytes of the loss, the labels and the device's number are few beside the images'
    for size in alone["shard"]:
        batch *= size
    for device, used in enumerate(spread["bytes"]):
        if used > spread["parameters"] + batch // count + 1024:
            yield f"device {device} holds {used} bytes"


def main(plugin, model, device, *counts):
    alone = train(plugin, model, device, 1)
    if alone["losses"][-1] > alone["losses"][0]:
        sys.exit(f"one device learns nothing: {alone['losses']}")
    failures = 0
    for count in map(int, counts):
        spread = train(plugin, model, device, count)
        sentences = list(wrong(alone, spread, count))
        failures += bool(sentences)
        print(f"{model} over {count} devices: {'; '.join(sentences[:5]) or 'ok'}; bytes {alone['bytes']} -> "
              f"{spread['bytes']}, {spread['collectives']} collectives of {spread['exchanged']} bytes a step", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
