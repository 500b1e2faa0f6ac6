import numpy as np

erf: np.ufunc
erfc: np.ufunc
erf_inv: np.ufunc
sine: np.ufunc
cosine: np.ufunc
exponential: np.ufunc
logistic: np.ufunc
