"""Tests of the minimizer, and the campaign that measures how far it gets."""
