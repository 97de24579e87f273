"""Files: atomic writes, manifests, compressed input, the line reader and the line writer."""
