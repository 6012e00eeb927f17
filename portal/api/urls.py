from django.urls import path

from portal.api.native import api

app_name = "api"
urlpatterns = [path("", api.urls)]
