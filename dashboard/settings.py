"""Django's settings, read once from environment variables; docs/architecture.md lists them.

A variable that is not set is looked up in VAR_DIR/local.env, which `make up` writes; then comes a
default, where there is a safe one. A value that is missing or wrong raises ImproperlyConfigured
with the variable's name and what to do. site/configuration.py checks the values.
"""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import environ
from celery.schedules import crontab
from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.core.exceptions import ImproperlyConfigured

from dashboard.site import admin_look, configuration
from dashboard.site.logs import logging_config

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
VAR_DIR = Path(env.str("VAR_DIR", default=str(BASE_DIR / "var"))).resolve()
LOCAL_ENV = VAR_DIR / "local.env"
env.read_env(LOCAL_ENV)


def required(name: str, what_to_do: str) -> str:
    """The variable's value; ImproperlyConfigured when it is missing or empty."""
    value: str = env.str(name, default="").strip()
    if value:
        return value
    if LOCAL_ENV.exists():
        raise ImproperlyConfigured(f"{name} is not set: {what_to_do}.")
    raise ImproperlyConfigured(
        f"{name} is not set, and there is no {LOCAL_ENV}, which `make up` writes. If it runs with "
        "another VAR_DIR, set the same here: VAR_DIR=… .venv/bin/python manage.py …; for "
        f"`make demo` VAR_DIR=var/demo. Without `make up`: {what_to_do}."
    )


# --- The site
DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = required("SECRET_KEY", "set it to 50 or more random characters and keep it")
if not DEBUG:
    configuration.refuse_guessable_key(SECRET_KEY)
SITE_URL = env.str("SITE_URL", default="http://127.0.0.1:8000").rstrip("/")
if urlsplit(SITE_URL).scheme not in {"http", "https"} or not urlsplit(SITE_URL).hostname:
    raise ImproperlyConfigured(
        f"SITE_URL is {SITE_URL!r}: set it to the address people use, as https://host[:port]"
    )
PUBLIC_READ = env.bool("PUBLIC_READ", default=False)  # pages readable without signing in
# Of schedules and pages
TIME_ZONE = env.str("TIME_ZONE", default="") or configuration.local_time_zone()
# The machine itself always: `make up`, its worker and health checks ask for it there
ALLOWED_HOSTS = [
    "localhost",
    "127.0.0.1",
    *env.list("ALLOWED_HOSTS", default=[urlsplit(SITE_URL).hostname]),
]
CSRF_TRUSTED_ORIGINS = [SITE_URL]
ROOT_URLCONF = "dashboard.urls"
WSGI_APPLICATION = "dashboard.wsgi.application"
LANGUAGE_CODE = "en-us"
USE_I18N = False  # English, whatever the browser asks for
USE_TZ = True
FORMAT_MODULE_PATH = "dashboard.site.formats"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "dashboard",  # before Unfold, whose typeface it replaces
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
]
MIDDLEWARE = [
    "dashboard.site.methods.Methods",  # first: the length is of what GET would be sent
    "dashboard.site.security_headers.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",  # with random padding against BREACH
    "dashboard.site.log_context.RequestContext",
    "dashboard.site.admin_pages.AdminInUTC",
    "dashboard.site.security_headers.ContentSecurityPolicy",
    "dashboard.site.storable_text.StorableText",  # before all that read or store what was sent
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    *([] if PUBLIC_READ else ["django.contrib.auth.middleware.LoginRequiredMiddleware"]),
    "dashboard.accounts.readers.ReadersOnly",
    "dashboard.accounts.audit.AuditTrail",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",  # last: it answers for locked-out accounts
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
                "cells": "dashboard.trends.templatetags.cells",
                "changes": "dashboard.changes.templatetags.changes",
                "comparisons": "dashboard.comparisons.templatetags.comparisons",
                "compilewatch": "dashboard.ui.templatetags.compilewatch",
                "drawings": "dashboard.ui.templatetags.drawings",
                "figures": "dashboard.home.templatetags.figures",
                "kernels": "dashboard.results.templatetags.kernels",
                "manage": "dashboard.catalog.templatetags.manage",
                "numbers": "dashboard.ui.templatetags.numbers",
                "runs": "dashboard.runs.templatetags.runs",
            },
        },
    }
]
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "/"
LOGIN_REDIRECT_URL_FAILURE = "/sign-in/?refused=1"  # after single sign-on
OIDC_ISSUER = env.str("OIDC_ISSUER", default="").rstrip("/")  # empty: no single sign-on
AUTHENTICATION_BACKENDS = [
    # First: it refuses a locked-out account before its password is checked
    "axes.backends.AxesStandaloneBackend",
    *(["dashboard.accounts.single_sign_on.SingleSignOn"] if OIDC_ISSUER else []),
    "django.contrib.auth.backends.ModelBackend",
]
AXES_FAILURE_LIMIT = 10  # wrong passwords for one account from one address
AXES_LOCKOUT_PARAMETERS = "dashboard.accounts.lockout.lockout_parameters"
AXES_CLIENT_IP_CALLABLE = "dashboard.accounts.lockout.client_address"
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_USERNAME_CALLABLE = "dashboard.accounts.lockout.counted_name"
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

