"""``{% load wording %}``: numbers, times and durations as people read them (portal/packages/wording.py)."""

from django import template

from portal.packages import wording
from portal.packages.following.titles import title_of
from portal.packages.reading.found import found_words

register = template.Library()

register.filter("count", wording.count)
register.filter("clock", wording.clock)
register.filter("day", wording.day)
register.filter("moment", wording.moment)
register.filter("when", wording.when)
register.filter("stretch", wording.stretch)
register.filter("span", wording.span)
register.filter("size", wording.size)
register.filter("pace", wording.pace)
register.filter("gpu_hours", wording.gpu_hours)
register.filter("gpu_time", wording.gpu_time)
register.filter("money", wording.money)
register.filter("window", wording.window)
register.filter("found", found_words)
register.filter("titled", title_of)
