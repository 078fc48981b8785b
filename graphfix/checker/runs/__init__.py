"""Run both models on the same inputs and compare what comes out.

What other rooms use of it is in `static_model`: StaticModel, static_onnx, static_tflite.
"""
