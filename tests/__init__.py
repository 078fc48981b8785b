"""The tests, by the rooms of the package; what they share is in support/.

A package, as tosa-tools and tosa-converter-for-tflite install another `tests` that would stand before a mere folder.
"""
