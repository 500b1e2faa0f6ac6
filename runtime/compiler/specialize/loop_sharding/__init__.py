"""Shards loops along a dimension whose indices do not depend on each other, for several threads."""
