"""Mathematical functions on arrays."""
