"""Element types, tensor types and the other value types of StableHLO, with their NumPy form.

Source: specification, section "Types".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
"""An array of any shape and dtype."""
DType = np.dtype[Any]
"""The NumPy dtype of any element type."""

DYNAMIC: Final = -1
"""Marks a dimension size or a bound that is unknown until run time (``?`` in text)."""

BOOLEAN: Final = 1 << 0
SIGNED: Final = 1 << 1
UNSIGNED: Final = 1 << 2
FLOAT: Final = 1 << 3
COMPLEX: Final = 1 << 4
QUANTIZED_PER_TENSOR: Final = 1 << 5
QUANTIZED_PER_AXIS: Final = 1 << 6
TOKEN: Final = 1 << 7
TUPLE: Final = 1 << 8
BUFFER: Final = 1 << 9
FUTURE: Final = 1 << 10
OTHER: Final = 1 << 11
INTEGER: Final = SIGNED | UNSIGNED
QUANTIZED: Final = QUANTIZED_PER_TENSOR | QUANTIZED_PER_AXIS
PLAIN: Final = BOOLEAN | INTEGER | FLOAT | COMPLEX
"""Tensors of any element type that is not quantized."""
TENSOR: Final = PLAIN | QUANTIZED
ANY: Final = TENSOR | TOKEN | TUPLE | BUFFER | FUTURE | OTHER

_CATEGORY_NAMES: Final = {
    BOOLEAN: "boolean",
    SIGNED: "signed integer",
    UNSIGNED: "unsigned integer",
    FLOAT: "floating-point",
    COMPLEX: "complex",
    QUANTIZED_PER_TENSOR: "per-tensor quantized",
    QUANTIZED_PER_AXIS: "per-axis quantized",
    TOKEN: "token",
    TUPLE: "tuple",
    BUFFER: "buffer",
    FUTURE: "future",
}


def describe_values(categories: int) -> str:
    """Words for a value of a set of categories, such as ``"a tensor of integer elements"``."""
    if categories & ANY == ANY:
        return "a value of a StableHLO type"
    elements = categories & TENSOR
    kinds = [f"a {name}" for category, name in _CATEGORY_NAMES.items() if categories & category & ~TENSOR]
    if elements == TENSOR:
        kinds.insert(0, "a tensor")
    elif elements:
        kinds.insert(0, f"a tensor of {describe_categories(elements)} elements")
    return " or ".join(kinds)


def describe_categories(categories: int) -> str:
    """Words for the categories of element types, such as ``"integer or floating-point"``."""
    names = []
    if categories & INTEGER == INTEGER:
        names.append("integer")
        categories &= ~INTEGER
    if categories & QUANTIZED == QUANTIZED:
        names.append("quantized")
        categories &= ~QUANTIZED
    names += [name for category, name in _CATEGORY_NAMES.items() if categories & category]
    return " or ".join(names)


class ElementType:
    """An element type that is not quantized.

    Attributes:
        name: the specification's name, such as ``"f8E4M3FN"``; complex types are ``"complex<f32>"``.
        category: one of BOOLEAN, SIGNED, UNSIGNED, FLOAT, COMPLEX.
        width: bits of the type (not of its NumPy form: ``i4`` has 4).
        dtype: the NumPy or ml_dtypes form.
    """

    __slots__ = ("_numpy_type", "category", "dtype", "name", "width")

    dtype: DType

    def __init__(self, name: str, category: int, width: int, numpy_type: type | str) -> None:
        """Declare a type whose form is NumPy's, or that of this name in ml_dtypes."""
        self.name = name
        self.category = category
        self.width = width
        self._numpy_type = numpy_type
        if isinstance(numpy_type, type):
            self.dtype = np.dtype(numpy_type)

    def __getattr__(self, name: str) -> Any:
        """The dtype at its first use: few programs need ml_dtypes."""
        if name != "dtype":
            raise AttributeError(name)
        import ml_dtypes

        self.dtype = np.dtype(getattr(ml_dtypes, str(self._numpy_type)))
        return self.dtype

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"ElementType({self.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (element_type, (self.name,))


