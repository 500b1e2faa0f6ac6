"""How an operation is declared, looked up, verified and read."""
