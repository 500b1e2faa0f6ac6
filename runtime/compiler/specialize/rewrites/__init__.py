"""Rewrites of single operations, and the passes that apply them."""
