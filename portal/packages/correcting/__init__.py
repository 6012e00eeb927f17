"""Rows in quarantine: what is wrong with them, and handing them over again."""
