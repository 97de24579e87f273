"""ONNX export of a run directory to a self-contained folder."""
