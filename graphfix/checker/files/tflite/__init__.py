"""The checker's reader of TFLite files: FlatBuffers tables, the schema, and models as plain values."""
