"""Loop nests over elements."""
