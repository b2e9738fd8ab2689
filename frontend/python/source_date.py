"""The time that packages tell: packages of the same sources are the same bytes."""
import os
import pathlib
import subprocess


def source_date():
    """Seconds since 1970: SOURCE_DATE_EPOCH, else of the last change that git knows of this folder's checkout, else None."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if not told:
        try:
            told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=pathlib.Path(__file__).resolve().parent,
                                  capture_output=True, text=True, check=False).stdout.strip()
        except FileNotFoundError:
            return None
    return int(told) if told else None
