"""The PJRT plugin: the C interface by which JAX and other clients compile and run programs."""