_DECLARED: Final = (
    ElementType("i1", BOOLEAN, 1, np.bool_),
    ElementType("i2", SIGNED, 2, "int2"),
    ElementType("i4", SIGNED, 4, "int4"),
    ElementType("i8", SIGNED, 8, np.int8),
    ElementType("i16", SIGNED, 16, np.int16),
    ElementType("i32", SIGNED, 32, np.int32),
    ElementType("i64", SIGNED, 64, np.int64),
    ElementType("ui2", UNSIGNED, 2, "uint2"),
    ElementType("ui4", UNSIGNED, 4, "uint4"),
    ElementType("ui8", UNSIGNED, 8, np.uint8),
    ElementType("ui16", UNSIGNED, 16, np.uint16),
    ElementType("ui32", UNSIGNED, 32, np.uint32),
    ElementType("ui64", UNSIGNED, 64, np.uint64),
    ElementType("f4E2M1FN", FLOAT, 4, "float4_e2m1fn"),
    ElementType("f6E2M3FN", FLOAT, 6, "float6_e2m3fn"),
    ElementType("f6E3M2FN", FLOAT, 6, "float6_e3m2fn"),
    ElementType("f8E3M4", FLOAT, 8, "float8_e3m4"),
    ElementType("f8E4M3", FLOAT, 8, "float8_e4m3"),
    ElementType("f8E4M3FN", FLOAT, 8, "float8_e4m3fn"),
    ElementType("f8E4M3FNUZ", FLOAT, 8, "float8_e4m3fnuz"),
    ElementType("f8E4M3B11FNUZ", FLOAT, 8, "float8_e4m3b11fnuz"),
    ElementType("f8E5M2", FLOAT, 8, "float8_e5m2"),
    ElementType("f8E5M2FNUZ", FLOAT, 8, "float8_e5m2fnuz"),
    ElementType("f8E8M0FNU", FLOAT, 8, "float8_e8m0fnu"),
    ElementType("bf16", FLOAT, 16, "bfloat16"),
    ElementType("f16", FLOAT, 16, np.float16),
    ElementType("f32", FLOAT, 32, np.float32),
    ElementType("f64", FLOAT, 64, np.float64),
    ElementType("complex<f32>", COMPLEX, 64, np.complex64),
    ElementType("complex<f64>", COMPLEX, 128, np.complex128),
)

ELEMENT_TYPES: Final = {declared.name: declared for declared in _DECLARED}
"""The specification's 30 element types by name."""

INDEX: Final = ElementType("index", SIGNED, 64, np.int64)
"""The builtin ``index`` type; exporters leave it in shape computations."""
TF32: Final = ElementType("tf32", FLOAT, 19, np.float32)
"""Occurs as a precision type of dot algorithms only."""

_BY_NAME: Final = {
    **ELEMENT_TYPES,
    # The specification's grammar writes si32, its examples and MLIR's texts write i32.
    **{f"s{name}": declared for name, declared in ELEMENT_TYPES.items() if declared.category == SIGNED},
    "index": INDEX,
    "tf32": TF32,
}
_BY_NUMPY_DTYPE: Final = {
    np.dtype(one._numpy_type): one for one in _DECLARED if isinstance(one._numpy_type, type)
}


def element_type(name: str) -> ElementType:
    """The element type of that name, such as ``i32`` or ``si32``; KeyError where there is none."""
    return _BY_NAME[name]


def element_type_of(dtype: DType) -> ElementType:
    """The element type whose NumPy form is `dtype`; KeyError where there is none."""
    cached = _BY_NUMPY_DTYPE.get(dtype)
    return cached if cached is not None else _by_dtype()[dtype]


@functools.cache
def _by_dtype() -> dict[DType, ElementType]:
    return {declared.dtype: declared for declared in _DECLARED}


