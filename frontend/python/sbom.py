"""The bill of materials of a packaged tuff, as SPDX 2.3 in JSON: `python sbom.py BUILD PREFIX > tuff.spdx.json`.

PREFIX is what `cmake --install BUILD` made, the component `bundled` included: every file of it is listed with its hash.
BUILD tells what went into the binaries: libraries beside them, static libraries and headers. Debian's package database
names the package and version of each; elsewhere they are listed by their files' names alone. The licences of what is
carried along go to the folder of --licenses. Standard library only.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from source_date import source_date

OURS = ("tuff", "libtuff.so", "libpjrt_tuff.so")
NONE = "NOASSERTION"


def told(*command):
    """What a command prints; nothing where it is not there or says no."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


class Debian:
    """The packages of this system's files. dpkg knows some files by /lib, some by /usr/lib."""

    def __init__(self, paths):
        names = {path: [os.path.realpath(path), os.path.realpath(path).removeprefix("/usr"), path] for path in paths}
        owners = {}
        for line in told("dpkg-query", "-S", *sorted({name for all in names.values() for name in all})).splitlines():
            package, _, name = line.partition(": ")
            owners[name] = package.split(",")[0].split(":")[0]
        self.owners = {path: next((owners[name] for name in all if name in owners), None) for path, all in names.items()}
        packages = sorted({owner for owner in self.owners.values() if owner})
        lines = told("dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages).splitlines() if packages else []
        self.versions = dict(line.split() for line in lines)

    def package_of(self, path):
        """(name, version) or None."""
        owner = self.owners[path]
        return (owner, self.versions[owner]) if owner else None


class Build:
    """What a build folder knows of its binaries."""

    def __init__(self, folder):
        self.folder = folder
        cache = (folder / "CMakeCache.txt").read_text()
        self.version = re.search(r"^CMAKE_PROJECT_VERSION:\w+=(.*)$", cache, re.M)[1]

    def libraries(self):
        """{soname: path} of all that tuff's binaries load, and the Vulkan loader, which they open."""
        found = {}
        for name in OURS:
            for line in told("ldd", str(self.folder / name)).splitlines():
                match = re.match(r"\s*(\S+) => (/\S+)", line)
                if match and not match[1].startswith(("libtuff", "libc.", "libm.", "libstdc++", "libgcc_s", "ld-linux")):
                    found[match[1]] = match[2]
        for line in told("/sbin/ldconfig", "-p").splitlines():
            if line.strip().startswith("libvulkan.so.1 "):
                found.setdefault("libvulkan.so.1", line.rpartition(" ")[2])
        return found

    def static_libraries(self):
        ninja = self.folder / "build.ninja"
        text = ninja.read_text() if ninja.exists() else ""
        rules = [rule for rule in text.split("\nbuild ") if rule.partition(":")[0].split("|")[0].strip().startswith(OURS)]
        words = [word for rule in rules for word in rule.split() if word.endswith(".a") and word.startswith("/")]
        return sorted(word for word in set(words) if not word.startswith(str(self.folder)))

    def headers(self):
        """Of other packages, in what is not a test. ninja has them of each object that it built."""
        found, is_ours = set(), False
        for line in told("ninja", "-C", str(self.folder), "-t", "deps").splitlines():
            if not line.startswith(" "):
                is_ours = not line.startswith("tests/")
            elif is_ours and line.strip().startswith("/usr/"):
                found.add(line.strip())
        return sorted(found)


def identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


class Bill:
    def __init__(self, version, debian):
        self.debian, self.packages, self.files, self.relations = debian, {}, [], []
        self.tuff = self.add("tuff", version, "Apache-2.0")

    def add(self, name, version, license=NONE, is_debian=False):
        id = identifier("Package", name)
        package = {"SPDXID": id, "name": name, "versionInfo": version or NONE, "downloadLocation": NONE,
                   "filesAnalyzed": False, "licenseConcluded": license, "licenseDeclared": license, "copyrightText": NONE}
        if is_debian:
            locator = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}"
            package["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                        "referenceLocator": locator}]
        self.packages.setdefault(id, package)
        return id

    def add_origin(self, path):
        """The package that a file of the system came from."""
        origin = self.debian.package_of(path)
        return self.add(*origin, is_debian=True) if origin else self.add(pathlib.Path(path).name, NONE)

    def relate(self, one, kind, other):
        relation = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        if relation not in self.relations:
            self.relations.append(relation)

    def add_file(self, prefix, path, origin):
        name = path.relative_to(prefix).as_posix()
        data = path.read_bytes()
        id = identifier("File", name)
        self.files.append({"SPDXID": id, "fileName": "./" + name, "licenseConcluded": NONE, "licenseInfoInFiles": [NONE],
                           "copyrightText": NONE,
                           "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                                         {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}]})
        self.relate(self.tuff, "CONTAINS", id)
        if origin:
            self.relate(id, "GENERATED_FROM", origin)

    def document(self, seconds):
        sums = sorted(file["checksums"][0]["checksumValue"] for file in self.files)
        code = {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()}
        self.packages[self.tuff].update(filesAnalyzed=True, packageVerificationCode=code, licenseInfoFromFiles=[NONE])
        parts = {"packages": [self.packages[id] for id in sorted(self.packages)], "files": self.files,
                 "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                                    "relatedSpdxElement": self.tuff}, *self.relations]}
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        name = f"tuff-{self.packages[self.tuff]['versionInfo']}"
        created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
                "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest}",
                "creationInfo": {"created": created, "creators": ["Tool: tuff frontend/python/sbom.py"]}, **parts}


def bill_of(build, prefix):
    libraries, statics, headers = build.libraries(), build.static_libraries(), build.headers()
    bill = Bill(build.version, Debian([*libraries.values(), *statics, *headers]))
    for path in sorted(prefix.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        # A library goes under its own file's name or its soname.
        carried = next((library for soname, library in sorted(libraries.items())
                        if path.name in (soname, pathlib.Path(os.path.realpath(library)).name)), None)
        origin = bill.add_origin(carried) if carried else None
        if origin:
            bill.relate(bill.tuff, "DYNAMIC_LINK", origin)
        bill.add_file(prefix, path, origin)
    for path in statics:
        bill.relate(bill.tuff, "STATIC_LINK", bill.add_origin(path))
    for path in headers:
        bill.relate(bill.add_origin(path), "BUILD_DEPENDENCY_OF", bill.tuff)
    return bill


def copy_licenses(bill, folder):
    """What Debian says of the licence of each package that is in the binaries or beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    inside = {relation["relatedSpdxElement"] for relation in bill.relations if relation["relationshipType"].endswith("_LINK")}
    inside |= {relation["spdxElementId"] for relation in bill.relations
               if relation["relationshipType"] == "BUILD_DEPENDENCY_OF"}
    for id in sorted(inside):
        name = bill.packages[id]["name"]
        copyright = pathlib.Path("/usr/share/doc") / name / "copyright"
        if copyright.is_file():
            shutil.copyfile(copyright, folder / name)
            bill.packages[id]["licenseComments"] = f"licenses/{name} beside this bill"


def main():
    parser = argparse.ArgumentParser(description="The bill of materials of a packaged tuff, as SPDX 2.3 in JSON.")
    parser.add_argument("build", type=pathlib.Path, help="the build folder")
    parser.add_argument("prefix", type=pathlib.Path, help="what was installed of it")
    parser.add_argument("--licenses", type=pathlib.Path, help="a folder for the licences of what is carried along")
    options = parser.parse_args()
    if not (options.build / "CMakeCache.txt").is_file():
        sys.exit(f"{options.build} is no build folder: it has no CMakeCache.txt.")
    if not options.prefix.is_dir():
        sys.exit(f"{options.prefix} is no folder; cmake --install {options.build} --prefix {options.prefix} makes it.")
    bill = bill_of(Build(options.build.resolve()), options.prefix)
    if options.licenses:
        copy_licenses(bill, options.licenses)
    json.dump(bill.document(source_date()), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
