"""The time that packages tell, printed: packages of the same sources are the same bytes."""
import os
import pathlib
import subprocess
import time


def source_date():
    """Seconds since 1970: SOURCE_DATE_EPOCH, else of the last change that git knows of this folder's checkout, else now."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if not told:
        try:
            told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=pathlib.Path(__file__).resolve().parent,
                                  capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:
            pass
    return int(told or time.time())


if __name__ == "__main__":
    print(source_date())
