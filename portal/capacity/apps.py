from django.apps import AppConfig


class CapacityConfig(AppConfig):
    name = "portal.capacity"
    label = "capacity"
