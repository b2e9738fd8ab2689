"""Never comes back from a burst."""
import time

from peers._fake import serve

serve(hooks={"burst": lambda: time.sleep(3600)})