# --- Where data is stored
DATABASES = {
    "default": configuration.database(
        required("DATABASE_URL", "set it to postgresql://user:password@host/database")
    )
}
# Artifacts, unless ARTIFACT_STORE names a bucket; never served by path
MEDIA_ROOT = VAR_DIR / "files"
ARTIFACT_STORE = env.str("ARTIFACT_STORE", default="").strip()
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "dashboard.site.staticfiles.PackageFileFinder",
]
if DEBUG:
    STATICFILES_BACKEND = "django.contrib.staticfiles.storage.StaticFilesStorage"
else:
    STATICFILES_BACKEND = "dashboard.site.staticfiles.HashedStaticFiles"
STORAGES = {
    "default": configuration.artifact_storage(ARTIFACT_STORE),
    "staticfiles": {"BACKEND": STATICFILES_BACKEND},
}

# --- Where torch builds come from
# Empty: what pip is configured with
PACKAGE_INDEX_URL = env.str("PACKAGE_INDEX_URL", default="").rstrip("/")
# Empty: no nightlies are looked for
NIGHTLY_INDEX_URL = env.str("NIGHTLY_INDEX_URL", default="").rstrip("/")
# Empty: no release candidates are looked for
TEST_INDEX_URL = env.str("TEST_INDEX_URL", default="").rstrip("/")

# --- Celery: the scheduler and the dashboard worker; the benchmark workers are the runner's
BROKER_URL = required("BROKER_URL", "set it to redis://host:6379/0 or amqp://host")
# How often a worker reports: a cancel takes this long
HEARTBEAT_S = env.int("HEARTBEAT_S", default=3)
# A job whose worker is silent for this long is queued again
LEASE_S = env.int("LEASE_S", default=30)
# Title: task, seconds or time of day. runs/services/schedules.py copies it into
# django-celery-beat's tables, where the admin shows it: a title or a task never changes.
BEAT_SCHEDULE = {
    "Reap silent jobs": ("dashboard.tasks.reap", 5),
    # A message starts it at once; this is for messages that were lost
    "Judge what is due": ("dashboard.tasks.detect", 30),
    "Tell people": ("dashboard.tasks.tell", 15),
    "Listen for silence": ("dashboard.tasks.listen_for_silence", 300),
    "Advance bisections": ("dashboard.tasks.advance_bisections", 20),
    "Follow linked issues": ("dashboard.tasks.follow_issues", 1800),
    "Settle comparisons": ("dashboard.tasks.settle_comparisons", 10),
    "Follow release candidates": ("dashboard.tasks.follow_candidates", 1800),
    "Create data partitions": ("dashboard.tasks.create_partitions", crontab(hour="1", minute="15")),
    "Delete old samples and artifacts": (
        "dashboard.tasks.forget_old",
        crontab(hour="1", minute="30"),
    ),
    # Before the nightly runs
    "Discover builds": ("dashboard.tasks.discover_builds", crontab(hour="2", minute="30")),
}

