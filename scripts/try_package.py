"""Build the package, and try the wheel as users will install it: from a local index, without a clone.

    python scripts/try_package.py FOLDER [--quick] [--only-this-python]

FOLDER gets `dist/` (the sdist and the wheel), `index/` (a folder of wheels: the local index) and temporary
environments. Each attempt prints a line. Status 0: all attempts succeeded; 1: at least one failed.

`--quick`, which .ci/run calls, builds both files and checks them (`twine check --strict`, and the files in them). It
installs the wheel with the oldest and the newest Python of this machine, and runs the commands of README.md and
docs/install.md in an empty folder with copies of the models that the commands name. Dependencies come from the package
registry. They are also resolved for the newest Python that pyproject.toml names, on Linux, macOS and Windows.

Without `--quick` (half an hour) the script tries every Python of this machine, every extra, pipx, `uv tool install` and
uvx, all from the local index with the registry switched off. It resolves each extra for the other systems, and builds
the container if there is a Docker daemon.

`--only-this-python` tries no other Python than the one that runs this script, and resolves nothing for other systems.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import release_facts

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOWEST = (3, 11)
WINDOWS = os.name == "nt"
PROGRAMS = "Scripts" if WINDOWS else "bin"
SECONDS = 900
"""The seconds after which a command is stopped."""
PAGES = ("README.md", "docs/install.md")
"""The pages whose commands are run."""
PACKAGES = {"graphfix", "rewrites"}
"""The top of the wheel."""
ALONE = {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
"""The variables with which pip uses no other folder of wheels than the one on its command line."""
PLATFORMS = {"Linux": "x86_64-manylinux_2_28", "macOS": "aarch64-apple-darwin", "Windows": "x86_64-pc-windows-msvc"}
"""The names that uv gives to the systems for which dependencies are resolved."""
MACOS = {"tosa": "15.0"}
"""The oldest macOS that an extra has wheels for, because of tosa-tools; all else needs 14.0, because of onnxruntime."""


class FailedError(Exception):
    """An attempt failed, with the reason."""


@dataclass
class Attempts:
    """The attempts of one run; each is printed when it ends."""

    failed: int = 0
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def attempt(self, name: str, *steps: object) -> bool:
        """Call functions without arguments one after the other, and print a line; return whether none failed."""
        before, fault, notes = time.monotonic(), "", []
        try:
            notes = [note for step in steps if callable(step) and (note := step())]
        except FailedError as error:
            fault = f"\n    {error}"
        self.done += 1
        self.failed += bool(fault)
        said = "".join(f"; {note}" for note in notes)
        print(f"{'FAULT' if fault else 'ok':5}  {time.monotonic() - before:5.1f} s  {name}{said}{fault}", flush=True)
        return not fault


def run(*command: object, where: Path = ROOT, statuses: Sequence[int] = (0,), **variables: str) -> str:
    """Run a command, and return what it prints. Raises FailedError if its status is another one than expected."""
    words = [str(word) for word in command]
    clean = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    }
    # without compiling: a package is compiled when it is imported, and most of what is installed never is
    environment = {**clean, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_COMPILE": "1", **variables}
    try:
        ended = subprocess.run(
            words, cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FailedError(f"{shlex.join(words)}: no answer after {SECONDS} s") from None
    if ended.returncode not in statuses:
        last = "".join(f"\n    {line}" for line in ended.stdout.strip().splitlines()[-12:])
        raise FailedError(f"{shlex.join(words)}: status {ended.returncode}{last}")
    return ended.stdout


# --- what is tried ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Package:
    """The folder of a run, and what was built there."""

    folder: Path

    @property
    def dist(self) -> Path:
        """The folder of the sdist and the wheel."""
        return self.folder / "dist"

    @property
    def index(self) -> Path:
        """The local index: a folder of wheels."""
        return self.folder / "index"

    def tool(self, name: str) -> Path:
        """Return a program of the environment of tools."""
        return self.folder / "tools" / PROGRAMS / name

    def built(self, ending: str) -> Path:
        """Return the file that was built. Raises FailedError if there is not exactly one."""
        found = list(self.dist.glob(f"graphfix-*{ending}"))
        if len(found) != 1:
            raise FailedError(f"{self.dist}: {len(found)} files *{ending}, not one")
        return found[0]


def build(package: Package, tools: Sequence[str]) -> None:
    """Make the environment of tools, and build the sdist, and the wheel from it."""
    shutil.rmtree(package.dist, ignore_errors=True)
    run(sys.executable, "-m", "venv", package.folder / "tools")
    run(package.tool("python"), "-m", "pip", "install", "--quiet", *tools)
    run(package.tool("python"), "-m", "build", "--outdir", package.dist, ROOT)
    run(package.tool("twine"), "check", "--strict", package.built(".tar.gz"), package.built(".whl"))


def contents(package: Package) -> str:
    """Compare the files of the wheel and of the sdist with those that belong there; return their sizes."""
    wheel, sdist = package.built(".whl"), package.built(".tar.gz")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    tops = {name.partition("/")[0] for name in names} - {f"graphfix-{release_facts.version()}.dist-info"}
    with tarfile.open(sdist) as archive:
        stored = {name.partition("/")[2] for name in archive.getnames()}
    modules = {path.relative_to(ROOT).as_posix() for top in PACKAGES for path in (ROOT / top).rglob("*.py")}
    wanted = {*modules, *(f"tests/{name}" for name in ("__init__.py", "constraints.txt", "conftest.py"))}
    faults = [
        *([f"the top of the wheel is {sorted(tops)}"] if tops != PACKAGES else []),
        *(f"the wheel lacks {name}" for name in sorted(modules - set(names))),
        *(f"the sdist lacks {name}" for name in sorted((wanted | {".ci/run", "LICENSE", "action.yml"}) - stored)),
        *(
            f"the sdist contains {name}"
            for name in sorted(stored)
            if name.startswith("models/zoo/") or "__pycache__" in name
        ),
    ]
    if faults:
        raise FailedError("; ".join(faults))
    return f"wheel {wheel.stat().st_size / 1e6:.1f} MB, sdist {sdist.stat().st_size / 1e6:.1f} MB"


def pythons() -> dict[str, str]:
    """Return the Pythons of this machine that graphfix supports, by version, the oldest first."""
    found: dict[tuple[int, int], str] = {sys.version_info[:2]: sys.executable}
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [*(f"python3.{minor}" for minor in range(11, 21)), *sorted(map(str, kept.glob("*/bin/python3")))]
    for candidate in candidates:
        asked = "import ensurepip, sys, venv; print(*sys.version_info[:2], sys.executable)"
        try:
            major, minor, path = run(candidate, "-c", asked).split(maxsplit=2)
        except (FailedError, OSError):
            continue
        found.setdefault((int(major), int(minor)), path.strip())
    return {f"{major}.{minor}": path for (major, minor), path in sorted(found.items()) if (major, minor) >= LOWEST}


def newest_named() -> str:
    """Return the newest version of Python that the classifiers of pyproject.toml name."""
    versions = [re.findall(r"Python :: 3\.(\d+)$", each) for each in PROJECT["classifiers"]]
    return f"3.{max(int(minor) for found in versions for minor in found)}"


# --- the commands of the pages ----------------------------------------------------------------------------------------


def commands(page: str) -> Iterator[tuple[str, str, int]]:
    """Yield the Python and the commands of a page that need neither a clone nor fetched models: kind, text, status."""
    for language, body in re.findall(r"^```(console|python|sh)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if language == "python":
            if "models/" not in body:
                yield "python", body, 0
        elif language == "console":
            for command, after in re.findall(r"^\$ (graphfix .*)\n((?:(?!\$ graphfix).*\n)*)", body, re.MULTILINE):
                status = re.search(r"^\$ echo \$\?\n(\d+)$", after, re.MULTILINE)
                yield "graphfix", command, int(status[1]) if status else 0
        else:
            for part in re.split(r" && |\n", body):
                if part.startswith("graphfix ") and not re.search(r"models/zoo|graphfix tosa", part):
                    yield "graphfix", part, 0


def follow(programs: Path, folder: Path) -> str:
    """Run the commands of the pages in an empty folder with copies of the models that they name."""
    folder.mkdir(parents=True)
    done = 0
    for name in PAGES:
        page = (ROOT / name).read_text(encoding="utf-8")
        for kind, text, status in commands(page):
            for model in re.findall(r"models/[\w./-]+\.(?:onnx|tflite)", text):
                (folder / model).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / model, folder / model)
            words = ["-I", "-c", text] if kind == "python" else shlex.split(text, comments=True)[1:]
            printed = run(programs / kind, *words, where=folder, statuses=(status,))
            if "Traceback" in printed or "internal error" in printed:
                raise FailedError(f"{text}: {printed.strip().splitlines()[-1]}")
            done += 1
    if done < len(PAGES) * 4:
        raise FailedError(f"{done} commands were found in {', '.join(PAGES)}: too few")
    return f"{done} commands of {' and '.join(PAGES)}"


def is_the_installed_one(environment: Path) -> None:
    """Check that the package is imported from the environment, and has the version that was built."""
    program = "import graphfix; print(graphfix.__version__, graphfix.__file__)"
    printed = run(environment / PROGRAMS / "python", "-I", "-c", program, where=environment)
    version, path = printed.strip().split(" ", 1)
    if version != release_facts.version() or not Path(path).resolve().is_relative_to(environment.resolve()):
        raise FailedError(f"imported: version {version} of {path}")


def use_extra(extra: str, environment: Path, folder: Path) -> str:
    """Use what an extra adds."""
    programs = environment / PROGRAMS
    (folder / "models").mkdir(parents=True, exist_ok=True)
    for name in ("matmul.onnx", "rfc_rank_expansion.onnx", "rfc_rank_expansion.tflite"):
        shutil.copy(ROOT / "models" / name, folder / "models" / name)
    run(programs / "python", "-m", "pip", "check")
    run(programs / "graphfix", "doctor", where=folder)
    if extra == "tosa":
        run(
            programs / "graphfix", *"tosa models/matmul.onnx -o matmul.tosa --bind-defaults --run".split(), where=folder
        )
        return "graphfix tosa --run"
    if extra == "batch":
        source, output = (folder / "models").as_uri(), (folder / "fixed").as_uri()
        run(programs / "graphfix", "batch", source, "-o", output, "--jobs", "1", where=folder)
        return "graphfix batch of file:// URLs"
    return "pip check"


# --- the ways to install ----------------------------------------------------------------------------------------------


def installed(package: Package, python: str, name: str, *options: object) -> Path:
    """Make an environment with the wheel."""
    environment = package.folder / "environments" / name
    shutil.rmtree(environment, ignore_errors=True)
    run(python, "-m", "venv", environment)
    variables = ALONE if "--no-index" in options else {}
    run(environment / PROGRAMS / "python", "-m", "pip", "install", "--quiet", "--prefer-binary", *options, **variables)
    return environment


def quick(package: Package, attempts: Attempts, found: Mapping[str, str]) -> None:
    """Try the wheel with the oldest and the newest Python; dependencies come from the registry."""
    for version in dict.fromkeys((min(found, key=_order), max(found, key=_order))):
        environment = package.folder / "environments" / version
        attempts.attempt(
            f"Python {version}: pip install graphfix, from the wheel",
            lambda version=version: installed(package, found[version], version, package.built(".whl")) and None,
            lambda environment=environment: is_the_installed_one(environment),
            lambda environment=environment: follow(environment / PROGRAMS, environment / "try"),
        )
        shutil.rmtree(environment, ignore_errors=True)
    if len(found) > 1:
        resolve(package, attempts, [""], [newest_named()])


def full(package: Package, attempts: Attempts, found: Mapping[str, str]) -> None:
    """Try each Python with each extra, pipx and uv, from the local index alone."""
    for version, python in found.items():
        for extra in ("", *PROJECT["optional-dependencies"]):
            _try_extra(package, attempts, version, python, extra)
        local = ("--no-index", "--find-links", str(package.index))
        _try_tools(package, attempts, version, python, local)
    if len(found) > 1:
        resolve(package, attempts, ["", *PROJECT["optional-dependencies"]], ["3.11", newest_named()])
    attempts.attempt("the container", lambda: container(package))


def _try_extra(package: Package, attempts: Attempts, version: str, python: str, extra: str) -> None:
    wanted = f"graphfix[{extra}]" if extra else "graphfix"
    name = f"{version}{extra}"
    environment = package.folder / "environments" / name
    local = ("--no-index", "--find-links", package.index)

    def fill() -> None:
        """Download the wheels for this Python into the local index."""
        pip = package.folder / f"pip-{version}" / PROGRAMS / "python"
        if not pip.exists():
            run(python, "-m", "venv", package.folder / f"pip-{version}")
        requirement = f"{package.built('.whl')}{f'[{extra}]' if extra else ''}"
        run(pip, "-m", "pip", "wheel", "--quiet", "--prefer-binary", "--wheel-dir", package.index, requirement)

    if attempts.attempt(f"Python {version}: pip wheel {wanted}, into the local index", fill):
        attempts.attempt(
            f"Python {version}: pip install --no-index --find-links index {wanted}",
            lambda: installed(package, python, name, *local, wanted) and None,
            lambda: is_the_installed_one(environment),
            lambda: use_extra(extra, environment, environment / "extra"),
            lambda: "" if extra else follow(environment / PROGRAMS, environment / "try"),
        )
    shutil.rmtree(environment, ignore_errors=True)


def _try_tools(package: Package, attempts: Attempts, version: str, python: str, local: Sequence[str]) -> None:
    """Try pipx, `uv tool install` and uvx."""
    home = package.folder / "environments" / f"tools-{version}"
    uv = {
        "UV_TOOL_DIR": str(home / "uv"), "UV_TOOL_BIN_DIR": str(home / "uv-bin"), "UV_CACHE_DIR": str(home / "cache"),
        "UV_PYTHON_DOWNLOADS": "never", "UV_PYTHON": python,
    }  # fmt: skip
    pipx = {"PIPX_HOME": str(home / "pipx"), "PIPX_BIN_DIR": str(home / "pipx-bin"), "PIPX_DEFAULT_PYTHON": python}
    models = home / "models"
    models.mkdir(parents=True)
    shutil.copy(ROOT / "models" / "rfc_rank_expansion.onnx", models / "model.onnx")

    def uvx(*words: str, statuses: Sequence[int] = (0,)) -> None:
        run(package.tool("uvx"), *local, *words, where=home, statuses=statuses, **uv)

    attempts.attempt(
        f"Python {version}: pipx install graphfix",
        lambda: (
            run(
                package.tool("pipx"),
                "install",
                "graphfix",
                "--pip-args",
                shlex.join(local),
                where=home,
                **ALONE,
                **pipx,
            )
            and None
        ),
        lambda: run(home / "pipx-bin" / "graphfix", "check", "models/model.onnx", where=home, statuses=(1,)) and None,
    )
    attempts.attempt(
        f"Python {version}: uv tool install graphfix",
        lambda: run(package.tool("uv"), "tool", "install", *local, "graphfix", where=home, **uv) and None,
        lambda: run(home / "uv-bin" / "graphfix", "check", "models/model.onnx", where=home, statuses=(1,)) and None,
    )
    attempts.attempt(
        f"Python {version}: uvx graphfix check, uvx --from graphfix[batch] graphfix batch",
        lambda: uvx("graphfix", "check", "models/model.onnx", statuses=(1,)),
        lambda: uvx("--from", "graphfix[batch]", "graphfix", "batch", "models/", "-o", "fixed/", "--jobs", "1"),
    )
    shutil.rmtree(home, ignore_errors=True)


def resolve(package: Package, attempts: Attempts, extras: Sequence[str], versions: Sequence[str]) -> None:
    """Resolve the dependencies of extras for versions of Python on each system, to wheels; nothing is installed."""
    for system, platform in PLATFORMS.items():
        for version in versions:
            for extra in extras:
                name = f"resolved for Python {version} on {system}: graphfix{f'[{extra}]' if extra else ''}"
                attempts.attempt(name, lambda v=version, p=platform, e=extra: _resolve(package, v, p, e))


def _resolve(package: Package, version: str, platform: str, extra: str) -> str:
    wheel = package.built(".whl")
    requirements = package.folder / "requirements.in"
    requirements.write_text(f"graphfix{f'[{extra}]' if extra else ''} @ {wheel.resolve().as_uri()}\n", encoding="utf-8")
    words = ("--python-version", version, "--python-platform", platform, "--only-binary", ":all:", "--no-header")
    variables = {
        **_registry(package),
        "MACOSX_DEPLOYMENT_TARGET": MACOS.get(extra, "14.0"),
        "UV_PYTHON_DOWNLOADS": "never",
    }
    printed = run(package.tool("uv"), "pip", "compile", "--no-annotate", *words, requirements, **variables)
    return f"{len(re.findall('^[a-z].*==', printed, re.MULTILINE))} packages"


def _registry(package: Package) -> dict[str, str]:
    """Return the variables with which uv uses the registry of pip's configuration, which uv does not read."""
    index = os.environ.get("PIP_INDEX_URL")
    if not index:
        printed = run(package.tool("python"), "-m", "pip", "config", "list")
        match = re.search(r"^\w+\.index-url='(.*)'$", printed, re.MULTILINE)
        index = match[1] if match else ""
    return {"UV_DEFAULT_INDEX": index} if index else {}


