"""``manage.py describe_api``: the OpenAPI description of the native API, as docs/openapi.json keeps it."""

import json
from typing import Any

from django.core.management import BaseCommand

from portal.api.native import api


class Command(BaseCommand):
    help = "Prints the OpenAPI description of the native API."
    requires_system_checks: list[str] = []

    def handle(self, *_args: Any, **_options: Any) -> None:
        description = api.get_openapi_schema(path_prefix="/api/v1/")
        self.stdout.write(json.dumps(description, indent=2, sort_keys=True, ensure_ascii=False, default=str))
