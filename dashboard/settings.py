"""Django's settings, read once from environment variables, typed; docs/architecture.md lists them.

Where a variable is not set, VAR_DIR/local.env (written by `make up`) is asked; then a default,
where there is a safe one. What is missing or wrong raises ImproperlyConfigured with the variable's
name and what to do.
"""

from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import environ
from celery.schedules import crontab
from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static
from tzlocal import get_localzone_name

from dashboard.results.core import artifact_store
from dashboard.site import admin_look
from dashboard.site.logs import logging_config

BASE_DIR = Path(__file__).resolve().parent.parent
DATABASE_TIMEOUT_S = 5  # for a new connection; `?connect_timeout=` in DATABASE_URL says otherwise
env = environ.Env()
VAR_DIR = Path(env.str("VAR_DIR", default=str(BASE_DIR / "var"))).resolve()
env.read_env(VAR_DIR / "local.env")


def required(name: str, what_to_do: str) -> str:
    """The variable's value; ImproperlyConfigured when it is missing or empty."""
    value: str = env.str(name, default="").strip()
    if not value:
        raise ImproperlyConfigured(
            f"{name} is not set: {what_to_do}, or start everything with `make up`, which writes "
            "it to "
            f"{VAR_DIR / 'local.env'}"
        )
    return value


def weakness(secret: str) -> str:
    """What makes a secret guessable, as the end of a sentence; empty for one that is not.

    Who knows the key signs in as anybody: no key from a tutorial, a template or somebody's
    keyboard.
    """
    if secret.startswith("django-insecure-"):
        return "is one that Django made for development"
    if any(
        word in secret.lower()
        for word in ("changeme", "change-me", "change_me", "your-secret", "example")
    ):
        return "is a placeholder"
    if len(secret) < 50 or len(set(secret)) < 10:
        return "is too short or too regular"
    return ""


def database(url: str) -> dict[str, Any]:
    """Django's description of the Postgres server at `url`; anything but Postgres is refused."""
    scheme = urlsplit(url).scheme
    if scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(
            f"DATABASE_URL begins with {scheme!r}: only postgresql:// is supported"
        )
    description: dict[str, Any] = environ.Env.db_url_config(url)
    # A server that is cut off answers nothing: without a limit every thread of the site would wait
    # for it for minutes.
    options = {"connect_timeout": DATABASE_TIMEOUT_S, **description.get("OPTIONS", {})}
    return {**description, "OPTIONS": options, "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}


def artifact_storage(address: str) -> dict[str, Any]:
    """Django's description of the store at `address`. ImproperlyConfigured: it is none, or what it
    needs is missing.
    """
    try:
        described = artifact_store.description(address)
    except ValueError as error:
        raise ImproperlyConfigured(f"ARTIFACT_STORE {error}") from None
    if address and not all(find_spec(package) for package in ("storages", "boto3")):
        raise ImproperlyConfigured(
            "ARTIFACT_STORE is set: install django-storages[s3], or leave it empty: a folder"
        )
    return described


def own_time_zone() -> str:
    """The machine's time zone; UTC where its configuration is missing or contradicts itself."""
    try:
        return ZoneInfo(get_localzone_name() or "UTC").key
    except (ZoneInfoNotFoundError, ValueError):
        return "UTC"


# --- Who we are
# --------------------------------------------------------------------------------------------
DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = required("SECRET_KEY", "set it to 50 or more random characters and keep it")
if not DEBUG and (problem := weakness(SECRET_KEY)):
    raise ImproperlyConfigured(
        f"SECRET_KEY {problem}: set it to what `openssl rand -hex 32` prints, and keep it"
    )
SITE_URL = env.str("SITE_URL", default="http://127.0.0.1:8000").rstrip("/")
if urlsplit(SITE_URL).scheme not in {"http", "https"} or not urlsplit(SITE_URL).hostname:
    raise ImproperlyConfigured(
        f"SITE_URL is {SITE_URL!r}: set it to the address people use, as https://host[:port]"
    )
PUBLIC_READ = env.bool("PUBLIC_READ", default=False)  # pages readable without signing in
TIME_ZONE = env.str("TIME_ZONE", default="") or own_time_zone()  # of schedules and pages
ALLOWED_HOSTS = env.list(
    "ALLOWED_HOSTS", default=["localhost", "127.0.0.1", urlsplit(SITE_URL).hostname]
)
CSRF_TRUSTED_ORIGINS = [SITE_URL]
ROOT_URLCONF = "dashboard.urls"
WSGI_APPLICATION = "dashboard.wsgi.application"
LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "unfold",  # before the admin, whose templates it replaces
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_celery_beat",
    "django_filters",
    "django_htmx",
    "csp",
    "axes",
    "dashboard",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",  # with random padding against BREACH
    "dashboard.site.log_context.RequestContext",
    "dashboard.middleware.ContentSecurityPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    *([] if PUBLIC_READ else ["django.contrib.auth.middleware.LoginRequiredMiddleware"]),
    "dashboard.accounts.audit.AuditTrail",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",  # last: it answers who is locked out
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "dashboard" / "templates"],  # before every app's: ours replace theirs
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {
                "advisor": "dashboard.advisor.templatetags.advisor",
                "cells": "dashboard.trends.templatetags.cells",
                "comparisons": "dashboard.comparisons.templatetags.comparisons",
                "compilewatch": "dashboard.ui.templatetags.compilewatch",
                "figures": "dashboard.overview.templatetags.figures",
                "numbers": "dashboard.ui.templatetags.numbers",
                "runs": "dashboard.runs.templatetags.runs",
            },
        },
    }
]
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "/"
LOGIN_REDIRECT_URL_FAILURE = "/sign-in/?refused=1"  # of single sign-on
OIDC_ISSUER = env.str("OIDC_ISSUER", default="").rstrip("/")  # empty: no single sign-on
AUTHENTICATION_BACKENDS = [
    # First: it refuses who is locked out before a password is looked at
    "axes.backends.AxesStandaloneBackend",
    *(["dashboard.accounts.single_sign_on.SingleSignOn"] if OIDC_ISSUER else []),
    "django.contrib.auth.backends.ModelBackend",
]
AXES_FAILURE_LIMIT = 10  # wrong passwords for one account from one address
# By name alone, anybody could lock anybody out
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "accounts/locked_out.html"
AXES_ENABLE_ADMIN = False  # dashboard.accounts.admin.audit shows its tables
AXES_VERBOSE = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]

