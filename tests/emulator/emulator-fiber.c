/* SPDX-License-Identifier: BSD-3-Clause */
/* Fibers: makecontext gives each its stack; the compiler's setjmp switches between them, because it
 * saves little and sanitizers do not intercept it. Sanitizers are told through their interfaces;
 * this file is built without them. */
#include "emulator-fiber.h"

#include <pthread.h>
#include <stdint.h>
#include <ucontext.h>

#ifdef EMULATOR_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EMULATOR_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* Keeps the compiler from drawing conclusions from the bodies of these functions, because other
 * fibers run during a call. */
#ifdef __clang__
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noipa))
#endif

static void
leave(Fiber *from, const Fiber *to)
{
    (void)from, (void)to;
#ifdef EMULATOR_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
#ifdef EMULATOR_TSAN
    __tsan_switch_to_fiber(to->thread, __tsan_switch_to_fiber_no_sync);
#endif
}

static void
arrive(const Fiber *fiber)
{
    (void)fiber;
#ifdef EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(fiber->fake_stack, NULL, NULL);
#endif
}

/* This must not be in the function with the setjmp. */
OPAQUE __attribute__((noreturn)) static void
jump(const Fiber *to)
{
    __builtin_longjmp((void **)to->jump, 1);
}

OPAQUE void
emulator_fiber_switch(Fiber *from, Fiber *to)
{
    leave(from, to);
    if (__builtin_setjmp(from->jump) == 0)
        jump(to);
    arrive(from);
}

static void
enter(unsigned high, unsigned low)
{
    Fiber *fiber = (Fiber *)((uintptr_t)high << 16 << 16 | low);
    arrive(fiber);
    emulator_fiber_switch(fiber, fiber->own);
    fiber->run(fiber->data);
}

void
emulator_fiber_own(Fiber *own)
{
    *own = (Fiber){0};
    pthread_attr_t attributes;
    void *stack = NULL;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &stack, &own->stack_bytes);
        pthread_attr_destroy(&attributes);
    }
    own->stack = stack;
#ifdef EMULATOR_TSAN
    own->thread = __tsan_get_current_fiber();
#endif
}

OPAQUE void
emulator_fiber_begin(Fiber *fiber, Fiber *own, void *stack, size_t bytes, void (*run)(void *),
                     void *data)
{
    *fiber = (Fiber){.stack = stack, .stack_bytes = bytes, .own = own, .run = run, .data = data};
#ifdef EMULATOR_TSAN
    fiber->thread = __tsan_create_fiber(0);
#endif
    const uintptr_t address = (uintptr_t)fiber;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = bytes;
    context.uc_link = NULL;
    makecontext(&context, (void (*)(void))enter, 2, (unsigned)(address >> 16 >> 16),
                (unsigned)address);
    leave(own, fiber);
    if (__builtin_setjmp(own->jump) == 0)
        setcontext(&context);
    arrive(own);
}
