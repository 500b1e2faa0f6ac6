"""Groups of operations that become one native function."""
