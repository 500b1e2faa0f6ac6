import subprocess
import sys

import pytest
from scipy import special

from nimblehlo.program.ops.numerics import scipy_functions

_SCRIPT = """
import sys
import numpy as np
import nimblehlo

values = np.array([0.25, 3.5, -1.5])
text = '''
func.func @main(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %q = stablehlo.constant dense<2.0> : tensor<3xf64>
  %0 = chlo.lgamma %x : tensor<3xf64> -> tensor<3xf64>
  %1 = chlo.digamma %x : tensor<3xf64> -> tensor<3xf64>
  %2 = chlo.zeta %q, %x : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  return %0, %1, %2 : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}'''
executable = nimblehlo.compile(text, options=nimblehlo.Options(compile="never"))
results = executable(values)
# An extension module of one initialization phase (SciPy 1.15) notes its own name.
imported = {name for name in sys.modules if name.startswith("scipy")}
assert imported <= {"scipy.special._special_ufuncs"}, imported

from scipy import special
expected = special.gammaln(values), special.digamma(values), special.zeta(2.0, values)
assert all(np.array_equal(result, value) for result, value in zip(results, expected))
with special.errstate(singular="raise"):
    try:
        executable(np.array([0.25, 3.5, -1.0]))
    except nimblehlo.ExecutionError as error:
        assert "singularity" in str(error)
    else:
        raise AssertionError("no error")
"""


def _raise_import_error(spec: object) -> None:
    raise ImportError("no library")


def test_programs_import_neither_scipys_package_nor_its_linear_algebra() -> None:
    """The functions give the package's bits, and follow its error handling once it is imported."""
    subprocess.run([sys.executable, "-c", _SCRIPT], check=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("EXTENSION_SUFFIXES", [".none"]), ("_FUNCTIONS", ("none",)), ("module_from_spec", _raise_import_error)],
)
def test_the_package_serves_where_the_extension_does_not(
    name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scipy_functions._extension_module() is not None
    monkeypatch.setattr(scipy_functions, name, value)
    assert scipy_functions._extension_module() is None


def test_the_package_serves_once_it_is_imported() -> None:
    functions = scipy_functions.scipy_functions.__wrapped__()
    assert functions.__name__ == "scipy.special._ufuncs"
    assert functions.gammaln is special.gammaln
