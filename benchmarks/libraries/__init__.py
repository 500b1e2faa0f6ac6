"""Programs of public JAX libraries, as their users run them: `python -m benchmarks.libraries`.

Weights and data are random; nothing is downloaded. The libraries come with the extra `bench-libraries`; a
program is built, and its library imported, only when it is run.
"""
