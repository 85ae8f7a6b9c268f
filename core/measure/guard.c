/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory between two pages that nobody may touch, and calls that survive a fault there. */
#define _GNU_SOURCE
#include "guard.h"

#include <cornerturn/error.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The blocks that a fault is compared with, and the place to which it returns. */
enum { MAX_GUARDS = 64 };
/* The bytes before and behind a block that are watched for writes. */
#define MARGIN ((gsize)512)
static CtGuard *guards[MAX_GUARDS];
static __thread sigjmp_buf *volatile back;
static const char *volatile note;
static __thread char said[256];

/* ---- memory ---- */

static gsize
page_bytes(void)
{
    return (gsize)sysconf(_SC_PAGESIZE);
}

gboolean
ct_guard_init(CtGuard *guard, gsize bytes, const char *what, GError **error)
{
    const gsize page = page_bytes();
    guint slot = 0;
    while (slot < MAX_GUARDS && guards[slot])
        slot++;
    const gsize wanted = ((bytes + 64) / page + 1) * page;
    guint8 *all = slot == MAX_GUARDS ? MAP_FAILED
                                     : mmap(NULL, wanted + 2 * page, PROT_NONE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, wanted, PROT_READ | PROT_WRITE) != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: there are no %" G_GSIZE_FORMAT " bytes: %s",
                    what, wanted, g_strerror(errno));
        if (all != MAP_FAILED)
            munmap(all, wanted + 2 * page);
        return FALSE;
    }
    *guard = (CtGuard){.pages = all + page, .bytes = wanted, .what = g_strdup(what)};
    guard->block = guard->pages;
    guards[slot] = guard;
    return TRUE;
}

void
ct_guard_clear(CtGuard *guard)
{
    const gsize page = page_bytes();
    for (guint i = 0; i < MAX_GUARDS; i++)
        if (guards[i] == guard)
            guards[i] = NULL;
    if (guard->pages)
        munmap(guard->pages - page, guard->bytes + 2 * page);
    g_free(guard->what);
    *guard = (CtGuard){0};
}

guint8 *
ct_guard_place(CtGuard *guard, gsize n, CtGuardSide side, gconstpointer like)
{
    g_assert(n + 64 <= guard->bytes);
    guard->block = guard->pages;
    guard->n = n;
    if (side == CT_GUARD_END)
        guard->block += guard->bytes - n;
    else if (side == CT_GUARD_LIKE)
        guard->block += GPOINTER_TO_SIZE(like) % 64;
    guard->from = guard->block - MIN(MARGIN, (gsize)(guard->block - guard->pages));
    guard->watched = MIN((gsize)(guard->block + n + MARGIN - guard->from),
                         (gsize)(guard->pages + guard->bytes - guard->from));
    memset(guard->from, CT_GUARD_MARK, guard->watched);
    return guard->block;
}

void
ct_guard_protect(CtGuard *guard, gboolean is_read_only)
{
    mprotect(guard->pages, guard->bytes, is_read_only ? PROT_READ : PROT_READ | PROT_WRITE);
}

gboolean
ct_guard_is_clean(const CtGuard *guard, gssize *at)
{
    /* All bytes are as the first one, if each is as the one before it. */
    if (guard->watched == 0 || (guard->from[0] == CT_GUARD_MARK &&
                                memcmp(guard->from, guard->from + 1, guard->watched - 1) == 0))
        return TRUE;
    gsize i = 0;
    while (guard->from[i] == CT_GUARD_MARK)
        i++;
    *at = guard->from + i - guard->block;
    return FALSE;
}

/* ---- faults ---- */

/* Describes an address by the guarded block to which it is nearest, up to a page away. */
static void
describe(const guint8 *address, const char *does)
{
    const gsize page = page_bytes();
    for (guint i = 0; i < MAX_GUARDS; i++) {
        const CtGuard *guard = guards[i];
        if (!guard || address < guard->pages - page ||
            address >= guard->pages + guard->bytes + page)
            continue;
        const gssize from = address - guard->block;
        if (from >= 0 && from < (gssize)guard->n)
            snprintf(said, sizeof said, "%s byte %zd of %s, which may only be read", does,
                     (ssize_t)from, guard->what);
        else
            snprintf(said, sizeof said, "%s byte %zd of %s, which has %zu bytes", does,
                     (ssize_t)from, guard->what, (size_t)guard->n);
        return;
    }
    snprintf(said, sizeof said, "%s address %p, which is in no block", does, (const void *)address);
}

static void catch (int number, siginfo_t *info, void *context)
{
    const char *does = "accesses";
#if defined(__x86_64__) && defined(__linux__)
    if (number == SIGSEGV)
        does = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? "writes" : "reads";
#else
    (void)context;
#endif
    sigjmp_buf *to = back;
    if (!to) {
        /* It is another thread than that of ct_guard_call(): the default action follows. */
        const char *text = note;
        for (gsize n = text ? strlen(text) : 0; n > 0;) {
            const ssize_t written = write(STDOUT_FILENO, text, n);
            if (written <= 0)
                break;
            text += written;
            n -= (gsize)written;
        }
        signal(number, SIG_DFL);
        return;
    }
    if (number == SIGSEGV || number == SIGBUS)
        describe(info->si_addr, does);
    else
        snprintf(said, sizeof said, "%s",
                 number == SIGFPE ? "divides by zero, or overflows a division"
                 : number == SIGABRT
                     ? "aborts"
                     : "runs into an instruction that this processor does not have");
    back = NULL;
    siglongjmp(*to, 1);
}

static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

gboolean
ct_guard_call(gboolean (*function)(gpointer data, GError **error), gpointer data, GError **error)
{
    struct sigaction before[G_N_ELEMENTS(caught)];
    const struct sigaction action = {.sa_sigaction = catch, .sa_flags = SA_SIGINFO};
    sigjmp_buf here;
    volatile gboolean good = FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(caught); i++)
        sigaction(caught[i], &action, &before[i]);
    if (sigsetjmp(here, 1) == 0) {
        back = &here;
        good = function(data, error);
        back = NULL;
    } else {
        g_set_error_literal(error, CT_ERROR, CT_ERROR_PLUGIN, said);
    }
    for (guint i = 0; i < G_N_ELEMENTS(caught); i++)
        sigaction(caught[i], &before[i], NULL);
    return good;
}

void
ct_guard_note(const char *text)
{
    note = text;
}
