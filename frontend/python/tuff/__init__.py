"""tuff for Python: models on any Vulkan GPU and on the CPU (`load`, `devices`), and bundles made from JAX functions
(`export`, `Seeded`).

Importing this package imports neither JAX nor libtuff; what needs them does, when it is called.
"""
from .export import export
from .library import Error
from .runtime import Buffer, Context, Device, DeviceInfo, Program, devices, load
from .seeded import Seeded, seeded_integers

__all__ = ["Buffer", "Context", "Device", "DeviceInfo", "Error", "Program", "Seeded", "devices", "export", "load",
           "seeded_integers"]