# --- Where data lies
# ---------------------------------------------------------------------------------------
DATABASES = {
    "default": database(
        required("DATABASE_URL", "set it to postgresql://user:password@host/database")
    )
}
# Artifacts, unless ARTIFACT_STORE names a bucket; never served by path
MEDIA_ROOT = VAR_DIR / "files"
ARTIFACT_STORE = env.str("ARTIFACT_STORE", default="").strip()
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS: list[Path] = []  # the app's own folder dashboard/static is found by its app
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "dashboard.site.staticfiles.PackageFileFinder",
]
PACKAGE_FILES = {  # URL: package, its file
    "plotly/plotly.min.js": ("plotly", "package_data/plotly.min.js"),
    "swagger/swagger-ui-bundle.js": ("ninja", "static/ninja/swagger-ui-bundle.js"),
    "swagger/swagger-ui.css": ("ninja", "static/ninja/swagger-ui.css"),
    # Which the stylesheet names
    "swagger/swagger-ui.css.map": ("ninja", "static/ninja/swagger-ui.css.map"),
}
# Compressing takes half a minute and gains nothing on one's own machine: `make up` turns it off.
HASHED_STATIC = (
    "dashboard.site.staticfiles.HashedStaticFiles"
    if env.bool("COMPRESS_STATIC", default=True)
    else "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"
)
STORAGES = {
    "default": artifact_storage(ARTIFACT_STORE),
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else HASHED_STATIC
    },
}

# --- Where torch builds come from
# --------------------------------------------------------------------------
# Empty: what pip is configured with
PACKAGE_INDEX_URL = env.str("PACKAGE_INDEX_URL", default="").rstrip("/")
# Empty: no nightlies are looked for
NIGHTLY_INDEX_URL = env.str("NIGHTLY_INDEX_URL", default="").rstrip("/")

# --- Celery: the scheduler and the dashboard worker; the benchmark workers are the runner's
# ----------------
BROKER_URL = required("BROKER_URL", "set it to redis://host:6379/0 or amqp://host")
# How often a worker reports: a cancel takes this long
HEARTBEAT_S = env.int("HEARTBEAT_S", default=3)
# a job whose worker is silent for this long is queued again
LEASE_S = env.int("LEASE_S", default=30)
# Services.schedules writes it into django-celery-beat's tables, where the admin shows it
BEAT_SCHEDULE = {
    "Reap silent jobs": ("dashboard.tasks.reap", 5),
    # Messages wake it at once; this is for lost ones
    "Judge what is due": ("dashboard.tasks.detect", 30),
    "Tell people": ("dashboard.tasks.tell", 15),
    "Listen for silence": ("dashboard.tasks.listen_for_silence", 300),
    "Advance bisections": ("dashboard.tasks.advance_bisections", 20),
    "Create data partitions": ("dashboard.tasks.create_partitions", crontab(hour="1", minute="15")),
    "Delete old samples and artifacts": (
        "dashboard.tasks.forget_old",
        crontab(hour="1", minute="30"),
    ),
    # Before the nightly runs
    "Discover builds": ("dashboard.tasks.discover_builds", crontab(hour="2", minute="30")),
}

