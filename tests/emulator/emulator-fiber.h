/* SPDX-License-Identifier: BSD-3-Clause */
/* Fibers: stacks of their own that one thread switches between. */
#pragma once

#include <stddef.h>

typedef struct Fiber Fiber;

struct Fiber {
    void *jump[5]; /* where it goes on */
    const void *stack;
    size_t stack_bytes;
    void *fake_stack; /* the address sanitizer's */
    void *thread;     /* the thread sanitizer's */
    Fiber *own;       /* that began it */
    void (*run)(void *data);
    void *data;
};

/* Makes the calling thread's own stack one to switch from. */
void emulator_fiber_own(Fiber *own);
/* Makes a fiber that runs run(data), which never returns, once it is switched to for the first
 * time; `own` is the calling thread's. */
void emulator_fiber_begin(Fiber *fiber, Fiber *own, void *stack, size_t bytes, void (*run)(void *),
                          void *data);
void emulator_fiber_switch(Fiber *from, Fiber *to);
