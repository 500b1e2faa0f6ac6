import numpy as np

VECTOR_FUNCTIONS: dict[str, dict[int, int]]

erf: np.ufunc
erfc: np.ufunc
erf_inv: np.ufunc
sine: np.ufunc
cosine: np.ufunc
exponential: np.ufunc
logistic: np.ufunc
tanh: np.ufunc
cbrt: np.ufunc
logarithm: np.ufunc
log_plus_one: np.ufunc
exponential_minus_one: np.ufunc
tangent: np.ufunc
sinh: np.ufunc
cosh: np.ufunc
asin: np.ufunc
acos: np.ufunc
atan: np.ufunc
asinh: np.ufunc
acosh: np.ufunc
atanh: np.ufunc
power: np.ufunc
atan2: np.ufunc
fast_erf: np.ufunc
fast_erfc: np.ufunc
fast_exponential: np.ufunc
fast_exponential_minus_one: np.ufunc
fast_logarithm: np.ufunc
fast_log_plus_one: np.ufunc
fast_tanh: np.ufunc
fast_sine: np.ufunc
fast_cosine: np.ufunc
fast_tangent: np.ufunc
fast_sinh: np.ufunc
fast_cosh: np.ufunc
fast_asin: np.ufunc
fast_acos: np.ufunc
fast_atan: np.ufunc
fast_cbrt: np.ufunc
fast_erf_inv: np.ufunc
fast_power: np.ufunc
fast_atan2: np.ufunc
