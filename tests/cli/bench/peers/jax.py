"""Has the name of the peer that published ratios refer to."""
from peers._fake import serve

serve()
