"""The layouts that abi_*.h declare, against pypjrt's independent table: `python layout_test.py PLUGIN`. 77: no pypjrt.

Newer versions of the API append fields, so a struct of ours may be shorter than the table's, never longer.
"""
import ctypes
import pathlib
import re
import sys

try:
    from pypjrt._abi import pjrt_0_114 as table
except ImportError:
    print("skipped: this Python has no pypjrt; pip install pypjrt and set TUFF_JAX_PYTHON")
    sys.exit(77)

PJRT = pathlib.Path(__file__).resolve().parents[2] / "frontend" / "pjrt" / "abi"
LAYOUT = re.compile(r"TUFF_PJRT_LAYOUT\((\w+),\s*(\w+),\s*(\d+),\s*(\d+)\)")
NAMES = {"NamedValue": "PJRT_NamedValue", "ProgramText": "PJRT_Program", "ExecuteOptions": "PJRT_ExecuteOptions",
         "ApiVersion": "PJRT_Api_Version", "MemoryLayout": "PJRT_Buffer_MemoryLayout"}


def declared():
    for header in ("abi_types.h", "abi_client.h", "abi_execute.h"):
        for match in LAYOUT.finditer((PJRT / header).read_text()):
            name, field, offset, size = match.groups()
            if offset.isdigit():
                yield name, field, int(offset), int(size)


def main():
    checked, wrong = 0, []
    for name, field, offset, size in declared():
        struct = getattr(table, NAMES.get(name, f"PJRT_{name}"), None)
        if struct is None:
            if name.endswith("_Args"):
                wrong.append(f"{name} is not in the table")
            continue
        checked += 1
        theirs = getattr(struct, "_OFFSETS", None) or {f[0]: getattr(struct, f[0]).offset for f in struct._fields_}
        ours = [o for f, o in theirs.items() if f.removesuffix("_") == field]
        if ours and ours[0] != offset:
            wrong.append(f"{name}.{field} lies at {offset}, not at {ours[0]}")
        if not ours and offset not in theirs.values():
            wrong.append(f"{name} has no field at {offset} ({field})")
        if ctypes.sizeof(struct) < size:
            wrong.append(f"{name} has {size} bytes, not {ctypes.sizeof(struct)}")
    slots = re.findall(r"^TUFF_PJRT_SLOT\((\w+)\)", (PJRT / "slots.def").read_text(), re.M)
    order = [f[0] for f in table.PJRT_Api._fields_ if f[0].startswith("PJRT_")]
    wrong += [f"slot {i} is {ours}, not {theirs}" for i, (ours, theirs) in enumerate(zip(slots, order))
              if f"PJRT_{ours}" != theirs]
    print(f"{checked} structs, {len(slots)} slots checked")
    print("\n".join(wrong))
    return 1 if wrong or checked < 60 or len(order) < len(slots) else 0


if __name__ == "__main__":
    sys.exit(main())
