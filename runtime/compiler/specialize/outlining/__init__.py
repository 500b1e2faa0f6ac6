"""Repeated subgraphs as calls of one function."""
