"""The audit trail: who did what, to what, when."""

from django.db import models


class AuditRecord(models.Model):
    """One act. Append-only; carries no item content."""

    at = models.DateTimeField()
    action = models.CharField(max_length=60)
    department = models.ForeignKey("departments.Department", null=True, on_delete=models.PROTECT, related_name="+")
    person = models.ForeignKey("departments.Person", null=True, on_delete=models.SET_NULL, related_name="+")
    subject = models.CharField(max_length=80)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["subject"]), models.Index(fields=["department", "-id"])]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"
