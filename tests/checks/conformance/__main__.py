"""Which faults in references the conformance suite finds: ``python -m tests.checks.conformance``."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from tests.checks.conformance.fault_campaign import outcomes
from tests.checks.conformance.faults import faults
from tests.checks.conformance.without_effect import reason


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", nargs="+", metavar="NAME", help="the operations (default: all)")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="one of N faults (default: all)")
    parser.add_argument("--count", type=int, metavar="N", help="so many of them, evenly over the list")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="where a stopped campaign continues")
    parser.add_argument("--level", choices=("smoke", "full"), default="full")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no fault after this time")
    parser.add_argument("--list", action="store_true", help="print the faults and run nothing")
    options = parser.parse_args()
    chosen = [one for one in faults() if not options.operations or one.operation in options.operations]
    chosen = chosen[:: options.share]
    if options.count is not None:
        chosen = [chosen[index * len(chosen) // options.count] for index in range(options.count)]
    if options.list:
        for fault in chosen:
            print(f"{fault.operation}, {fault.kind}")
        print(f"{len(chosen)} faults")
        return 0
    counts: Counter[str] = Counter()
    unexplained = 0
    for one in outcomes(chosen, options.level, options.seconds, options.journal):
        counts[one.state] += 1
        why = reason(one.operation, one.kind) if one.state == "without effect" else ""
        unexplained += one.state == "without effect" and not why
        if not one.found_by:
            print(f"{one}{f': {why}' if why else ''}", flush=True)
    total = sum(counts.values())
    print(f"{total} of {len(chosen)} faults tried: {', '.join(f'{n} {kind}' for kind, n in counts.items())}")
    effective = counts["found"] + counts["missed"]
    print(
        f"{counts['found']} of {effective} with an effect found; {unexplained} without effect lack a reason"
    )
    return int(counts["missed"] > 0 or unexplained > 0)


if __name__ == "__main__":
    raise SystemExit(main())
