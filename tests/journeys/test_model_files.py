"""A model whose file has vanished is told as a sentence, at whatever step it is noticed."""

from django.urls import reverse

from portal.capacity.models import LanguageModel
from portal.packages.models import Package
from portal.packages.reading.ingest import ingest
from scheduler.domain.lifecycle import PackageState
from tests.pages import TASK, client_of, draft, page, send
from tests.world import World


def lose_the_file() -> None:
    LanguageModel.objects.filter(name="echo").update(engine="llama_cpp", tokenizer="gguf", location="/gone.gguf")


def reading(package: Package) -> Package:
    package.refresh_from_db()
    ingest(package_id=package.pk, epoch=package.ingest_epoch)
    package.refresh_from_db()
    return package


def test_the_task_form_says_so_beside_the_model(world: World) -> None:
    alice = client_of(world.alice)
    package = draft(alice, world)
    lose_the_file()
    assert page(alice, "task", package).status_code == 200
    answer = send(alice, "task", package, **TASK, model=str(world.echo.pk))
    assert answer.status_code == 422
    assert "“Echo” cannot be used at present" in answer.content.decode()
    preview = alice.post(reverse("packages:preview", args=[package.pk]), {**TASK, "model": str(world.echo.pk)})
    assert preview.status_code == 200


def test_reading_a_manifest_for_it_ends_with_the_reason(world: World) -> None:
    alice = client_of(world.alice)
    package = draft(alice, world)
    send(alice, "task", package, **TASK, model=str(world.echo.pk))
    lose_the_file()
    assert reading(package).state == PackageState.INVALID
    assert "“Echo” cannot be used at present" in page(alice, "task", package).content.decode()


def test_an_offer_for_it_is_refused(world: World) -> None:
    alice = client_of(world.alice)
    package = draft(alice, world)
    send(alice, "task", package, **TASK, model=str(world.echo.pk))
    assert reading(package).state == PackageState.QUOTED
    lose_the_file()
    answer = page(alice, "promise", package)
    assert answer.status_code == 409
    assert "“Echo” cannot be used at present" in answer.content.decode()
