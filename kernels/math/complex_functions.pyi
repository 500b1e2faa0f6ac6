import numpy as np

modulus: np.ufunc
square_root: np.ufunc
logarithm: np.ufunc
log_plus_one: np.ufunc
sinh: np.ufunc
cosh: np.ufunc
tanh: np.ufunc
sine: np.ufunc
cosine: np.ufunc
tangent: np.ufunc
asin_acos: np.ufunc
asin: np.ufunc
acos: np.ufunc
asinh: np.ufunc
acosh: np.ufunc
atan: np.ufunc
atanh: np.ufunc
