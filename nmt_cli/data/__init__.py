"""The data directory, its splits, batch plans and batches."""
