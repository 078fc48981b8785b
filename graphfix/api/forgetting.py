"""The memory of models that are done is given back where one process does many."""

from __future__ import annotations

import gc

OBJECTS = 100_000
"""How many objects of models that are done may wait: to look for what they hold costs a hundredth of a second."""


def forget_models() -> None:
    """Give back the memory of models: nodes and graphs name each other, and the process collects no such circles.

    What stays, stays to the end: it is not looked at again.
    """
    if gc.get_count()[0] > OBJECTS:
        gc.collect()
        gc.freeze()
