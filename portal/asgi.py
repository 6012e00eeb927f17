"""The portal as an ASGI application (server-sent events need one)."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup(set_prefix=False)

from portal.intake import MeasuredPortal  # noqa: E402  it needs the apps

application = MeasuredPortal()
