"""Compares programs and results: with other systems, other schedules, and bounds."""
