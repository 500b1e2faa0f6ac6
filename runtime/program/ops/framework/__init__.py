"""The framework of operations: declaration, lookup, verification and views."""
