"""The loop of a peer: requests on stdin, answers on stdout, one JSON object a line."""
import json
import os
import sys
import time
import traceback

import numpy as np

from .bundle import Bundle, Unsupported


def serve(make_peer):
    """Answers requests until "end". make_peer() imports the peer's packages and returns an object with

    versions: {package: version}; precision: of its f32 matmuls; device: optional text
    load(bundle): weights and inputs onto the device, as far as that needs no compiler; returns what the bundle's
        matmuls are computed in, where that is neither the model's own element type nor (for f32) `precision`
    compile(): everything from there to a callable, from scratch; returns {phase: ms} of what it can tell apart
    run(): one run to its end, outputs ready
    outputs(): the last run's outputs as numpy arrays, in the module's order
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not come between answers
    try:
        loop = _Loop(make_peer())
    except ImportError as error:
        _write(answers, _error("missing", error))
        return
    _write(answers, {"ok": loop.greeting()})
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "end":
            _write(answers, {"ok": {}})
            return
        try:
            answer = {"ok": loop.answer(request)}
        except Unsupported as error:
            answer = _error("unsupported", error)
        except ImportError as error:
            answer = _error("missing", error)
        except Exception as error:  # a peer's failure is an answer, whatever it is
            traceback.print_exc()
            answer = _error("failed", error)
        _write(answers, answer)


class _Loop:
    def __init__(self, peer):
        self.peer = peer

    def greeting(self):
        return {"versions": self.peer.versions, "precision": self.peer.precision,
                **({"device": self.peer.device} if hasattr(self.peer, "device") else {})}

    def answer(self, request):
        if request["do"] == "load":
            bundle = Bundle(request["bundle"])
            own = self.peer.precision if bundle.precision == "f32" else bundle.precision
            return {"precision": self.peer.load(bundle) or own}
        if request["do"] == "first":
            return self.first()
        if request["do"] == "burst":
            return {"ms": self.burst(request["ms"])}
        if request["do"] == "outputs":
            return self.write_outputs(request["directory"])
        raise ValueError(f"There is no request ({request['do']}).")

    def first(self):
        start = time.perf_counter()
        phases = self.peer.compile() or {}
        compiled = _ms_since(start)
        self.peer.run()
        first = _ms_since(start)
        second = self.timed_run()
        return {"first_ms": first, "second_ms": second, "phases": _complete(phases, compiled, first, second)}

    def timed_run(self):
        start = time.perf_counter()
        self.peer.run()
        return _ms_since(start)

    def burst(self, length_ms):
        start, samples = time.perf_counter(), []
        while not samples or _ms_since(start) < length_ms:
            samples.append(self.timed_run())
        return samples

    def write_outputs(self, directory):
        for index, output in enumerate(self.peer.outputs()):
            array = np.asarray(output)
            bits = array.view(np.uint16) if array.dtype.name == "bfloat16" else array
            np.save(os.path.join(directory, f"out{index}.npy"), bits)
        return {}


def _complete(phases, compiled_ms, first_ms, second_ms):
    """Adds what the peer did not tell apart, so that the phases' sum is the first run.

    Peers that compile when they are first called do so in the first run: what it takes above the second one.
    """
    phases = dict(phases)
    in_first_run = max(0.0, first_ms - compiled_ms - second_ms)
    phases["compile"] = phases.get("compile", 0.0) + compiled_ms - sum(phases.values()) + in_first_run
    phases["execute"] = first_ms - compiled_ms - in_first_run
    return phases


def _error(kind, error):
    return {"error": {"kind": kind, "message": f"{type(error).__name__}: {error}"}}


def _ms_since(start):
    return 1e3 * (time.perf_counter() - start)


def _write(file, answer):
    file.write(json.dumps(answer) + "\n")
    file.flush()
