from django.apps import AppConfig
from django.db.backends.signals import connection_created


class BillingConfig(AppConfig):
    name = "portal.billing"
    label = "billing"

    def ready(self) -> None:
        from portal.billing.fields import teach_sqlite

        connection_created.connect(teach_sqlite, dispatch_uid="billing.exact_sum")
