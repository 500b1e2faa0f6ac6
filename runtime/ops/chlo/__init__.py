"""The CHLO dialect."""
