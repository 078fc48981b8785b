"""graphfix's runs without its proof: `graphfix_runs.py BEFORE AFTER` prints one line of JSON."""

from __future__ import annotations

import json
import sys

import graphfix

verdict = graphfix.verify(sys.argv[1], sys.argv[2], proof="without")
print(json.dumps({"status": verdict.status, "reason": verdict.reason}))
