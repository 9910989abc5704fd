"""How long an issue has been waiting for somebody."""

from datetime import datetime, timedelta

from sidecypher import function

SATURDAY = 5


@function("triage.idleDays")
def idle_days(updated_at: datetime, now: datetime) -> int:
    """Count the working days since somebody last touched an issue."""
    first, last = updated_at.date(), now.date()
    weeks, days = divmod(max(0, (last - first).days), 7)
    rest = [last - timedelta(days=each) for each in range(days)]
    return 5 * weeks + sum(day.weekday() < SATURDAY for day in rest)
