"""The conformance suite of StableHLO: programs, and verdicts on what backends do with them.

`suite` has the programs: for each operation and element type those that must run (`generators`), and for each
constraint one that must be refused (`illegal`). `verdicts` says whether a backend's behaviour is allowed. The
allowed results are computed by references and `error_bounds`, not by another implementation. `campaign` runs
the suite, and `coverage` states what it covers.
"""

from .campaign import conformance
from .report import Report
from .suite import SUITE_VERSION, Program, programs
from .verdicts import Judge, Judgement, Verdict

__all__ = ["SUITE_VERSION", "Judge", "Judgement", "Program", "Report", "Verdict", "conformance", "programs"]
