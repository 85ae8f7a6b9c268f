/* SPDX-License-Identifier: BSD-3-Clause */
/* Fibers: several stacks, between which one thread switches. */
#pragma once

#include <stddef.h>

typedef struct Fiber Fiber;

struct Fiber {
    void *jump[5]; /* where it continues */
    const void *stack;
    size_t stack_bytes;
    void *fake_stack; /* of the address sanitizer */
    void *thread;     /* of the thread sanitizer */
    Fiber *own;       /* of the thread that began it */
    void (*run)(void *data);
    void *data;
};

/* Makes a fiber of the calling thread's own stack. */
void emulator_fiber_own(Fiber *own);
/* Makes a fiber that calls run(data), which never returns, when it is first switched to; `own` is
 * the calling thread's fiber. */
void emulator_fiber_begin(Fiber *fiber, Fiber *own, void *stack, size_t bytes, void (*run)(void *),
                          void *data);
void emulator_fiber_switch(Fiber *from, Fiber *to);
