from django.urls import URLPattern, URLResolver, path

from portal.capacity import views

app_name = "capacity"
urlpatterns: list[URLPattern | URLResolver] = [
    path("models", views.models, name="models"),
    path("models/new", views.model, name="new-model"),
    path("models/<slug:name>/edit", views.model, name="model"),
    path("pools", views.pools, name="pools"),
    path("pools/new", views.new_pool, name="new-pool"),
    path("pools/<slug:name>/edit", views.pool, name="pool"),
    path("pools/<slug:name>/windows", views.add_window, name="add-window"),
    path("pools/<slug:name>/windows/<int:pk>", views.window, name="window"),
    path("pools/<slug:name>/windows/<int:pk>/remove", views.remove_window, name="remove-window"),
]
