"""Which of JAX's tests are left out of the count, and why.

A test is left out only if it does not pass, and only for what its error message, or the parameters in its
description, say it needs; never for its name. Crashes and hangs are never left out.
"""
import re

# reason: what the message says.
MESSAGES = {
    "f64": r"\bfloat64\b.*not available|double precision",
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
