"""The table of real models on their way to TOSA: what is counted, and a model that takes too long."""

from __future__ import annotations

from pathlib import Path

import pytest
import tosa_table as table
from tosa_tables.measure import Row


def test_what_is_counted() -> None:
    rows = {
        table.Model(table.EXPORTED / "a.onnx"): Row("valid", "proved", "agrees", 3, 100, "1.0e-07"),
        table.Model(table.EXPORTED / "b.onnx"): Row("no: it fails", "bounded", "differs: y", 3, None, "0.1"),
        table.Model(table.EXPORTED / "c.onnx"): Row(
            "no: it | fails", "not asked", "refused: why", operator_names=("LSTM", "If")
        ),
        table.Model(table.EXPORTED / "d.tflite", "encode"): Row("no", "no: it ends"),
        table.Model(table.ZOO / "z" / "e.tflite"): Row("valid", "equal", "agrees", 1, 10, "0.0e+00", ("POW",)),
    }
    lines = table._text(rows)
    assert "| exported, onnx | 3 | 1 | 1 | 1 | 0 | 2 | 1 | 2 | 1 |" in lines
    assert "| the zoo, tflite | 1 | 1 | 0 | 0 | 1 | 1 | 1 | 0 | 0 |" in lines
    assert "| d.tflite (encode) | no | no: it ends |  |  |  |  |  | 0 |" in lines
    assert "| z/e.tflite | valid | equal | agrees | 1 | 10 | 0.0e+00 | POW | 0 |" in lines
    assert "| c.onnx | no: it \\| fails | not asked | refused: why |  |  |  | LSTM, If | 0 |" in lines


def test_a_model_that_takes_too_long_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "LONGEST_SECONDS", 0.01)
    assert table._row(table.Model(table.EXPORTED / "bert_legacy.onnx")).fixed == "no: longer than 0.01 s"


@pytest.mark.ci
def test_a_model_that_can_not_be_read_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    assert table._row(table.Model(tmp_path / "m.onnx")).fixed.startswith("no: ")


def test_each_signature_of_several_is_a_row() -> None:
    assert table._signatures(table.EXPORTED / "codec_free.tflite") == ["decode", "encode"]
    assert table._signatures(table.EXPORTED / "bert_free.tflite") == [None]
