from django.urls import path

from portal.billing import views

app_name = "billing"
urlpatterns = [
    path("usage", views.usage, name="usage"),
    path("bills", views.bills, name="bills"),
    path("bills/<slug:month>.pdf", views.pdf, name="pdf"),
    path("bills/<slug:month>.csv", views.detail, name="csv"),
]
