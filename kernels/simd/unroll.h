/* UNROLL before a loop of a few iterations, a constant number, unrolls it fully, so that arrays become registers. */

#ifndef NIMBLEHLO_UNROLL_H
#define NIMBLEHLO_UNROLL_H

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
