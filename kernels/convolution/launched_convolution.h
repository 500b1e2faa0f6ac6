/* Convolutions that native loops launch: a plan knows all but the addresses of its arrays. */

#ifndef NIMBLEHLO_LAUNCHED_CONVOLUTION_H
#define NIMBLEHLO_LAUNCHED_CONVOLUTION_H

#include "convolution_tasks.h"

/* Which launches of a call do their work: those that wait for `wanted` where a call's flag has that value, and all
   others. */
enum { LAUNCHED_ALWAYS = -1 };

/* The beginning of the scratch memory of a plan: whether it is run, and the plan with its addresses. What its tasks
   need follows. */
typedef struct {
    int64_t is_active;
    union {
        ConvProduct product;
        ConvScaling scaling;
        ConvPlanes planes;
        ConvSliding sliding;
        ConvWinograd winograd;
    } plan;
} LaunchedPlan;

static LaunchedPlan *launched_plan(int64_t scratch) { return (LaunchedPlan *)(intptr_t)(scratch + (-scratch & 63)); }

static int launched_is_wanted(int64_t flag, int64_t wanted) {
    return wanted == LAUNCHED_ALWAYS || *(const int64_t *)(intptr_t)flag == wanted;
}

/* Give the tasks of a launch memory: `panel_bytes` for panels, then workspaces. */
static inline void launched_set_memory(ConvLaunch *launch, LaunchedPlan *at, int64_t panel_bytes) {
    char *memory = (char *)(at + 1);
    memory += -(uintptr_t)memory & 63;
    launch->packed_tasks = 0, launch->panels = memory, launch->memory = memory + panel_bytes;
    launch->busy = (int32_t *)(launch->memory + launch->slots * launch->slot_bytes);
    memset(launch->busy, 0, (size_t)launch->slots * sizeof(int32_t));
}

/* Complete a plan in the scratch memory of a call. `closure`: the addresses of lhs, rhs, the result, scratch memory and
   the flag, those of the plan without the others, what flag is wanted, and the bytes of panels. */
#define LAUNCHED_BEGIN(NAME, TYPE, MEMBER, FACTORS, SET_MEMORY)                      \
    static void launched_##NAME##_begin(int64_t task, void *closure) {               \
        const int64_t *arguments = closure;                                          \
        LaunchedPlan *to = launched_plan(arguments[3]);                              \
        TYPE *plan = &to->plan.MEMBER;                                               \
        (void)task;                                                                  \
        to->is_active = launched_is_wanted(arguments[4], arguments[6]);              \
        if (!to->is_active) return;                                                  \
        *plan = *(const TYPE *)(intptr_t)arguments[5];                               \
        plan->lhs = (const char *)(intptr_t)arguments[0];                            \
        plan->FACTORS = (const char *)(intptr_t)arguments[1];                        \
        plan->result = (char *)(intptr_t)arguments[2];                               \
        SET_MEMORY;                                                                  \
    }                                                                                \
                                                                                     \
    /* A task of a plan. `closure`: the address of the scratch memory, and the number of the first task. */ \
    static void launched_##NAME##_task(int64_t task, void *closure) {                \
        const int64_t *arguments = closure;                                          \
        LaunchedPlan *at = launched_plan(arguments[0]);                              \
        if (at->is_active) conv_##NAME##_task(task + arguments[1], &at->plan.MEMBER); \
    }

#define conv_winograd_task winograd_task
#define LAUNCHED_MEMORY launched_set_memory(&plan->launch, to, arguments[7])

LAUNCHED_BEGIN(product, ConvProduct, product, rhs, LAUNCHED_MEMORY)
LAUNCHED_BEGIN(planes, ConvPlanes, planes, rhs, LAUNCHED_MEMORY)
LAUNCHED_BEGIN(sliding, ConvSliding, sliding, rhs, LAUNCHED_MEMORY)
LAUNCHED_BEGIN(winograd, ConvWinograd, winograd, rhs, LAUNCHED_MEMORY)
LAUNCHED_BEGIN(scaling, ConvScaling, scaling, factors, (void)0)

/* Set the flag to whether all factors are finite. `closure`: the addresses of the factors and the flag, the number of
   factors, and whether they are f64. */
static void launched_finite_task(int64_t task, void *closure) {
    const int64_t *arguments = closure;
    const void *factors = (const void *)(intptr_t)arguments[0];
    (void)task;
    *(int64_t *)(intptr_t)arguments[1] = arguments[3] ? conv_are_finite_float64(factors, arguments[2])
                                                      : conv_are_finite_float32(factors, arguments[2]);
}

/* Set the flag to whether results of Winograd's algorithm are not finite. `closure`: the addresses of its scratch memory
   and of the flag. */
static void launched_overflow_task(int64_t task, void *closure) {
    const int64_t *arguments = closure;
    (void)task;
    *(int64_t *)(intptr_t)arguments[1] = launched_plan(arguments[0])->plan.winograd.non_finite != 0;
}

/* Replace the results that are not finite, if the flag is set. `closure`: the addresses of the result, of what replaces
   it and of the flag, and the number of elements, which are f32. */
static void launched_replace_task(int64_t task, void *closure) {
    const int64_t *arguments = closure;
    uint32_t *result = (uint32_t *)(intptr_t)arguments[0];
    const uint32_t *other = (const uint32_t *)(intptr_t)arguments[1];
    (void)task;
    if (!launched_is_wanted(arguments[2], 1)) return;
    for (int64_t i = 0; i < arguments[3]; i++)
        if ((result[i] & 0x7f800000u) == 0x7f800000u) result[i] = other[i];
}

/* Set a result to zeros where no launch writes it. `closure`: the addresses of the result and of the flag, the bytes,
   and what flag is wanted. */
static void launched_clear_task(int64_t task, void *closure) {
    const int64_t *arguments = closure;
    (void)task;
    if (launched_is_wanted(arguments[1], arguments[3])) memset((void *)(intptr_t)arguments[0], 0, (size_t)arguments[2]);
}

#endif
