from decimal import Decimal
from typing import Any

import portal.billing.fields
from django.db import migrations, models
from django.db.models import Q

from portal.billing.domain import Rates, Tokens, price_of

PLACES = Decimal(1).scaleb(-10)


def restore(apps: Any, schema_editor: Any) -> None:
    """Amounts that SQLite kept as floating point: what the tokens cost to the last digit, where it is that amount."""
    entries = apps.get_model("billing", "LedgerEntry")._base_manager
    for entry in entries.all().iterator():
        rates = Rates(entry.input_per_1k, entry.cached_per_1k, entry.output_per_1k)
        tokens = Tokens(entry.input_tokens, entry.cached_tokens, entry.output_tokens)
        exact, kept = price_of(tokens, rates, entry.factor), Decimal(entry.amount)
        amount = exact if abs(exact - kept) <= abs(kept) * Decimal("1e-12") else kept
        entries.filter(pk=entry.pk).update(amount=amount.quantize(PLACES))


class Migration(migrations.Migration):
    dependencies = [("billing", "0001_initial")]

    operations = [
        migrations.RemoveConstraint("ledgerentry", "amount_is_not_negative"),
        migrations.AlterField(
            model_name="ledgerentry",
            name="amount",
            field=portal.billing.fields.ExactDecimalField(decimal_places=10, max_digits=24),
        ),
        migrations.RunPython(restore, migrations.RunPython.noop),
        migrations.AddConstraint(
            "ledgerentry", models.CheckConstraint(name="amount_is_not_negative", condition=Q(amount__gte=0))
        ),
    ]
