"""IREE on Vulkan."""
from protocol import serve
from protocol.iree import Iree


def make():
    return Iree("vulkan", ["--iree-hal-target-device=vulkan"])


if __name__ == "__main__":
    serve(make)
