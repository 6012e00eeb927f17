from django.apps import AppConfig


class PackagesConfig(AppConfig):
    name = "portal.packages"
    label = "packages"
