"""The systems that `training_step.py` compares, each in a process of its own."""
