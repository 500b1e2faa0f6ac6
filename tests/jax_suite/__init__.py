"""JAX's own tests as a campaign: every computation that they execute runs here too and is compared.

`interception.py` sees what JAX executes, `comparing.py` runs it here, `comparison.py` judges the results
with `truth.py`. `worker.py` runs test methods in a process of its own, `journal.py` keeps the outcome of
each, and `campaign.py` starts workers, replaces those that end early, and adds up.
"""
