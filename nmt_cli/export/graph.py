"""A small builder of ONNX graphs: operators as calls, weights as constants, matrix products in float32 or int8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

OPSET = 17
_IR_VERSION = 8  # of opset 17, so that older runtimes read it too
_SMALLEST = 1 << 14  # weights; smaller products are not worth quantizing
_WEIGHT_STEPS = 63  # 7 bits: the sum of two products of 8 by 8 bits overflows 16 bits on CPUs without VNNI
_INPUT_STEPS = 127

FLOAT, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
INT8, UINT8 = TensorProto.INT8, TensorProto.UINT8
_MICROSOFT = "com.microsoft"  # ONNX Runtime's own operators
Array = NDArray[Any]
Part = tuple[str, Tensor, float | None]
"""x, W and a bound for |x|, if there is one."""


def array_of(tensor: Tensor) -> Array:
    """The weights in float32, contiguous."""
    return np.ascontiguousarray(tensor.detach().float().cpu().numpy())


class Graph:
    """Values are names. `graph("Add", a, b)` adds a node and returns the name of its output."""

    def __init__(self, *, int8: bool = False, numbers: Iterator[int] | None = None) -> None:
        self.int8 = int8
        self._numbers = numbers or count()
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        # Holding a tensor keeps its address unique.
        self._stored: dict[tuple[int, ...], tuple[str, Tensor]] = {}
        self._codes: dict[tuple[str, float], str] = {}  # the 8-bit codes of values, by their bound
        self._tables: dict[int, str] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._values: list[tuple[str, str]] = []  # the outputs' names and what they are in the graph

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        [output] = self.several(operator, 1, *inputs, **attributes)
        return output

    def several(self, operator: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """A node with several outputs."""
        names = [self.fresh(operator.lower()) for _ in range(outputs)]
        self._nodes.append(helper.make_node(operator, list(inputs), names, name=names[0], **attributes))
        return names

    def constant(self, value: Array | np.generic | Sequence[int] | float) -> str:
        """A constant; Python integers are int64, Python floats float32."""
        array = np.asarray(value)
        if not isinstance(value, np.ndarray | np.generic):
            array = array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
        name = self.fresh("constant")
        self._constants.append(
            numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        )
        return name

    def weight(self, tensor: Tensor) -> str:
        """The weights as a constant; the same tensor is stored once."""
        key = (tensor.data_ptr(), *tensor.shape, *tensor.stride())
        if key not in self._stored:
            self._stored[key] = self.constant(array_of(tensor)), tensor
        return self._stored[key][0]

    def input(self, name: str, kind: int, shape: Sequence[str | int]) -> str:
        """An input of the graph; named dimensions are dynamic."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def output(self, name: str, value: str, kind: int, shape: Sequence[str | int]) -> None:
        """An output of the graph."""
        self._values.append((name, value))
        self._outputs.append(helper.make_tensor_value_info(name, kind, list(shape)))

    def fresh(self, name: str) -> str:
        """A name that no other value has."""
        return f"{name}_{next(self._numbers)}"

    def child(self) -> Graph:
        """The body of a loop; it may use all values of this graph."""
        return Graph(int8=self.int8, numbers=self._numbers)

    def body(self) -> onnx.GraphProto:
        """The graph alone. A value that is an output gets its name: a node in between would copy it."""
        self._drop_unused()
        produced = {value for node in self._nodes for value in node.output}
        renamed: dict[str, str] = {}
        for name, value in self._values:
            if value in produced and value not in renamed:
                renamed[value] = name
            else:
                self._nodes.append(helper.make_node("Identity", [value], [name], name=self.fresh("output")))
        for node in self._nodes:
            for names in (node.input, node.output):
                names[:] = [renamed.get(name, name) for name in names]
        return helper.make_graph(
            self._nodes, self.fresh("graph"), self._inputs, self._outputs, self._constants
        )

    def _drop_unused(self) -> None:
        """Leave out nodes and constants that no output needs, such as values of which only the codes are used."""
        used = {value for _, value in self._values}
        kept: list[onnx.NodeProto] = []
        for node in reversed(self._nodes):
            if used & set(node.output):
                used.update(node.input)
                for attribute in node.attribute:  # the body of a loop uses values around it
                    used.update(value for inner in attribute.g.node for value in inner.input)
                kept.append(node)
        self._nodes = kept[::-1]
        self._constants = [constant for constant in self._constants if constant.name in used]

    def model(self) -> onnx.ModelProto:
        """The finished and checked model."""
        opset = [helper.make_opsetid("", OPSET), helper.make_opsetid(_MICROSOFT, 1)]
        model = helper.make_model(
            self.body(), opset_imports=opset, producer_name="nmt", ir_version=_IR_VERSION
        )
        onnx.checker.check_model(model, full_check=True)
        return model

    # Shapes

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        """0 keeps a dimension, -1 is the rest."""
        return self("Reshape", x, self.constant(list(shape)))

    def unsqueeze(self, x: str, axis: int) -> str:
        """One more dimension of size 1."""
        return self("Unsqueeze", x, self.constant([axis]))

    def squeeze(self, x: str, axis: int) -> str:
        """Without the dimension `axis`, which has size 1."""
        return self("Squeeze", x, self.constant([axis]))

    def rows(self, x: str) -> str:
        """(B, K, …) → (B·K, …)"""
        rest = self("Shape", x, start=2)
        return self("Reshape", x, self("Concat", self.constant([-1]), rest, axis=0))

    def split(self, x: str, parts: int) -> list[str]:
        """Equal parts of the last dimension."""
        return self.several("Split", parts, x, axis=-1)

    def cut(self, x: str, sizes: Sequence[int]) -> list[str]:
        """Parts of these sizes of the last dimension."""
        return self.several("Split", len(sizes), x, self.constant(list(sizes)), axis=-1)

    # Layers

    def linear(self, x: str, layer: nn.Linear, *, bound: float | None = None) -> str:
        """W x + b, for x (…, I); `bound`: all |x| are at most this."""
        return self.product(x, layer.weight, layer.bias, bound=bound)

    def product(self, x: str, W: Tensor, b: Tensor | None = None, *, bound: float | None = None) -> str:
        """W x + b with W (O, I), in int8 if the graph is and W is large enough."""
        return self.products([(x, W, bound)], b)

    def products(self, parts: Sequence[Part], b: Tensor | None) -> str:
        """Σ_i W_i x_i + b in one product: [W_1 W_2 …] [x_1; x_2; …] + b"""
        xs, Ws, bounds = zip(*parts, strict=True)
        W = torch.cat(Ws, dim=1) if len(Ws) > 1 else Ws[0]
        if not self.int8 or W.numel() < _SMALLEST:
            y = self("MatMul", self._concatenated(xs), self.weight(W.t()))
            return y if b is None else self("Add", y, self.weight(b))
        if len(parts) > 1 and None in bounds:
            total = self.products(parts[:1], b)
            for part in parts[1:]:
                total = self("Add", total, self.products([part], None))
            return total
        # The parts are quantized with their own scales, which move into the weights.
        W = torch.cat([W * (bound or 1.0) for W, bound in zip(Ws, bounds, strict=True)], dim=1)
        W_q, scale = quantized(W)
        weights = self.constant(W_q.T), self.constant(scale)
        bias = "" if b is None else self.weight(b)
        if bounds == (None,):
            return self.int8_product(xs[0], None, *weights, bias)
        codes = self._concatenated([self.codes(x, bound) for x, bound in zip(xs, bounds, strict=True)])
        return self._code_product(codes, 1.0, *weights, bias)

    def _concatenated(self, xs: Sequence[str]) -> str:
        return self("Concat", *xs, axis=-1) if len(xs) > 1 else xs[0]

    def int8_product(self, x: str, bound: float | None, W_q: str, scale: str, bias: str = "") -> str:
        """W x + b for x (…, I), codes W_q (I, O) and their scales (O,).

        Each row of W and each x have their own scale, so that no x depends on its neighbors. Where |x| ≤ bound is
        known, the scale of x is constant.
        """
        if bound is not None:
            return self._code_product(self.codes(x, bound), bound, W_q, scale, bias)
        largest = self("ReduceMax", self("Abs", x), axes=[-1], keepdims=1)  # (…, 1)
        size = self("Max", largest, self.constant(1e-12))
        y = self._code_product(self.codes(self("Div", x, size), 1.0), 1.0, W_q, scale)
        y = self("Mul", y, size)
        return self("Add", y, bias) if bias else y

    def _code_product(self, codes: str, bound: float, W_q: str, scale: str, bias: str = "") -> str:
        step, zero = self._code_scale(bound)
        rest = ["", bias] if bias else []  # the zero points of W are 0
        return self("MatMulIntegerToFloat", codes, W_q, step, scale, zero, *rest, domain=_MICROSOFT)

    def codes(self, x: str, bound: float) -> str:
        """x as 8-bit integers around 128, for |x| ≤ bound."""
        if (x, bound) not in self._codes:
            self._codes[x, bound] = self("QuantizeLinear", x, *self._code_scale(bound))
        return self._codes[x, bound]

    def decoded(self, codes: str, bound: float) -> str:
        """The value of 8-bit codes; a product uses the codes themselves."""
        x = self("DequantizeLinear", codes, *self._code_scale(bound))
        self._codes[x, bound] = codes
        return x

    def _code_scale(self, bound: float) -> tuple[str, str]:
        return self.constant(bound / _INPUT_STEPS), self.constant(np.uint8(128))

    def code_table(self, table: Tensor) -> tuple[str, float]:
        """A table (V, E) in 8-bit codes of one scale, and their bound; the same table is stored once."""
        bound = float(table.detach().abs().max())
        key = table.data_ptr()
        if key not in self._tables:
            steps = np.rint(array_of(table) * (_INPUT_STEPS / bound))
            self._tables[key] = self.constant((steps + 128).astype(np.uint8))
        return self._tables[key], bound

    def lookup(self, table: Tensor, ids: str) -> str:
        """Rows of a table (V, E), stored in 8 bits if the graph is: ids (…) → (…, E)"""
        if not self.int8:
            return self("Gather", self.weight(table), ids)
        q, scale = quantized(table, steps=127)
        rows = self("Cast", self("Gather", self.constant(q), ids), to=FLOAT)
        return self("Mul", rows, self("Gather", self.constant(scale[:, None]), ids))

    def norm(self, x: str, layer: nn.Module) -> str:
        """LayerNorm(x), or x itself if the layer is the identity."""
        if not isinstance(layer, nn.LayerNorm):
            return x
        scale, bias = self.weight(layer.weight), self.weight(layer.bias)
        return self("LayerNormalization", x, scale, bias, axis=-1, epsilon=layer.eps)


def quantized(W: Tensor, steps: int = _WEIGHT_STEPS) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """W (O, I) as 8-bit integers of ± steps, and the scale of each row (O,)."""
    array = array_of(W)
    scale = np.maximum(np.abs(array).max(axis=1), 1e-12) / steps
    return np.rint(array / scale[:, None]).astype(np.int8), scale.astype(np.float32)
