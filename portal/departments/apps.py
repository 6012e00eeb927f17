from django.apps import AppConfig


class DepartmentsConfig(AppConfig):
    name = "portal.departments"
    label = "departments"
