from django.urls import URLPattern, URLResolver, path

from portal.operations import views

app_name = "operations"
urlpatterns: list[URLPattern | URLResolver] = [
    path("operations", views.board, name="board"),
    path("operations/dead-letters", views.dead_letters, name="dead-letters"),
    path("operations/audit", views.audit, name="audit"),
]
