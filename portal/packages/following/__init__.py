"""What people see of a package while it is on its way."""
