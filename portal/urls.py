"""Every address of the portal."""

from django.urls import include, path

urlpatterns = [
    path("", include("portal.packages.urls")),
    path("", include("portal.departments.urls")),
    path("", include("portal.billing.urls")),
    path("admin/", include("portal.capacity.urls")),
    path("admin/prices/", include("portal.billing.admin_urls")),
    path("", include("portal.operations.urls")),
    path("api/v1/", include("portal.api.urls")),
]
