"""Writes X.npy and y.npy: 300 rows of three distant classes, rows 0 to 5 labelled as the next class."""
import numpy as np

random = np.random.default_rng(0)
y = np.arange(300) % 3
X = 4 * random.normal(size=(3, 8))[y] + random.normal(size=(300, 8))
y[:6] = (y[:6] + 1) % 3
np.save("X.npy", X.astype("f4"))
np.save("y.npy", y)
