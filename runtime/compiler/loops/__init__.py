"""Generates native code as LLVM IR: code for one element, the loops around it, and their compilation."""
