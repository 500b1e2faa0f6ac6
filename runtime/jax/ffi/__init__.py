"""Handlers of XLA's foreign function interface (FFI), which Python registers with JAX and programs call."""
