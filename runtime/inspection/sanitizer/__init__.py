"""Detects undefined and unintended behaviour while a program runs: `Options(sanitize=...)`.

A sanitized program runs its operations as they are written: nothing is removed, joined or reordered, so that
each finding has the operation and the location of the program's own text.
"""

from .findings import Finding, Findings, SanitizerWarning
from .sanitizer import Sanitizer

__all__ = ["Finding", "Findings", "Sanitizer", "SanitizerWarning"]
