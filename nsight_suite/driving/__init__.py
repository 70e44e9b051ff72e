"""The toolkit with which a driver is written: the only package that touches the GPU.

A driver declares an `Experiment` (arrays, inputs, reference, launches, checks) and hands it to `run_driver`,
which does the rest of every pass. `capture/row/driver.py` is the example to copy.
"""
