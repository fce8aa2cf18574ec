"""The environments in which the suite can run: one torch build each.

They are adopted interpreters, and those that we make.
"""

from runner.environments.adopted import (
    SuiteEnvironment,
    UnusableEnvironment,
    adopt,
    adopt_further,
    import_path,
)

__all__ = ["SuiteEnvironment", "UnusableEnvironment", "adopt", "adopt_further", "import_path"]
