from django.urls import URLPattern, URLResolver, path

from portal.departments import admin_views, views

app_name = "departments"
urlpatterns: list[URLPattern | URLResolver] = [
    path("sign-in", views.sign_in, name="sign-in"),
    path("sign-out", views.sign_out, name="sign-out"),
    path("language", views.language, name="language"),
    path("preferences", views.preferences, name="preferences"),
    path("password", views.password, name="password"),
    path("keys", views.keys, name="keys"),
    path("keys/<uuid:ref>/revoke", views.revoke_key, name="revoke-key"),
    path("admin/departments", admin_views.departments, name="admin"),
    path("admin/departments/new", admin_views.department, name="new-department"),
    path("admin/departments/<uuid:ref>", admin_views.department, name="department"),
    path("admin/people", admin_views.people, name="people"),
    path("admin/people/new", admin_views.new_person, name="new-person"),
    path("admin/people/<uuid:ref>", admin_views.person, name="person"),
    path("admin/people/<uuid:ref>/password", admin_views.reset_password, name="reset-password"),
]
