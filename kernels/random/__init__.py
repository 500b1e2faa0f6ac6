"""Counter-based random generators."""
