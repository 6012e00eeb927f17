from django.urls import URLPattern, URLResolver

app_name = "capacity"
urlpatterns: list[URLPattern | URLResolver] = []
