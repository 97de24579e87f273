"""The loop and its derivative as one operation of autograd."""

from typing import Any

import torch
from torch import Tensor

from nmt_cli.model.fast.loop import Inputs, Loop, Plan, Saved, allocate
from nmt_cli.model.fast.loop_backward import BackwardLoop, Outside


def unroll(plan: Plan, inputs: Inputs) -> tuple[Tensor, ...]:
    """→ states (B, T, H) of the top layer, contexts (B, T, H), attention (B, T, S), and h̃ (B, T, F) if fed."""
    outputs = _Unroll.apply(plan, *inputs.flat())  # type: ignore[no-untyped-call]
    return tuple(output.transpose(0, 1) for output in outputs)


class _Unroll(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: Plan, *flat: Tensor | None) -> tuple[Tensor, ...]:
        inputs = Inputs.of(flat, plan)
        loop = Loop(plan, inputs, allocate(plan, inputs))
        loop.run()
        saved = loop.saved
        ctx.plan, ctx.inputs = plan, len(flat)
        ctx.save_for_backward(*inputs._replace(x=None).flat(), *saved.flat())
        ctx.set_materialize_grads(False)
        fed = () if saved.feeds is None else (saved.feeds[1:],)
        return saved.states[-1][0][1:], saved.contexts, saved.alpha, *fed

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *d_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        plan, tensors = ctx.plan, ctx.saved_tensors
        inputs = Inputs.of(tensors[: ctx.inputs], plan)
        loop = Loop(plan, inputs, Saved.of(tensors[ctx.inputs :], plan))
        return (None, *BackwardLoop(loop, Outside(*d_outputs, *[None] * (4 - len(d_outputs)))).run().flat())
