"""What mypy's Django plugin imports: the real settings, with stand-ins for what must be given."""

import os

os.environ.setdefault("SECRET_KEY", "only for type checking")
os.environ.setdefault("DATABASE_URL", "postgresql://nobody@localhost/none")
os.environ.setdefault("BROKER_URL", "memory://")

from dashboard.settings import *  # noqa: F403
