"""From a module to a plan of steps."""
