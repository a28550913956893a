"""What people see: a room for each tab. No tab imports another; `explorer.page` joins them."""
