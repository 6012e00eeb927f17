from django.apps import AppConfig


class PackagesConfig(AppConfig):
    name = "portal.packages"
    label = "packages"

    def ready(self) -> None:
        """Make the tasks known by their names in every program (see ``enqueueing.py``)."""
        from portal.packages import tasks  # noqa: F401
