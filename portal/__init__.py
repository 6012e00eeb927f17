"""The portal: pages, API and background work of Slackwater."""

from portal.celery import app as celery_app

__all__ = ["celery_app"]
