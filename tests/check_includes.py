"""Checks that includes go one way between rooms: `python3 check_includes.py SOURCE_ROOT`. Standard library only.

frontend -> backend -> shaders -> ir -> ir/support; vulkan/ and cpu/ never see each other; only backend/vulkan includes
Vulkan's or shaderc's headers; the evaluator is an oracle, so no kernel or device includes it. In frontend/ the ways
in stand on session/, which alone sees readers and the two devices; a reader (a folder that readers.def names) sees
ir/, files, JSON and what session/ says a reader is; only frontend/onnx includes protobuf's headers.
"""
import pathlib
import re
import sys

# room: prefixes of tuff's own headers it may include. The longest matching room counts.
ALLOWED = {
    "ir/support": ["ir/support/"],
    "ir": ["ir/"],
    "shaders": ["shaders/", "ir/"],
    "backend": ["backend/", "shaders/", "ir/"],
    "backend/vulkan": ["backend/", "shaders/", "ir/"],
    "backend/cpu": ["backend/", "shaders/", "ir/"],
    "frontend": ["frontend/", "backend/", "shaders/", "ir/"],
    "frontend/session": ["frontend/session/", "frontend/weights/", "backend/", "ir/"],
    "frontend/weights": ["frontend/weights/", "ir/"],
}
FORBIDDEN = {
    "ir": ["ir/evaluate/"],
    "shaders": ["ir/evaluate/"],
    "backend": ["backend/vulkan/", "backend/cpu/"],
    "backend/vulkan": ["backend/cpu/", "ir/evaluate/"],
    "backend/cpu": ["backend/vulkan/", "ir/evaluate/"],
    "frontend": ["backend/vulkan/", "backend/cpu/"],
}
READER = re.compile(r"^TUFF_READER\((\w+),", re.MULTILINE)
# May break a rule: the evaluator's own folder, and the compiler, which folds constants with it.
EXEMPT = {("ir", "ir/evaluate/"): "ir/evaluate/"}
FOREIGN = {"vulkan/": "backend/vulkan", "shaderc/": "backend/vulkan", "spirv-tools/": "backend/vulkan",
           "dnnl": "backend/cpu", "oneapi/": "backend/cpu", "google/protobuf/": "frontend/onnx"}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def add_readers(root):
    """Rooms for the folders that readers.def names: the session includes them, nothing else does."""
    rows = (root / "frontend/session/readers.def").read_text(encoding="utf-8")
    for reader in (f"frontend/{name}" for name in sorted(set(READER.findall(rows))) if (root / "frontend" / name).is_dir()):
        ALLOWED[reader] = [f"{reader}/", "frontend/session/reader.h", "frontend/weights/file.h",
                           "frontend/weights/json.h", "ir/"]
        ALLOWED["frontend/session"].append(f"{reader}/")
        FORBIDDEN["frontend"].append(f"{reader}/")


def room_of(path):
    """The longest room that a source path lies in, or None."""
    return max((r for r in ALLOWED if path.startswith(r + "/")), key=len, default=None)


def problems(root):
    """One sentence per include that goes the wrong way."""
    add_readers(root)
    for file in sorted(p for room in ("ir", "shaders", "backend", "frontend") for p in (root / room).rglob("*.*")):
        if file.suffix not in (".h", ".cpp"):
            continue
        path = file.relative_to(root).as_posix()
        room = room_of(path)
        for kind, header in INCLUDE.findall(file.read_text(encoding="utf-8")):
            if kind == '"' and "/" in header and not any(header.startswith(p) for p in ALLOWED[room]):
                yield f"{path} includes {header}: {room} may include only {', '.join(ALLOWED[room])}"
            for prefix in FORBIDDEN.get(room, []):
                if header.startswith(prefix) and not path.startswith(EXEMPT.get((room, prefix), "\0")):
                    yield f"{path} includes {header}: {room} may not see {prefix}"
            for prefix, home in FOREIGN.items():
                if header.startswith(prefix) and kind == "<" and not path.startswith(home + "/"):
                    yield f"{path} includes <{header}>: only {home} may"


def main(argv):
    found = list(problems(pathlib.Path(argv[0])))
    print("\n".join(found) if found else "includes go one way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
