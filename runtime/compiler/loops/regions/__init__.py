"""Operations with bodies of any kind as native code.

The modules `*_code.py` say when there is a loop for an operation, what it costs and how it is launched; the
others emit the LLVM IR of these loops and of the regions in them.
"""
