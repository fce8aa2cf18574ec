"""The site's settings for tests, and for mypy's Django plugin: the real ones, with three
differences.
"""

import os

os.environ.setdefault("SECRET_KEY", "only for tests, which nobody can reach from outside")
# Tests/conftest.py starts the server
os.environ.setdefault("DATABASE_URL", "postgresql://postgres@/compilewatch")
os.environ.setdefault("BROKER_URL", "memory://")

from dashboard.settings import *  # noqa: F403
from dashboard.settings import STORAGES

# The slow one costs 0.2 s for each account
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    **STORAGES,
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
PUBLIC_READ = False  # whatever the developer's own site allows
