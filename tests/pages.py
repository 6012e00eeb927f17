"""A person's browser without scripts, going through a department's pages by plain forms."""

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from portal.departments.models import Person
from portal.packages.models import Package
from tests.world import World

REVIEWS = b"id,review\n1,A quiet fan\n2,It broke on day two\n3,\n"
TASK = {
    "name": "Reviews",
    "kind": "tagging",
    "labels": "good\nbad",
    "user_template": "Good or bad? {{review}}",
    "max_output_tokens": "8",
    "temperature": "0",
    "id_column": "id",
    "run_repeats_once": "on",
}


def client_of(person: Person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def upload(client: Client, content: bytes = REVIEWS, name: str = "reviews.csv", **extra: str) -> HttpResponse:
    return client.post(reverse("packages:new"), {"file": SimpleUploadedFile(name, content)}, headers=extra)


def draft(client: Client, world: World) -> Package:
    assert upload(client).status_code == 302
    return Package.objects.for_department(world.retail).get()


def page(client: Client, step: str, package: Package, /, **data: str) -> HttpResponse:
    return client.get(reverse(f"packages:{step}", args=[package.pk]), data)


def send(client: Client, step: str, package: Package, /, **data: str) -> HttpResponse:
    return client.post(reverse(f"packages:{step}", args=[package.pk]), data)
