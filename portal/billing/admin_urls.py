from django.urls import URLPattern, URLResolver, path

from portal.billing import admin_views

app_name = "prices"
urlpatterns: list[URLPattern | URLResolver] = [
    path("", admin_views.prices, name="list"),
    path("new", admin_views.new_prices, name="new"),
]
