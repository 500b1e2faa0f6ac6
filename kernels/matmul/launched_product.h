/* Products that native loops launch: tasks that know all but the addresses of their arrays. */

#ifndef NIMBLEHLO_LAUNCHED_PRODUCT_H
#define NIMBLEHLO_LAUNCHED_PRODUCT_H

#include <stdlib.h>

#include "matmul.h"

/* WORKSPACE_BYTES: of one workspace; larger ones are not launched so. WORKSPACES: of all threads together. A task waits
   where all are in use. */
enum { LAUNCHED_WORKSPACE_BYTES = 1 << 18, LAUNCHED_WORKSPACES = MATMUL_MAX_WORKSPACES };

static char *launched_workspaces[LAUNCHED_WORKSPACES];
static uint8_t launched_workspace_busy[LAUNCHED_WORKSPACES];

/* Take a workspace that no other task uses; -1 if there is no memory for one, and none is free. A workspace stays
   allocated: page faults cost more than copying. */
static int64_t launched_try_workspace(void) {
    for (int64_t slot = 0; slot < LAUNCHED_WORKSPACES; slot++) {
        if (__atomic_exchange_n(&launched_workspace_busy[slot], 1, __ATOMIC_ACQUIRE)) continue;
        if (!launched_workspaces[slot])
            launched_workspaces[slot] = aligned_alloc(MATMUL_CACHE_LINE, LAUNCHED_WORKSPACE_BYTES);
        if (launched_workspaces[slot]) return slot;
        __atomic_store_n(&launched_workspace_busy[slot], 0, __ATOMIC_RELEASE);
    }
    return -1;
}

static void launched_release_workspace(int64_t slot) {
    __atomic_store_n(&launched_workspace_busy[slot], 0, __ATOMIC_RELEASE);
}

/* A task of a product. `closure`: the addresses of lhs, rhs and the result, and that of the product without them. There
   is at least one workspace (`launched_product.pxi`). */
static void launched_product_task(int64_t task, void *closure) {
    const int64_t *addresses = closure;
    Matmul product = *(const Matmul *)(intptr_t)addresses[3];
    int64_t slot;
    do slot = launched_try_workspace();
    while (slot < 0);
    product.left.address = (const char *)(intptr_t)addresses[0];
    product.right.address = (const char *)(intptr_t)addresses[1];
    product.result = (char *)(intptr_t)addresses[2];
    product.workspace = launched_workspaces[slot], product.workspace_count = 1;
    product.workspace_busy[0] = 0, product.copied_rows[0] = -1;
    matmul_task(task, &product);
    launched_release_workspace(slot);
}

#endif
