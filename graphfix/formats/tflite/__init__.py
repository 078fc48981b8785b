"""TFLite files: read without their weights, edited in place, written as a new block in front of the old file."""
