"""Giving work to Celery by the name of its task, so that what a task calls can ask for the next one."""

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = structlog.get_logger()


def enqueue_after_commit(task: str, *args: str | int) -> None:
    """Enqueue ``task`` (a name of ``portal.packages.tasks``) once the transaction has ended.

    A broker that is away is logged: the sweep finds in the database what is unfinished and enqueues it again.
    """

    def enqueue() -> None:
        try:
            current_app.tasks[task].apply_async(args, retry=False)
        except OperationalError:
            log.warning("work could not be enqueued", action="enqueue", task=task, package=args[0])

    transaction.on_commit(enqueue, robust=True)
