"""Pairs of which LiteRT overwrites a value in the second file: each is run and differs, none is proved; twins are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.proving import prove
from tests.support.tflite.shared_buffers import LATER, LIFTING, SHARING, TWINS, USED, WRITING, differs, pair, twin

if TYPE_CHECKING:
    from pathlib import Path


def proof_of(folder: Path, files: list[bytes]) -> tuple[bool, str | None]:
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, file in zip(paths, files, strict=True):
        path.write_bytes(file)
    proof = prove(*paths, tflite=True)
    return proof.proved, proof.reason


@pytest.mark.alike(5)
@pytest.mark.parametrize("writing", WRITING)
@pytest.mark.parametrize("lifting", LIFTING)
@pytest.mark.parametrize("sharing", SHARING)
def test_a_value_that_is_overwritten_before_its_last_use_is_not_proved(
    sharing: str, lifting: str, writing: str, tmp_path: Path
) -> None:
    files = pair(SHARING[sharing], LIFTING[lifting], WRITING[writing])
    assert differs(files)
    proved, reason = proof_of(tmp_path, files)
    assert not proved
    assert "into the buffer of 't'" in str(reason)


@pytest.mark.parametrize("lifting", LIFTING)
@pytest.mark.parametrize("sharing", SHARING)
def test_a_value_below_the_result_is_overwritten_too(sharing: str, lifting: str, tmp_path: Path) -> None:
    below = "b[6] = RESHAPE(y[1,2,3], s1:const:int32[1]{6})\nv[6] = MUL(b[6], k:const[6]{1.0,2.0,3.0,4.0,5.0,6.0})"
    used = f"{USED}\nn[12] = CONCATENATION(v[6], v[6], axis=0)"
    files = pair(SHARING[sharing], LIFTING[lifting], WRITING["ADD 0"], f"{below}\n{used}", LATER)
    assert differs(files)
    assert not proof_of(tmp_path, files)[0]


@pytest.mark.parametrize("name", TWINS)
def test_where_it_is_kept_the_lifted_form_is_proved(name: str, tmp_path: Path) -> None:
    files = twin(name)
    assert not differs(files)
    assert proof_of(tmp_path, files) == (True, None)
