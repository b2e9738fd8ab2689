"""Checks that includes go one way between rooms: `python3 check_includes.py SOURCE_ROOT`. Standard library only.

frontend -> backend -> shaders -> ir -> ir/support; vulkan/ and cpu/ never see each other; only backend/vulkan includes
Vulkan's or shaderc's headers; the evaluator is an oracle, so no kernel or device includes it.
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
}
FORBIDDEN = {
    "ir": ["ir/evaluate/"],
    "shaders": ["ir/evaluate/"],
    "backend": ["backend/vulkan/", "backend/cpu/"],
    "backend/vulkan": ["backend/cpu/", "ir/evaluate/"],
    "backend/cpu": ["backend/vulkan/", "ir/evaluate/"],
}
# May break a rule: the evaluator's own folder, and the compiler, which folds constants with it.
EXEMPT = {("ir", "ir/evaluate/"): "ir/evaluate/"}
FOREIGN = {"vulkan/": "backend/vulkan", "shaderc/": "backend/vulkan", "spirv-tools/": "backend/vulkan",
           "dnnl": "backend/cpu", "oneapi/": "backend/cpu"}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def room_of(path):
    """The longest room that a source path lies in, or None."""
    return max((r for r in ALLOWED if path.startswith(r + "/")), key=len, default=None)


def problems(root):
    """One sentence per include that goes the wrong way."""
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
