"""How fast steelyard is, beside a peer in the same run: `python -m benchmarks [NAME]`."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is imported
