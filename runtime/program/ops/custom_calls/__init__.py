"""`custom_call` and its targets."""
