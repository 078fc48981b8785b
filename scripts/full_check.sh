#!/usr/bin/env bash
# Run the tests that neither `pytest` nor .ci/run runs: the plain tests with the lowest and with the newest releases that
# pyproject.toml allows; then every random model, small shape and damaged byte with the installed releases.
#
#     pip install -e '.[dev]' -c tests/constraints.txt && python scripts/fetch_zoo.py && scripts/full_check.sh [OPTION OF PYTEST]..
#
# Some 50 minutes on two cores, and 10 more for each of the two sets of releases. Options are for the last run.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
export GRAPHFIX_ZOO=${GRAPHFIX_ZOO:-required}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

for releases in lowest newest; do
  printf '\n== the plain tests with the %s releases (%d:%02d)\n' "$releases" $((SECONDS / 60)) $((SECONDS % 60))
  GRAPHFIX_PYTHON=$(command -v python) scripts/release_environment.sh "$releases" "$work/$releases" dev
  # Only with the lowest releases may a test need a newer one.
  [[ $releases == lowest ]] || export GRAPHFIX_RELEASES=required
  PATH="$work/$releases/bin:$PATH" python -m pytest -n 2
done

printf '\n== the tests that only this script runs (%d:%02d)\n' $((SECONDS / 60)) $((SECONDS % 60))
python -m pytest -n 2 -m full "$@"
