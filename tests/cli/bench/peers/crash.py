"""Dies in its first run, with something to say."""
import os
import signal
import sys

from peers._fake import serve


def die():
    sys.stderr.write("the reason for the crash\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGSEGV)


serve(hooks={"first": die})