def container(package: Package) -> str:
    """Build the image and run it, if there is a Docker daemon."""
    if shutil.which("docker") is None:
        return "not built: there is no docker"
    try:
        run("docker", "info")
    except FailedError:
        return "not built: `docker info` does not answer"
    run("docker", "build", "--tag", "graphfix-try", ROOT)
    models = package.folder / "image"
    models.mkdir(exist_ok=True)
    shutil.copy(ROOT / "models" / "rfc_rank_expansion.onnx", models / "model.onnx")
    mounted = f"{models.resolve()}:/models"
    run("docker", "run", "--rm", "--volume", mounted, "graphfix-try", "check", "model.onnx", statuses=(1,))
    return "built, and run"


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def main(arguments: Sequence[str] | None = None) -> int:
    """Try what the command line asks for, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only-this-python", action="store_true")
    asked = parser.parse_args(arguments)
    package, attempts = Package(asked.folder.resolve()), Attempts()
    package.folder.mkdir(parents=True, exist_ok=True)
    tools = ["build", "twine", "uv", *([] if asked.quick else ["pipx"])]
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable} if asked.only_this_python else pythons()
    if attempts.attempt("python -m build, twine check --strict", lambda: build(package, tools)):
        attempts.attempt("the files of the wheel and of the sdist", lambda: contents(package))
        (quick if asked.quick else full)(package, attempts, found)
    print(f"{attempts.done} attempts, {attempts.failed} failed; {time.monotonic() - attempts.began:.0f} s")
    return int(bool(attempts.failed))


if __name__ == "__main__":
    sys.exit(main())
