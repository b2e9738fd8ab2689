"""Its numbers are wrong."""
from peers._fake import serve

serve(off=0.01)