class QuantizedType:
    """A quantized element type, per tensor or per axis.

    Attributes:
        storage: integer element type of the stored values.
        storage_min, storage_max: smallest and largest stored value.
        expressed: floating-point element type that the values stand for.
        scales, zero_points: one each per tensor, or one each a slice along `quantization_dimension`.
        quantization_dimension: the axis, or None per tensor.

    Source: specification, section "Quantized types".
    """

    __slots__ = (
        "category",
        "expressed",
        "quantization_dimension",
        "scales",
        "storage",
        "storage_max",
        "storage_min",
        "zero_points",
    )

    def __init__(
        self,
        storage: ElementType,
        storage_min: int,
        storage_max: int,
        expressed: ElementType,
        scales: Iterable[float],
        zero_points: Iterable[int],
        quantization_dimension: int | None = None,
    ) -> None:
        self.storage = storage
        self.storage_min = storage_min
        self.storage_max = storage_max
        self.expressed = expressed
        self.scales = tuple(scales)
        self.zero_points = tuple(zero_points)
        self.quantization_dimension = quantization_dimension
        self.category = QUANTIZED_PER_TENSOR if quantization_dimension is None else QUANTIZED_PER_AXIS

    @property
    def dtype(self) -> DType:
        """The NumPy form of the stored values."""
        return self.storage.dtype

    @property
    def width(self) -> int:
        """Bits of a stored value."""
        return self.storage.width

    def _key(self) -> tuple[Any, ...]:
        return (
            self.storage.name,
            self.storage_min,
            self.storage_max,
            self.expressed.name,
            self.scales,
            self.zero_points,
            self.quantization_dimension,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuantizedType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        axis = "" if self.quantization_dimension is None else f":{self.quantization_dimension}"
        bounds = ""
        if (self.storage_min, self.storage_max) != storage_range(self.storage):
            bounds = f"<{self.storage_min}:{self.storage_max}>"
        pairs = ", ".join(
            f"{decimal_text(scale)}:{zero_point}"
            for scale, zero_point in zip(self.scales, self.zero_points, strict=True)
        )
        if self.quantization_dimension is not None:
            pairs = "{" + pairs + "}"
        storage = self.storage.name.replace("ui", "u")
        return f"!quant.uniform<{storage}{bounds}:{self.expressed}{axis}, {pairs}>"

    def __repr__(self) -> str:
        return f"QuantizedType({self})"


def storage_range(storage: ElementType) -> tuple[int, int]:
    """The smallest and the largest value of an integer element type."""
    if storage.category == UNSIGNED:
        return 0, (1 << storage.width) - 1
    return -(1 << (storage.width - 1)), (1 << (storage.width - 1)) - 1


def decimal_text(value: float) -> str:
    """A decimal float that MLIR's lexer accepts (it wants a point before an exponent)."""
    text = repr(float(value))
    if "e" in text and "." not in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}.0e{exponent}"
    return text


AnyElementType = ElementType | QuantizedType


class TensorType:
    """A ranked tensor type.

    Attributes:
        shape: dimension sizes; DYNAMIC where unknown.
        element_type: ElementType or QuantizedType.
        bounds: for each dimension the upper bound of its size or DYNAMIC; None without bounds.
        is_static_unquantized: whether all dimension sizes are known, and elements are not quantized.
        size: number of elements, where all dimension sizes are known.
    """

    __slots__ = (
        "_hash",
        "_text",
        "bounds",
        "category",
        "element_type",
        "is_static_unquantized",
        "shape",
        "size",
    )

    def __init__(
        self, shape: Iterable[int], element_type: AnyElementType, bounds: tuple[int, ...] | None = None
    ) -> None:
        self.shape = tuple(shape)
        self.element_type = element_type
        self.bounds = bounds
        self.category = element_type.category
        self.is_static_unquantized = element_type.category & PLAIN != 0 and DYNAMIC not in self.shape
        self.size = math.prod(self.shape)
        self._hash: int | None = None
        self._text: str | None = None

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        """NumPy form of an element (of a stored value for quantized types)."""
        return self.element_type.dtype

    @property
    def plain_element_type(self) -> ElementType:
        """The element type of a tensor that is not quantized."""
        element_type = self.element_type
        assert isinstance(element_type, ElementType)
        return element_type

    @property
    def is_static(self) -> bool:
        """Whether all dimension sizes are known."""
        return DYNAMIC not in self.shape

    def with_shape(self, shape: Iterable[int]) -> TensorType:
        """The type of the same elements with another static or dynamic shape, without bounds."""
        return TensorType(shape, self.element_type)

    def with_element_type(self, element_type: AnyElementType) -> TensorType:
        """The type of the same shape and bounds with other elements."""
        return TensorType(self.shape, element_type, self.bounds)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, TensorType)
            and self.shape == other.shape
            and (self.element_type is other.element_type or self.element_type == other.element_type)
            and self.bounds == other.bounds
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.shape, self.element_type, self.bounds))
        return self._hash

    def __str__(self) -> str:
        if self._text is None:
            sizes = "".join([f"{_size_text(size)}x" for size in self.shape])
            bounds = ""
            if self.bounds is not None:
                bounds = f", #stablehlo.bounds<{', '.join(map(_size_text, self.bounds))}>"
            self._text = f"tensor<{sizes}{self.element_type}{bounds}>"
        return self._text

    def __repr__(self) -> str:
        return f"TensorType({self})"


