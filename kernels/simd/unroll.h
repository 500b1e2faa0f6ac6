/* UNROLL, before a loop whose steps are few and known: one after the other, so that arrays become registers. */

#ifndef NIMBLEHLO_UNROLL_H
#define NIMBLEHLO_UNROLL_H

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
