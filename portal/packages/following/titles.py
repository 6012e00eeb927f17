"""How a package is called where people see it among others."""

from django.utils.translation import gettext as _

from portal.packages.models import Package


def title_of(package: Package) -> str:
    """Its name; of a correction, that of the package that it corrects and the round, in the reader's language."""
    if not package.round:
        return package.name
    return _("%(name)s, correction %(round)s") % {"name": package.name, "round": package.round}
