"""Every address of the portal."""

from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView


class Favicon(RedirectView):
    """For browsers that ask for the old name whatever a page says."""

    def get_redirect_url(self, *args: object, **kwargs: object) -> str:  # noqa: ARG002
        return static("mark.svg")


urlpatterns = [
    path("favicon.ico", Favicon.as_view(), name="favicon"),
    path("", include("portal.packages.urls")),
    path("", include("portal.departments.urls")),
    path("", include("portal.billing.urls")),
    path("admin/", include("portal.capacity.urls")),
    path("admin/prices/", include("portal.billing.admin_urls")),
    path("", include("portal.operations.urls")),
    path("api/v1/", include("portal.api.urls")),
]
