from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("billing", "0003_repeats_and_corrections"),
    ]

    operations = [
        migrations.AddField(
            model_name="ledgerentry",
            name="corrects_ref",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="round",
            field=models.PositiveIntegerField(default=0),
        ),
    ]
