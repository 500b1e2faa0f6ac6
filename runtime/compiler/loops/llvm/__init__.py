"""LLVM IR for values, loops and functions, and the compiler that makes native code of it."""
