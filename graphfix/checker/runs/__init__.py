"""Run both models on the same inputs and compare what comes out.

Other packages use `static_model` (StaticModel, static_onnx, static_tflite) and `least_sizes` (running) of it.
"""
