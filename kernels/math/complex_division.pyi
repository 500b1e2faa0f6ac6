import numpy as np

divide: np.ufunc
quotient_by_annex_g: np.ufunc
