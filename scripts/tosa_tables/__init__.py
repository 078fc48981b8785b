"""The models, the measurements and the arithmetic of tosa_table.py, tosa_values_onnx.py and tosa_values_tflite.py."""