# --- Single sign-on, where there is an issuer; mozilla-django-oidc's names
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
OIDC_ROLE = env.str("OIDC_ROLE", default="viewer")  # the role at the first sign-in

# --- Security
IS_HTTPS = urlsplit(SITE_URL).scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = IS_HTTPS
# TLS ends in a proxy
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if IS_HTTPS else None
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # read locally, without TLS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if IS_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = IS_HTTPS
# Entering a browser's preload list is the domain owner's decision
SILENCED_SYSTEM_CHECKS = ["security.W021"]
X_FRAME_OPTIONS = "DENY"
SECURITY_HEADERS = {
    # Badges and embedded charts are for other sites' pages, and say so themselves
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
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
}

# --- Limits of what may be sent
# Of a call of the API; forms, and workers' calls with their catalogs, have Django's 2.5 MiB
DOCUMENT_LIMIT_BYTES = 64 * 1024
RESULT_LIMIT_BYTES = 32 * 1024 * 1024  # unpacked
ARTIFACT_LIMIT_BYTES = 64 * 1024 * 1024
ARTIFACTS_PER_JOB = 50
KEEP_SAMPLES_DAYS = env.int("KEEP_SAMPLES_DAYS", default=90)  # results' retention.py; 0: for ever
KEEP_ARTIFACTS_DAYS = env.int("KEEP_ARTIFACTS_DAYS", default=365)
KEEP_AUDIT_DAYS = env.int("KEEP_AUDIT_DAYS", default=365)

# --- Bisections
# Of searches that alerts start, on one machine; 0: none is started
BISECTION_JOBS_A_DAY = env.int("BISECTION_JOBS_A_DAY", default=60)

# --- Reports of alerts, and issues of other systems
# Of diagnostic reruns that confirmed alerts start, on one machine; 0: none is started
EVIDENCE_JOBS_A_DAY = env.int("EVIDENCE_JOBS_A_DAY", default=12)
ISSUE_REPOSITORY = env.str("ISSUE_REPOSITORY", default="pytorch/pytorch")  # on GitHub
GITHUB_API_URL = env.str("GITHUB_API_URL", default="https://api.github.com").rstrip("/")
# Reads the state of linked issues; empty: none is followed
GITHUB_TOKEN = env.str("GITHUB_TOKEN", default="")

# --- Notifications
# Webhooks to addresses that are not public
ALLOW_PRIVATE_WEBHOOKS = env.bool("ALLOW_PRIVATE_WEBHOOKS", default=False)
# The mail server, as smtp+tls://user:password@smtp.example.org:587; empty: no channel can be a mail
EMAIL_URL = env.str("EMAIL_URL", default="").strip()
mail_server = configuration.mail_server(EMAIL_URL)
EMAIL_HOST = mail_server["EMAIL_HOST"]
EMAIL_PORT = mail_server["EMAIL_PORT"]
EMAIL_HOST_USER = mail_server["EMAIL_HOST_USER"]
EMAIL_HOST_PASSWORD = mail_server["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS = mail_server.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = mail_server.get("EMAIL_USE_SSL", False)
DEFAULT_FROM_EMAIL = (
    env.str("EMAIL_FROM", default="")
    or f"Compilewatch <compilewatch@{urlsplit(SITE_URL).hostname}>"
)
EMAIL_TIMEOUT = 10

# --- Monitoring
alive_file = env.str("ALIVE_FILE", default="")
ALIVE_FILE = Path(alive_file) if alive_file else None  # site/liveness.py touches it
# The scheduler prints a line when a job ends
PRINT_PROGRESS = env.bool("PRINT_PROGRESS", default=False)
# Reads /metrics; without one, only signed-in staff may
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

# --- Logs
LOGGING = logging_config(as_json=env.str("LOG_FORMAT", default="text") == "json")
UNFOLD = admin_look.UNFOLD
