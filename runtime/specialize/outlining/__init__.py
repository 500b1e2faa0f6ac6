"""Repeated subgraphs as calls of one function, and loops sharded along a batch dimension."""
