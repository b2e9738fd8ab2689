"""What tests that build and run programs share: a command that must succeed, and a condition that must hold."""
import subprocess
import sys


def run(*command, **how):
    """What the command prints; where it fails, the test ends with all that it said."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **how)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(condition, text):
    if not condition:
        sys.exit(f"Not as it should be: {text}")
