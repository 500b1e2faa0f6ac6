"""Random programs, compared with StableHLO's reference interpreter.

``python -m tests.fuzzing --count 10000 --seed 1`` runs a campaign; with ``--large`` programs are larger, and
one mode is compared with the others alone. The parts:

- `generator`: types, values, and the frame in which programs grow, operation by operation;
- `elementwise`, `movement`, `indexing`, `windows`, `contracting`, `control`: how each operation is made;
- `quantized`, `others`: operations of large programs alone;
- `variants`: the forms in which one program is run;
- `rules`: what the specification leaves open, and how far results may differ there;
- `campaign`: judging programs, shrinking those that fail.
"""
