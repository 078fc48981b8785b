"""Run both models on the same inputs and compare what comes out.

What other packages use of it is in `static_model`: StaticModel, static_onnx, static_tflite.
"""
