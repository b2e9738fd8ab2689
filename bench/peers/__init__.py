"""One file per peer: `python -m peers.NAME` speaks the protocol of README.md. A new file here is a new peer."""
