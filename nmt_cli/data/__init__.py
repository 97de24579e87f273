"""The data directory and what is read from it: splits, batch plans, batches."""
