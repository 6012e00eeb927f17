"""Settings of the portal, Celery and the scheduler. Every value comes from the environment or a default.

A value that cannot work is refused here, at start, with the name of the variable and what to write instead.
"""

import os
import secrets
from pathlib import Path

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(os.environ.get("SLACKWATER_VAR", BASE_DIR / "var")).resolve()
VAR_DIR.mkdir(parents=True, exist_ok=True)


def _generated_secret(name: str) -> str:
    """A secret that is made on first start and kept, readable by its owner only, under var/."""
    path = VAR_DIR / name
    if not path.exists():
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(48), encoding="ascii")
        try:
            os.link(fresh, path)  # the first process wins; the others read what it wrote
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text(encoding="ascii").strip()


def _flag(name: str, default: bool) -> bool:
    value = os.environ.get(name, "1" if default else "0")
    if value not in {"0", "1"}:
        raise ImproperlyConfigured(f"{name} must be 0 or 1, not {value!r}")
    return value == "1"


def _whole_number(name: str, default: int, *, at_least: int) -> int:
    value = os.environ.get(name, str(default))
    if not value.isdecimal() or int(value) < at_least:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least {at_least}, not {value!r}")
    return int(value)


def _url(name: str, default: str, schemes: tuple[str, ...]) -> str:
    value = os.environ.get(name, default)
    if value.partition(":")[0] not in schemes:
        raise ImproperlyConfigured(f"{name} must begin with one of {', '.join(schemes)}, not {value!r}")
    return value


# --- the four stores -------------------------------------------------------------------------------------
DATABASE_URL = _url("DATABASE_URL", f"sqlite:///{VAR_DIR / 'slackwater.sqlite3'}", ("sqlite", "postgres", "postgresql"))
REDIS_URL = _url("REDIS_URL", "redis://127.0.0.1:6379/0", ("redis", "rediss", "unix"))
BUS_URL = _url("BUS_URL", REDIS_URL, ("redis", "rediss", "unix", "memory"))
OBJECTS_URL = _url("OBJECTS_URL", f"file://{VAR_DIR / 'objects'}", ("file", "memory"))

DATABASES = {"default": dj_database_url.parse(DATABASE_URL, conn_max_age=60, conn_health_checks=True)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Write-ahead log, writers queue from the first statement: no "database is locked" after reading.
    DATABASES["default"]["CONN_MAX_AGE"] = 0
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    }
    DATABASES["default"]["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}

# --- Django ----------------------------------------------------------------------------------------------
SECRET_KEY = os.environ.get("SECRET_KEY") or _generated_secret("secret_key")
DEBUG = _flag("SLACKWATER_DEBUG", False)
ALLOWED_HOSTS = os.environ.get("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]").split(",")
CSRF_TRUSTED_ORIGINS = [o for o in os.environ.get("CSRF_TRUSTED_ORIGINS", "").split(",") if o]
ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "departments.Person"
LOGIN_URL = "departments:sign-in"
LOGIN_REDIRECT_URL = "packages:home"
LOGOUT_REDIRECT_URL = "departments:sign-in"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "portal.audit",
    "portal.departments",
    "portal.capacity",
    "portal.billing",
    "portal.packages",
    "portal.operations",
    "portal.api",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "portal.departments.middleware.PreferencesMiddleware",
    "portal.departments.middleware.FreshPasswordMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "portal.departments.middleware.RefusalMiddleware",
    "portal.packages.middleware.ReplacedCorrectionMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.departments.context.navigation",
            ],
            "builtins": ["django.templatetags.i18n", "django.templatetags.static"],
        },
        "APP_DIRS": True,
    }
]

AUTHENTICATION_BACKENDS = ["portal.departments.backend.OpenDepartmentBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

# --- language, time, money -------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "portal" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
CURRENCY = os.environ.get("SLACKWATER_CURRENCY", "CNY")

# --- static files ----------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- uploads ---------------------------------------------------------------------------------------------
UPLOAD_LIMIT_BYTES = _whole_number("SLACKWATER_UPLOAD_LIMIT_BYTES", 2 * 1024**3, at_least=1024)
EXPANDED_LIMIT_BYTES = _whole_number("SLACKWATER_EXPANDED_LIMIT_BYTES", 8 * 1024**3, at_least=1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024**2  # form fields; files are streamed and have their own limit
FILE_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024
FILE_UPLOAD_TEMP_DIR = VAR_DIR / "incoming"
FILE_UPLOAD_TEMP_DIR.mkdir(exist_ok=True)

# --- security --------------------------------------------------------------------------------------------
BEHIND_TLS = _flag("SLACKWATER_BEHIND_TLS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "portal.departments.views.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if BEHIND_TLS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
}

# --- Celery ----------------------------------------------------------------------------------------------
# The broker may lose everything: the scheduler's sweep enqueues again what PostgreSQL says is unfinished.
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 7200}
CELERY_RESULT_BACKEND_TRANSPORT_OPTIONS = {"visibility_timeout": 7200}
CELERY_VISIBILITY_TIMEOUT = 7200
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# --- promises --------------------------------------------------------------------------------------------
QUOTE_VALID_S = _whole_number("SLACKWATER_QUOTE_VALID_S", 900, at_least=1)
STANDARD_TIER_HOURS = 24
EXPRESS_TIER_HOURS = 4
SHARD_TARGET_S = _whole_number("SLACKWATER_SHARD_TARGET_S", 60, at_least=1)
LEASE_S = _whole_number("SLACKWATER_LEASE_S", 30, at_least=3)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("SLACKWATER_LOG_LEVEL", "INFO")},
    "loggers": {"httpx": {"level": "WARNING"}, "fontTools": {"level": "WARNING"}},
}
