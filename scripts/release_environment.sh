#!/usr/bin/env bash
# Make a virtual environment with graphfix and the lowest or the newest releases that pyproject.toml allows, or with the
# releases that the tests are held to (tests/constraints.txt).
#
#     scripts/release_environment.sh lowest|newest|tested FOLDER [EXTRA]
#
# The interpreter is GRAPHFIX_PYTHON, by default python3. uv resolves and installs: `lowest` is `--resolution
# lowest-direct`: the lowest release of each package that pyproject.toml names; packages that these need are the newest.
# pip installs uv from the registry, into a second virtual environment at FOLDER.uv.
set -euo pipefail
releases=$1 folder=$2 extra=${3:-} constraints=()
case $releases in
  lowest) resolution=lowest-direct ;;
  newest) resolution=highest ;;
  tested) resolution=highest constraints=(--constraint tests/constraints.txt) ;;
  *) echo "scripts/release_environment.sh: $releases: say lowest, newest or tested" >&2; exit 2 ;;
esac
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
python=${GRAPHFIX_PYTHON:-python3}
uv="$folder.uv/bin/uv"
"$python" -m venv "$folder.uv"
"$folder.uv/bin/pip" install --quiet uv
# uv does not read pip's configuration, so the mirror of the registry that pip uses is passed to uv
index=${PIP_INDEX_URL:-$("$folder.uv/bin/pip" config get global.index-url 2>/dev/null || true)}
[[ -z $index ]] || export UV_DEFAULT_INDEX="$index"
"$uv" venv --quiet --seed --python "$("$python" -c 'import sys; print(sys.executable)')" "$folder"
"$uv" pip install --quiet --python "$folder/bin/python" --resolution "$resolution" "${constraints[@]}" \
  --editable ".${extra:+[$extra]}"
