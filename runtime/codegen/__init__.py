"""Native loops as LLVM IR: what happens to one element, the loops around it, and its compilation."""
