"""Random programs of all operations, and backends compared with NimbleHLO on them: `nimblehlo fuzz`.

`programs.random_program` grows a program operation by operation with a `generator.Generator`, to which each
module of an operation family gives its producers. `campaign` runs programs on a backend and compares results.
"""
