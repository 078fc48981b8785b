"""Build the documentation's site with Zensical, or serve it while pages are written.

    python scripts/build_site.py                 build into build/site; a fault prints its place, and the status is 1
    python scripts/build_site.py --site FOLDER   build into another folder
    python scripts/build_site.py --serve         serve at http://localhost:8000, and build after each change of docs/

Needs the extra [docs].
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from documentation import site

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "site"
PAUSE = 1.0
"""The seconds between two checks of docs/ for changes, while the site is served."""


def main() -> int:
    """Build or serve the site, and return the exit status."""
    parser = argparse.ArgumentParser(description="Build the documentation's site.")
    parser.add_argument("--site", type=Path, default=SITE, help="the folder of the site; default: build/site")
    parser.add_argument("--serve", action="store_true", help="serve the site, and build it again after each change")
    options = parser.parse_args()
    if options.site.exists() and any(options.site.iterdir()) and not (options.site / "404.html").exists():
        parser.error(f"{options.site} holds other files than a site; choose another folder")
    with tempfile.TemporaryDirectory(prefix="graphfix-site-") as folder:
        source = Path(folder)
        site.write(ROOT, source)
        return serve(source) if options.serve else build(source, options.site)


def build(source: Path, target: Path) -> int:
    """Build the site from the written folder `source`, replace `target` by the site, and return 0.

    If a page has a fault, the faults are printed on stderr, `target` is not changed, and the result is 1.
    """
    found = site.faults(source)
    for fault in found:
        print(fault, file=sys.stderr)
    built = subprocess.run(command("build", "--strict"), cwd=source, capture_output=True, text=True, check=False)
    if built.returncode:
        # Zensical raises an exception with --strict
        said = built.stdout + built.stderr.partition("Traceback (most recent call last):")[0]
        print(said.strip(), file=sys.stderr)
    if found or built.returncode:
        return 1
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source / site.BUILT, target)
    return 0


def serve(source: Path) -> int:
    """Serve the site until Ctrl-C, and return 0.

    After a change of docs/, the folder is written again, and Zensical builds it.
    """
    with subprocess.Popen(command("serve"), cwd=source) as server:
        try:
            seen = changes()
            while server.poll() is None:
                time.sleep(PAUSE)
                if (now := changes()) != seen:
                    site.write(ROOT, source)
                    seen = now
        except KeyboardInterrupt:
            server.terminate()
    return 0


def changes() -> dict[Path, int]:
    """Return the time of the last change of each file of docs/ and of the configuration, in ns."""
    files = [path for path in (ROOT / "docs").rglob("*") if path.is_file()]
    return {path: path.stat().st_mtime_ns for path in [*files, ROOT / site.CONFIGURATION]}


def command(*words: str) -> list[str]:
    """Return the command line that runs Zensical with these arguments."""
    return [sys.executable, "-m", "zensical", *words]


if __name__ == "__main__":
    sys.exit(main())
