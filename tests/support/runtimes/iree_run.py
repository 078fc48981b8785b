"""Compile a TOSA module with IREE and run it on the CPU: `iree_run.py MODULE.mlirbc IN.npz OUT.npz`, in any Python.

The inputs are arr_0, arr_1 ... of IN.npz in the module's order; so are the outputs of OUT.npz.
"""

from __future__ import annotations

import sys

import numpy as np
from iree import compiler, runtime


def main(module: str, inputs: str, outputs: str) -> None:
    """Compile, run, and write what comes out."""
    made = compiler.compile_file(
        module,
        input_type="tosa",
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host"],
    )
    loaded = runtime.load_vm_flatbuffer(made, driver="local-task")
    with np.load(inputs) as given:
        values = [given[f"arr_{at}"] for at in range(len(given.files))]
    answer = loaded.main(*values)
    np.savez(outputs, *(np.asarray(value) for value in (answer if isinstance(answer, (tuple, list)) else [answer])))


if __name__ == "__main__":
    main(*sys.argv[1:])
