"""Which of JAX's tests are left out of the count, and why.

A test is left out only if it does not pass, and only for what its error message, or the parameters in its
description, say it needs; never for its name. Crashes and hangs are never left out.
"""
import re

_ELEMENT_TYPE = r"The element type \((?:%s)\)"

# reason: what the message says.
MESSAGES = {
    "f64": r"\bfloat64\b.*not available|double precision",
    "4-bit integers, 8-bit floats": r"\bu?int[24]\b|float[468]_e|<[^<>]*f[468]E\d|" + _ELEMENT_TYPE % (
        "1[6-9]|2[0-9]|3[0-3]"),
    "partitioned callbacks": r"Partitioned callbacks are not implemented",
    "several processes or devices": r"multi-?process|more than one device|replicas and partitions must be 1",
}
_PATTERNS = {reason: re.compile(pattern) for reason, pattern in MESSAGES.items()}


def reason_of(name, result):
    """Why the test is left out of the count, or None."""
    if result["outcome"] not in ("failed", "error"):
        return None
    text = name.partition("(")[2] + "\n" + result["error"]
    for reason, pattern in _PATTERNS.items():
        if pattern.search(text):
            return reason
    return None
