"""The environments in which the suite can run, each one torch build: adopted interpreters, and
those that we make.
"""

from runner.environments.adopted import (
    Environment,
    UnfitEnvironment,
    adopt,
    adopt_also,
    import_path,
)

__all__ = ["Environment", "UnfitEnvironment", "adopt", "adopt_also", "import_path"]
