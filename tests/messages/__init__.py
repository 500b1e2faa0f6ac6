"""The words of errors: ``python -m tests.messages`` lists what mutants and rejected programs provoke."""
