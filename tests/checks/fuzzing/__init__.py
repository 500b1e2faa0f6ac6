"""Random programs, compared with StableHLO's reference interpreter.

``python -m tests.checks.fuzzing --count 10000 --seed 1`` runs a campaign; with ``--large`` programs are
larger, and one mode is compared with the others alone. `nimblehlo.checks.fuzzing` has the generator. The
modules here:

- `programs`: the programs; `quantized`, `not_interpreted`: operations of large programs alone;
- `variants`: the forms in which one program is run;
- `rules`: what the specification leaves open, and how far results may differ there;
- `campaign`: judging programs, shrinking those that fail.
"""
