"""Models of TensorFlow and Keras, which export_tflite converts to TFLite."""
