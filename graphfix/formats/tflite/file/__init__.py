"""TFLite files as bytes: what is read, what is copied, and how it is written."""
