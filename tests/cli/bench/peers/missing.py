"""Its package is not installed."""
from peers._fake import say

say({"error": {"kind": "missing", "message": "ModuleNotFoundError: No module named 'missing'"}})
