"""Write the table of PyTorch's operations in docs/torch.md from the conversions.

    python tools/torch_operations.py

Needs no PyTorch.
"""

import textwrap
from collections import defaultdict
from pathlib import Path

from nimblehlo.program.frontend.torch.table import conversions
from tools.marked_text import replace_marked

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "torch.md"
BEGIN = "<!-- conversions: tools/torch_operations.py -->\n"
END = "<!-- end of conversions -->\n"


def table() -> str:
    """The operations by the module that converts them."""
    modules: dict[str, set[str]] = defaultdict(set)
    for name, function in conversions().items():
        operation, _, overload = name.removeprefix("aten.").rpartition(".")
        modules[function.__module__.rpartition(".")[2]].add(
            operation if overload == "default" else f"{operation}.{overload}".removeprefix(".")
        )
    count = len(conversions())
    sections = [
        f"\n{count} operations have a conversion; those of `aten` are named without their namespace.\n"
    ]
    for module, names in sorted(modules.items()):
        listed = ", ".join(f"`{name}`" for name in sorted(names))
        sections.append(textwrap.fill(f"- {module}: {listed}", 120, subsequent_indent="  "))
    return "\n".join(sections) + "\n\n"


if __name__ == "__main__":
    replace_marked(DOCUMENT, BEGIN, table(), END)
