"""What people see: one file a tab, plus the parts that tabs share."""