# --- Single sign-on, where there is an issuer; mozilla-django-oidc's names
# ------------------------------------
if OIDC_ISSUER:
    OIDC_RP_CLIENT_ID = required("OIDC_CLIENT_ID", "set it to what the issuer calls this site")
    OIDC_RP_CLIENT_SECRET = required(
        "OIDC_CLIENT_SECRET", "set it to the secret that the issuer shares with this site"
    )
    OIDC_OP_AUTHORIZATION_ENDPOINT = required(
        "OIDC_AUTHORIZATION_URL", "see /.well-known/openid-configuration there"
    )
    OIDC_OP_TOKEN_ENDPOINT = required(
        "OIDC_TOKEN_URL", "see /.well-known/openid-configuration of the issuer"
    )
    OIDC_OP_USER_ENDPOINT = required(
        "OIDC_USER_URL", "see userinfo_endpoint in /.well-known/openid-configuration"
    )
    OIDC_OP_JWKS_ENDPOINT = required(
        "OIDC_JWKS_URL", "see jwks_uri in /.well-known/openid-configuration"
    )
    OIDC_RP_SIGN_ALGO = "RS256"
    OIDC_TIMEOUT = 10
    OIDC_USE_PKCE = True
OIDC_ROLE = env.str("OIDC_ROLE", default="viewer")  # of who signs in for the first time

# --- Security
# ----------------------------------------------------------------------------------------------
IS_HTTPS = urlsplit(SITE_URL).scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = IS_HTTPS
# TLS ends in a proxy
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if IS_HTTPS else None
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # asked from inside, without TLS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if IS_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = IS_HTTPS
# Entering a browser's preload list is the domain owner's decision
SILENCED_SYSTEM_CHECKS = ["security.W021"]
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "worker-src": [SELF, "blob:"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
# Unfold's Alpine.js evaluates attributes, and its templates bring their own styles
ADMIN_POLICY = {
    "script-src": [SELF, UNSAFE_EVAL, UNSAFE_INLINE],
    "style-src": [SELF, UNSAFE_INLINE],
}
CHART_POLICY = {
    "style-src-attr": [UNSAFE_INLINE],  # Plotly positions its parts with style attributes
    # and its full bundle brings the style element of a map library, by its hash in plotly 7.1;
    # another would be refused
    "style-src-elem": [SELF, "'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='"],
}

# --- Limits of what a worker may send
# ----------------------------------------------------------------------
RESULT_LIMIT_BYTES = 32 * 1024 * 1024  # unpacked
ARTIFACT_LIMIT_BYTES = 64 * 1024 * 1024
ARTIFACTS_PER_JOB = 50
KEEP_SAMPLES_DAYS = env.int("KEEP_SAMPLES_DAYS", default=90)  # services/retention.py; 0: for ever
KEEP_ARTIFACTS_DAYS = env.int("KEEP_ARTIFACTS_DAYS", default=365)

# --- Telling people
# ----------------------------------------------------------------------------------------
# Webhooks to addresses that are not public
ALLOW_PRIVATE_WEBHOOKS = env.bool("ALLOW_PRIVATE_WEBHOOKS", default=False)

# --- To be watched
# -----------------------------------------------------------------------------------------
# Dashboard/alive.py touches it
ALIVE_FILE = Path(alive) if (alive := env.str("ALIVE_FILE", default="")) else None
# Reads /metrics; without one signed-in staff alone may
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

# --- Logs
# --------------------------------------------------------------------------------------------------
LOGGING = logging_config(as_json=env.str("LOG_FORMAT", default="text") == "json")

UNFOLD = {
    "SITE_TITLE": "Compilewatch",
    "SITE_HEADER": "Compilewatch",
    "SITE_URL": "/",
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda request: static("compilewatch/icon.svg"),
        }
    ],
    "SHOW_HISTORY": True,
    "COLORS": admin_look.COLORS,
    "SIDEBAR": {"show_search": True, "navigation": admin_look.navigation},
    "DASHBOARD_CALLBACK": "dashboard.site.admin.index.context",
}
