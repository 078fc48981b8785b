#!/usr/bin/env bash
# The tests that neither `pytest` nor .ci/run runs: every random model, every small shape, every damaged byte.
#
#     pip install -e '.[dev]' && python scripts/fetch_zoo.py && scripts/full_check.sh [OPTION OF PYTEST]..
#
# Some 50 minutes on two cores.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
export GRAPHFIX_ZOO=${GRAPHFIX_ZOO:-required}
exec python -m pytest -n 2 -m full "$@"
