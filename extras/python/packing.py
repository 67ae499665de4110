#!/usr/bin/env python3
"""Packs wheels, and the sources for pip, which builds a wheel of them through this file (PEP 517):

  extras/python/packing.py wheel FOLDER PLATFORM LIBRARY PROGRAM...
  extras/python/packing.py sources FOLDER

LIBRARY is libtril.so.VERSION, libtril.dylib or tril.dll. PLATFORM is `here`, or one or more with dots between them. A
wheel also has the header, the module and, if it is built, the page for a browser tab. The same files give the same
bytes. Prints the name of what it wrote.
"""
import ast
import base64
import contextlib
import gzip
import hashlib
import io
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODULE, HEADER, PAGE = "extras/python/tril", "library/tril.h", "extras/web/tril.html"
NAME, FILE = "tril-gpt", "tril_gpt"  # tril on PyPI is another project; the module is tril all the same
VERSION = re.search('TRIL_VERSION "(.*)"', (ROOT / HEADER).read_text())[1]
THIS_MACHINE = re.sub(r"\W", "_", sysconfig.get_platform())
METADATA = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: Trains character-level GPTs on the CPU, and writes text with them
License: MIT
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{ast.get_docstring(ast.parse((ROOT / MODULE / "__init__.py").read_text(encoding="utf-8")))}
"""
WHEEL = """Wheel-Version: 1.0
Generator: tril
Root-Is-Purelib: false
"""
SCRIPTS = """[console_scripts]
tril = tril.__main__:main
"""
LEFT_OUT = re.compile(r"\.|docs/|tests/|extras/(bench/|web/|\w+/tests/)")  # of the committed files, not needed to build


def module():
    """The paths of the files that wheels and source archives share."""
    parts = sorted(str(path.relative_to(ROOT)) for path in (ROOT / MODULE).iterdir() if path.is_file())
    return [*parts, HEADER, *[PAGE] * (ROOT / PAGE).exists()]


def wheel(folder, platform, *compiled):
    platform = THIS_MACHINE if platform == "here" else platform
    tag, info = f"py3-none-{platform}", f"{FILE}-{VERSION}.dist-info"
    files = {"tril/" + pathlib.Path(path).name: (ROOT / path).read_bytes() for path in module()}
    exe = ".exe" * platform.startswith("win")
    names = [re.sub(r"(so\.\d+).*", r"\1", path.name) if path.suffix else path.name + exe for path in map(pathlib.Path, compiled)]
    own = {f"tril/{name}": pathlib.Path(path).read_bytes() for name, path in zip(names, compiled)}
    files.update(own)
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/METADATA"] = METADATA.encode()
    files[f"{info}/WHEEL"] = (WHEEL + "".join(f"Tag: py3-none-{one}\n" for one in platform.split("."))).encode()
    files[f"{info}/entry_points.txt"] = SCRIPTS.encode()
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    path = pathlib.Path(folder) / f"{FILE}-{VERSION}-{tag}.whl"
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980, always
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name in own else 0o100644) << 16
            archive.writestr(entry, data)
    return path


@contextlib.contextmanager
def replacing(path):
    """Yields a new file that replaces the one at the path, or a link there, once it is complete."""
    with tempfile.TemporaryDirectory(dir=path.parent) as there:
        new = pathlib.Path(there) / path.name
        with new.open("wb") as file:
            yield file
        new.replace(path)


def digest(data):
    """The SHA-256 of `data`, as the RECORD of a wheel writes it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def sources(folder):
    name = f"{FILE}-{VERSION}"
    paths = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    files = {"PKG-INFO": METADATA.encode()}
    for path in sorted({*itertools.filterfalse(LEFT_OUT.match, paths), *module()}):
        files[path] = (ROOT / path).read_bytes()
    path = pathlib.Path(folder) / f"{name}.tar.gz"
    with replacing(path) as file, gzip.GzipFile(path.name, "wb", fileobj=file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w") as archive:
        for inside, data in files.items():
            entry = tarfile.TarInfo(f"{name}/{inside}")  # of 1970, always
            entry.size = len(data)
            entry.mode = 0o755 if data.startswith(b"#!") else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return path


# ---- called by pip ----


def build_wheel(folder, config_settings=None, metadata_directory=None):
    """Compiles with the C compiler of this machine, or that in the variable CC, and its flags in CFLAGS."""
    given = [f"{name}={os.environ[name]}" for name in ("CC", "CFLAGS") if name in os.environ]
    with tempfile.TemporaryDirectory() as there:
        command = ["make", "--silent", "wheel-parts", f"BUILD={there}", *given]
        if not shutil.which("make") or subprocess.run(command, cwd=ROOT).returncode != 0:
            sys.exit("make and a C compiler build tril; set CC to gcc or clang")
        return wheel(folder, "here", *(pathlib.Path(there) / "parts").read_text().split()).name


def build_sdist(folder, config_settings=None):
    return sources(folder).name


if __name__ == "__main__":
    print({"wheel": wheel, "sources": sources}[sys.argv[1]](*sys.argv[2:]))
