"""Takes its time in every burst, so that a test can interrupt it there."""
from peers._fake import serve

serve(run_ms=300.0)
