from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("departments", "0002_sign_in_attempts")]

    operations = [
        migrations.RemoveConstraint(model_name="signinattempt", name="one_count_per_email_and_minute"),
        migrations.RenameField(model_name="signinattempt", old_name="email", new_name="subject"),
        migrations.AlterField(
            model_name="signinattempt", name="subject", field=models.CharField(max_length=400)
        ),
        migrations.AlterField(
            model_name="signinattempt", name="attempts", field=models.IntegerField(default=0)
        ),
        migrations.AddConstraint(
            model_name="signinattempt",
            constraint=models.UniqueConstraint(
                fields=("subject", "minute"), name="one_count_per_subject_and_minute"
            ),
        ),
    ]
