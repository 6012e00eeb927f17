from django.urls import URLPattern, URLResolver

app_name = "packages"
urlpatterns: list[URLPattern | URLResolver] = []
