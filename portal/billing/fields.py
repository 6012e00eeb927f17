"""Money in the database, to its last digit on every backend."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from portal.billing.domain import exact_sum

SQLITE_SUM = "slackwater_exact_sum"


if TYPE_CHECKING:
    _DecimalField = models.DecimalField[Any, Any]
else:
    _DecimalField = models.DecimalField


class ExactDecimalField(_DecimalField):
    """A ``DecimalField`` that loses nothing on SQLite, whose numbers have 15 digits: there it is text.

    Text has no order of numbers: compare such a field with zero only, and sum it up by :class:`ExactSum`.
    """

    def get_internal_type(self) -> str:
        return "ExactDecimalField"  # not "DecimalField", for which SQLite's backend converts from floating point

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        if connection.vendor == "sqlite":
            return "text"
        return str(connection.data_types["DecimalField"] % self.db_type_parameters(connection))

    def rel_db_type(self, connection: BaseDatabaseWrapper) -> str:
        return self.db_type(connection)

    def cast_db_type(self, connection: BaseDatabaseWrapper) -> str:
        return self.db_type(connection)

    def from_db_value(self, value: object, *_: object) -> Decimal | None:
        """Raises ``TypeError`` for a floating-point number: a sum that was not made by :class:`ExactSum`."""
        if isinstance(value, float):
            raise TypeError("an exact amount has become a floating-point number; sum up with ExactSum")
        return value if value is None or isinstance(value, Decimal) else Decimal(str(value))


class ExactSum(models.Sum):
    """``Sum`` for :class:`ExactDecimalField`: exact on SQLite too."""

    def as_sqlite(self, compiler: Any, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function=SQLITE_SUM, **context)


class _Sum:
    """The aggregate function that SQLite calls."""

    def __init__(self) -> None:
        self._total: Decimal | None = None

    def step(self, amount: str | float | None) -> None:
        if amount is not None:
            self._total = exact_sum([self._total or Decimal(0), Decimal(str(amount))])

    def finalize(self) -> str | None:
        return None if self._total is None else str(self._total)


def teach_sqlite(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Receiver of ``connection_created``: make :class:`ExactSum` known to a new connection."""
    if connection.vendor == "sqlite":
        connection.connection.create_aggregate(SQLITE_SUM, 1, _Sum)
