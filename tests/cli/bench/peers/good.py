"""Does everything right."""
from peers._fake import serve

serve()
