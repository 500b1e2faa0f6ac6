"""Mutated programs for everything that reads and runs programs: only `NimbleError` may come out.

`corpus` gathers valid and nearly valid programs, `mutation` changes them, `trial` loads, compiles and runs
one, `supervisor` does that for many of them in processes whose memory and time are limited. `seeds` has the
programs of each kind of replacement, which `comparison` runs in every mode.
"""
