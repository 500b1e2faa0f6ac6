"""The description of a nest's code, from which its cache key is computed."""

from __future__ import annotations

from ....program.ir.printer import Printer
from ....types import TensorType
from .emission_plan import emission_plan
from .nest import Apply, Constant, Gather, Iota, Nest, Node, map_stride_class, stride_class


def nest_description(nest: Nest) -> str:
    """All that the code of a scheduled nest depends on, as text."""
    lines = [f"loops {len(nest.sizes)}, slices of {nest.slice_length}", str(emission_plan(nest))]
    lines += [
        f"access {access.element_type} {map_stride_class(access.index_map)}" for access in nest.accesses
    ]
    lines += [f"index {map_stride_class(index_map)}" for index_map in nest.iota_maps]
    lines += [f"start {stride_class(start.stride)}" for start in nest.start_indices]
    lines += map(_node_text, nest.nodes)
    lines.append(f"stores {nest.stores}")
    return "\n".join(lines)


def _node_text(node: Node) -> str:
    if isinstance(node, Apply):
        operation = node.operation
        attributes = {name: value for name, value in operation.attributes.items() if "." not in name}
        types = [_element_text(value.type) for value in (*operation.operands, *operation.results)]
        return f"{operation.name} {node.operands} {Printer().dictionary(attributes)} {' '.join(types)}"
    if isinstance(node, Gather):
        indices = " ".join([f"{node} {type} {start}" for node, type, start in node.indices])
        return f"gather {node.access} by {indices} {'narrow' if node.fits_i32 else 'wide'}"
    if isinstance(node, Constant):
        return f"constant {node.element_type} {node.value.tobytes().hex()}"
    return f"index {node.index_map} {node.element_type}" if isinstance(node, Iota) else f"load {node.access}"


def _element_text(type: object) -> str:
    assert isinstance(type, TensorType)
    return str(type.element_type)
