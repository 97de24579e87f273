"""Which sentences leave the batch when some are finished."""

from torch import Tensor

# Finished sentences leave the batch when no more than this share is open (never: 1.3–1.5 × the time at beam 5).
_LEAVE = 0.9
# The last bits of a product on a CPU depend on its number of rows while there are fewer than this.
ROWS = 16
LOOK_EVERY = 8  # steps between two looks at what is finished, where a look makes the device wait


def is_time_to_look(done: Tensor, t: int) -> bool:
    """Whether to look, after step t, at what is done (B,)."""
    return done.device.type == "cpu" or t % LOOK_EVERY == LOOK_EVERY - 1


def staying(done: Tensor, remaining: int, width: int) -> Tensor | None:
    """The rows (B',) to go on with, or None if all stay: the open ones, on a CPU with enough others."""
    fewest = -(-ROWS // width) if done.device.type == "cpu" else 0
    count = max(remaining, min(fewest, len(done)))
    if count > _LEAVE * len(done):
        return None
    return done.byte().argsort(stable=True)[:count].sort().values
