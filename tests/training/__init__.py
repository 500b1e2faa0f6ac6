"""Training steps in JAX: forward, backward and an Adam update of many parameters, all returned.

``python -m tests.training`` runs steps over 30, 100, 300 and 1,000 parameters in every mode.

- `layers`: layers, each with its parameters;
- `steps`: models of them, and the training steps;
- `modes`: one program run in every mode, and calls of one Executable compared with each other.
"""
