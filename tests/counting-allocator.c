/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of a test program's allocations. */
#define _GNU_SOURCE
#include "counting-allocator.h"

#include <cornerturn/stage.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library's functions, under the names that remain. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *memory);

static gint n_made, n_held;

gint
allocations_made(void)
{
    return g_atomic_int_get(&n_made);
}

gint
allocations_held(void)
{
    return g_atomic_int_get(&n_held);
}

#if IS_COUNTED

static void *
count(void *memory)
{
    g_atomic_int_inc(&n_made);
    if (memory)
        g_atomic_int_inc(&n_held);
    return memory;
}

CT_EXPORT void *
malloc(size_t bytes)
{
    return count(__libc_malloc(bytes));
}

CT_EXPORT void *
calloc(size_t n, size_t bytes)
{
    return count(__libc_calloc(n, bytes));
}

CT_EXPORT void *
realloc(void *memory, size_t bytes)
{
    if (!memory)
        return malloc(bytes);
    g_atomic_int_inc(&n_made);
    void *moved = __libc_realloc(memory, bytes);
    if (!moved && bytes == 0)
        g_atomic_int_add(&n_held, -1);
    return moved;
}

CT_EXPORT void *
memalign(size_t alignment, size_t bytes)
{
    return count(__libc_memalign(alignment, bytes));
}

CT_EXPORT void *
aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

CT_EXPORT int
posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *made = memalign(alignment, bytes);
    if (!made)
        return ENOMEM;
    *memory = made;
    return 0;
}

CT_EXPORT void
free(void *memory)
{
    const int error = errno;
    if (memory)
        g_atomic_int_add(&n_held, -1);
    __libc_free(memory);
    errno = error;
}

CT_EXPORT void *
mmap(void *address, size_t length, int protection, int flags, int file, off_t offset)
{
    void *memory = (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
    return memory == MAP_FAILED ? memory : count(memory);
}

CT_EXPORT int
munmap(void *address, size_t length)
{
    g_atomic_int_add(&n_held, -1);
    return (int)syscall(SYS_munmap, address, length);
}

#endif
