"""Counting what torch does."""

from collections import Counter

from torch.utils._python_dispatch import TorchDispatchMode


class Count(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """How often each operation is dispatched, the backward pass included."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.calls[str(func)] += 1
        return func(*args, **(kwargs or {}))
