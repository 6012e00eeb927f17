"""The Celery application: reading manifests, finalising packages, and whatever else takes longer than a page."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
app = Celery("slackwater")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
