from django.urls import path, re_path

from portal.api.native import api, nothing_here

app_name = "api"
urlpatterns = [
    path("", nothing_here, name="root"),
    path("", api.urls),
    re_path("", nothing_here, name="elsewhere"),
]
