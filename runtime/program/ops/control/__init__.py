"""Control flow and composites."""
