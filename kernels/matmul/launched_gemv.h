/* GEMVs that native loops launch: the product knows all but the addresses of its arrays. */

#ifndef NIMBLEHLO_LAUNCHED_GEMV_H
#define NIMBLEHLO_LAUNCHED_GEMV_H

#include "gemv.h"

/* Complete a product in the scratch memory of a call, which the tasks of the next launch read: the order of the work
   items is chosen once for a call. `closure`: the addresses of vector, matrix, result and scratch memory, and that of
   the product without the others. */
static void launched_gemv_begin(int64_t task, void *closure) {
    const int64_t *addresses = closure;
    Gemv *product = (Gemv *)(intptr_t)addresses[3];
    (void)task;
    *product = *(const Gemv *)(intptr_t)addresses[4];
    product->vector = (const char *)(intptr_t)addresses[0];
    product->matrix = (const char *)(intptr_t)addresses[1];
    product->result = (char *)(intptr_t)addresses[2];
    gemv_choose_order(product);
}

/* A task of a product. `closure`: the address of the scratch memory, and the bytes of a vector of the processor. */
static void launched_gemv_task(int64_t task, void *closure) {
    const int64_t *addresses = closure;
    gemv_run_task((const Gemv *)(intptr_t)addresses[0], task, addresses[1]);
}

#endif
