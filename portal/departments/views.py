"""Pages about oneself: sign in, preferences, password, API keys; and the pages for what went wrong."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout, update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone, translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from portal.departments import queries, services
from portal.departments.forms import KeyForm, PasswordForm, PreferencesForm, SignInForm, add_refusal
from portal.departments.models import Language, Person
from portal.departments.permissions import DEPARTMENT_ROLES, home_of, open_to, signed_in
from portal.departments.refusals import Refusal

CHOSEN_AT_THE_DOOR = "language"
"""The key of a session under which a language lies that somebody chose before signing in."""


def _safe(request: HttpRequest, target: str, otherwise: str) -> str:
    """``target`` if it stays on this site."""
    inside = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if inside else otherwise


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Email and password; then on to the page that was asked for."""
    if request.user.is_authenticated:
        return redirect(home_of(signed_in(request)))
    form = SignInForm(request.POST or None)
    status = 200 if request.method == "GET" else 422
    if form.is_valid():
        try:
            client = request.META.get("REMOTE_ADDR", "")
            person = services.check_credentials(**form.cleaned_data, client=client, now=timezone.now())
        except Refusal as refusal:
            add_refusal(form, refusal)
            status = refusal.status
        else:
            chosen = request.session.get(CHOSEN_AT_THE_DOOR)  # asked before: signing in may end another's session
            login(request, person)
            _keep_language(request, person, chosen)
            return redirect(_safe(request, request.POST.get("next", ""), home_of(person)))
    following = request.POST.get("next") or request.GET.get("next", "")
    return render(request, "departments/sign_in.html", {"form": form, "next": following}, status=status)


def _keep_language(request: HttpRequest, person: Person, chosen: str | None) -> None:
    """Whoever chose a language and then signed in goes on in it."""
    request.session.pop(CHOSEN_AT_THE_DOOR, None)
    if chosen is not None and chosen != person.language:
        person.language = chosen
        services.choose_preferences(person=person, now=timezone.now())


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    return redirect("departments:sign-in")


@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """The EN / 中文 switch of the frame: kept with the person, before sign-in in a cookie and for who signs in next."""
    chosen = request.POST.get("language")
    response = redirect(_safe(request, request.POST.get("next", ""), "/"))
    if chosen not in Language.values:
        return response
    if request.user.is_authenticated:
        person = signed_in(request)
        person.language = chosen
        services.choose_preferences(person=person, now=timezone.now())
    else:
        request.session[CHOSEN_AT_THE_DOOR] = chosen
    response.set_cookie(settings.LANGUAGE_COOKIE_NAME, chosen, max_age=365 * 86400, httponly=True, samesite="Lax")
    return response


@open_to()
@require_http_methods(["GET", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """Language and theme."""
    form = PreferencesForm(request.POST or None, instance=signed_in(request))
    if form.is_valid():
        person = form.save(commit=False)
        services.choose_preferences(person=person, now=timezone.now())
        with translation.override(person.language):
            messages.success(request, _("Saved."))
        return redirect("departments:preferences")
    return render(request, "departments/preferences.html", {"form": form}, status=_status(request))


@open_to()
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Choose a new password; this session goes on, the others end."""
    person = signed_in(request)
    if request.method == "POST":
        services.spend_password_try(person=person, now=timezone.now())
    form = PasswordForm(person, request.POST or None)
    if form.is_valid():
        services.choose_password(person=person, password=form.cleaned_data["new"], now=timezone.now())
        update_session_auth_hash(request, person)
        messages.success(request, _("Your password is changed. Other devices have been signed out."))
        return redirect(home_of(person))
    return render(request, "departments/password.html", {"form": form}, status=_status(request))


@never_cache
@open_to(*DEPARTMENT_ROLES)
@require_http_methods(["GET", "POST"])
def keys(request: HttpRequest) -> HttpResponse:
    """One's own API keys; a new one is shown once, in the answer that creates it."""
    person = signed_in(request)
    form = KeyForm(request.POST or None)
    context: dict[str, object] = {"form": form, "keys": queries.keys_of(person)}
    if form.is_valid():
        _key, secret = services.create_api_key(person=person, name=form.cleaned_data["name"], now=timezone.now())
        return render(request, "departments/keys.html", {**context, "form": KeyForm(), "secret": secret})
    return render(request, "departments/keys.html", context, status=_status(request))


@open_to(*DEPARTMENT_ROLES)
@require_POST
def revoke_key(request: HttpRequest, ref: UUID) -> HttpResponse:
    """End one of one's own keys."""
    services.revoke_api_key(person=signed_in(request), ref=ref, now=timezone.now())
    messages.success(request, _("The key is revoked. Programs that use it are refused from now on."))
    return redirect("departments:keys")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001
    """Django's answer to a missing or stale form token, as a page that says what to do."""
    template = "fragments/csrf_failure.html" if request.headers.get("HX-Request") else "csrf_failure.html"
    return render(request, template, status=403)


def _status(request: HttpRequest) -> int:
    """A form that is shown again after a POST was refused: 422, so that programs and htmx can tell."""
    return 422 if request.method == "POST" else 200
