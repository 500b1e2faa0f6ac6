"""The bits of results on the levels of x86-64 that this machine has."""
