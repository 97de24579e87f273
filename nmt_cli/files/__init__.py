"""Files: atomic writes, manifests, compression, reading and writing lines."""
