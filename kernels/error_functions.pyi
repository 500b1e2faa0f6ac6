import numpy as np

erf: np.ufunc
erfc: np.ufunc
