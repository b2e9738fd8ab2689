"""BERT's uncased WordPiece tokenizer, small: text -> token ids. Needs vocab.txt of the model only.

`python wordpiece.py VOCAB.txt "A sentence." ["Another." ...] [--seq N] --out DIR` writes DIR/input_ids.npy and
DIR/attention_mask.npy, i32 [sentences, N], the inputs of the module in this folder (N is at least the longest).
Without --out it prints the ids.
"""
import argparse
import pathlib
import sys
import unicodedata

PAD, UNKNOWN, START, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
LONGEST_WORD = 100  # longer words are unknown, as in BERT


def load_vocab(path):
    """{piece: id} from a vocab.txt, one piece a line."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    return {piece: i for i, piece in enumerate(lines) if piece}


def tokenize(text, vocab):
    """The ids of one sentence, with [CLS] and [SEP]."""
    pieces = [piece for word in split_words(text) for piece in split_pieces(word, vocab)]
    return [vocab[piece] for piece in [START, *pieces, END]]


def split_words(text):
    """Lower-cased words without accents; each punctuation mark and each Chinese character is a word of its own."""
    text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    spaced = []
    for c in text:
        if c in "\0\ufffd" or (unicodedata.category(c)[0] == "C" and c not in "\t\n\r"):
            continue
        spaced.append(f" {c} " if _is_punctuation(c) or _is_chinese(c) else c)
    return "".join(spaced).split()


def split_pieces(word, vocab):
    """Greedy longest-match pieces; continuations begin with ##. A word that does not come out is [UNK]."""
    if len(word) > LONGEST_WORD:
        return [UNKNOWN]
    pieces, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        end = next((e for e in range(len(word), start, -1) if prefix + word[start:e] in vocab), None)
        if end is None:
            return [UNKNOWN]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


def pad(rows, length):
    """Lists of ids -> input_ids, attention_mask, both i32 [len(rows), length]. Raises ValueError for a longer row."""
    import numpy as np
    if max(map(len, rows)) > length:
        raise ValueError(f"A sentence has {max(map(len, rows))} tokens, more than the sequence length ({length}).")
    ids, mask = np.zeros((2, len(rows), length), np.int32)
    for i, row in enumerate(rows):
        ids[i, :len(row)], mask[i, :len(row)] = row, 1
    return ids, mask


def save_inputs(rows, length, directory):
    """Writes input_ids.npy and attention_mask.npy for lists of ids into `directory`, which is made if missing."""
    import numpy as np
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for name, array in zip(("input_ids", "attention_mask"), pad(rows, length)):
        np.save(directory / f"{name}.npy", array)


def _is_punctuation(c):
    ascii_symbol = c.isascii() and c.isprintable() and not c.isalnum() and c != " "
    return ascii_symbol or unicodedata.category(c).startswith("P")


def _is_chinese(c):
    return any(a <= ord(c) <= b for a, b in ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF),
                                             (0x2A700, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)))


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocab")
    parser.add_argument("sentences", nargs="+")
    parser.add_argument("--seq", type=int, help="pad to this many tokens; default: the longest sentence")
    parser.add_argument("--out")
    options = parser.parse_args(argv)
    vocab = load_vocab(options.vocab)
    rows = [tokenize(sentence, vocab) for sentence in options.sentences]
    if options.out:
        save_inputs(rows, options.seq or max(map(len, rows)), options.out)
    for row in rows if not options.out else ():
        print(*row)


if __name__ == "__main__":
    main(sys.argv[1:])
