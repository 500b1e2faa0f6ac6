"""Runs plans: values in, steps, values out."""
