"""Pure rules: no Django, no clock, no environment, no I/O. Everything takes ``now``."""
