"""Hosts that lack something: a processor, memory, a home, a clock that goes forward."""
