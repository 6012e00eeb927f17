"""Addresses of a department's pages. One per step, so that reloading and going back work."""

from django.urls import path

from portal.packages.views import downloads, follow, home, prepare, promise, quarantine, reread, tus

app_name = "packages"
urlpatterns = [
    path("", home.home, name="home"),
    path("packages/new", prepare.new, name="new"),
    path("uploads", tus.begin, name="uploads"),
    path("uploads/<uuid:ref>", tus.upload, name="upload"),
    path("packages/<uuid:ref>", follow.detail, name="detail"),
    path("packages/<uuid:ref>/task", prepare.task, name="task"),
    path("packages/<uuid:ref>/preview", prepare.preview, name="preview"),
    path("packages/<uuid:ref>/reread", reread.reread, name="reread"),
    path("packages/<uuid:ref>/reading", prepare.reading, name="reading"),
    path("packages/<uuid:ref>/reading/stop", prepare.stop, name="stop-reading"),
    path("packages/<uuid:ref>/discard", prepare.discard, name="discard"),
    path("packages/<uuid:ref>/promise", promise.promise, name="promise"),
    path("packages/<uuid:ref>/confirm", promise.confirm, name="confirm"),
    path("packages/<uuid:ref>/live", follow.live, name="live"),
    path("packages/<uuid:ref>/pause", follow.pause, name="pause"),
    path("packages/<uuid:ref>/resume", follow.resume, name="resume"),
    path("packages/<uuid:ref>/cancel", follow.cancel, name="cancel"),
    path("packages/<uuid:ref>/quarantine", quarantine.quarantine, name="quarantine"),
    path("packages/<uuid:ref>/corrections", quarantine.correct, name="correct"),
    path("packages/<uuid:ref>/download/<str:what>", downloads.download, name="download"),
]