def _size_text(size: int) -> str:
    return "?" if size == DYNAMIC else str(size)


class _ValueType:
    """Shared by the value types without structure of their own: equality and hash by text."""

    __slots__ = ()
    category: int

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


class TokenType(_ValueType):
    """The type of tokens."""

    __slots__ = ()
    category = TOKEN

    def __str__(self) -> str:
        return "!stablehlo.token"


class _NestedType(_ValueType):
    """Base of the types of several types, which may share them; the text, which may be long, is made once."""

    __slots__ = ("_text",)

    def __init__(self) -> None:
        self._text: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            self._text = self._make_text()
        return self._text

    def _make_text(self) -> str:
        raise NotImplementedError


class TupleType(_NestedType):
    """The type of tuples of values."""

    __slots__ = ("types",)
    category = TUPLE

    def __init__(self, types: Iterable[Type]) -> None:
        super().__init__()
        self.types = tuple(types)

    def _make_text(self) -> str:
        return f"tuple<{', '.join(map(str, self.types))}>"


class BufferType(_ValueType):
    """The type of buffers (``memref``) that `custom_call` creates, pins and unpins."""

    __slots__ = ("element_type", "shape")
    category = BUFFER

    def __init__(self, shape: Iterable[int], element_type: AnyElementType) -> None:
        self.shape = tuple(shape)
        self.element_type = element_type

    def __str__(self) -> str:
        return f"memref<{''.join(f'{_size_text(size)}x' for size in self.shape)}{self.element_type}>"


class FutureType(_NestedType):
    """The type of an asynchronous operation's pending results."""

    __slots__ = ("types",)
    category = FUTURE

    def __init__(self, types: Iterable[Type]) -> None:
        super().__init__()
        self.types = tuple(types)

    def _make_text(self) -> str:
        return f"!stablehlo.future<{', '.join(map(str, self.types))}>"


class UnrankedTensorType(_ValueType):
    """A tensor type without a rank: parsed, so that it can be rejected by name."""

    __slots__ = ("element_type",)
    category = OTHER

    def __init__(self, element_type: AnyElementType) -> None:
        self.element_type = element_type

    def __str__(self) -> str:
        return f"tensor<*x{self.element_type}>"


class OpaqueType(_ValueType):
    """A type of another dialect, kept as its text."""

    __slots__ = ("text",)
    category = OTHER

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


class FunctionType(_NestedType):
    """Types of a function's or region's inputs and outputs."""

    __slots__ = ("inputs", "results")
    category = OTHER

    def __init__(self, inputs: Iterable[Type], results: Iterable[Type]) -> None:
        super().__init__()
        self.inputs = tuple(inputs)
        self.results = tuple(results)

    def _make_text(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        results = ", ".join(map(str, self.results))
        plain = len(self.results) == 1 and not isinstance(self.results[0], FunctionType)
        return f"({inputs}) -> {results if plain else f'({results})'}"


Type = (
    TensorType
    | TokenType
    | TupleType
    | BufferType
    | FutureType
    | UnrankedTensorType
    | OpaqueType
    | FunctionType
    | ElementType
    | QuantizedType
)


class TupleValue(tuple[Any, ...]):
    """A value of a TupleType; a class of its own, so that it is never taken for several results."""

    __slots__ = ()


class Token:
    """The value of every token."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "TOKEN"


TOKEN_VALUE: Final = Token()
