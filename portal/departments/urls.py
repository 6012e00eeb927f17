from django.urls import URLPattern, URLResolver

app_name = "departments"
urlpatterns: list[URLPattern | URLResolver] = []
