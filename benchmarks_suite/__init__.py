"""The benchmarks of Compilewatch. Runs inside any torch environment; needs torch, the model
libraries, the stdlib.
"""

__version__ = "0.7.0"
