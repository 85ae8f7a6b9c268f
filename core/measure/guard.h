/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory between two pages that nobody may touch, and calls that survive a fault there: so an
 * access outside a block is found, reads included. */
#pragma once

#include <glib.h>

/* The place of a block in its memory: it ends at the end of the last page, so that whatever follows
 * it is out of bounds; it begins at the beginning of the first page; or it lies as many bytes after
 * a multiple of 64 as `like`, so that only pages farther away are out of bounds. */
typedef enum { CT_GUARD_END, CT_GUARD_BEGIN, CT_GUARD_LIKE } CtGuardSide;

/* The bytes of guarded memory that belong to no element, and of device memory around blocks. */
#define CT_GUARD_MARK 0xa5

typedef struct {
    guint8 *pages; /* may be touched; a page that may not is on either side */
    gsize bytes;   /* of them */
    guint8 *block; /* the block in it */
    gsize n;       /* of the block */
    guint8 *from;  /* the first byte that is watched: up to a margin before the block */
    gsize watched; /* bytes from there on, up to a margin after the block */
    char *what;    /* "input 'in'", for messages */
} CtGuard;

/* Gets memory for blocks of at most `bytes`; messages call it `what`. */
gboolean ct_guard_init(CtGuard *guard, gsize bytes, const char *what, GError **error);
/* Frees it; accepts a clear one. */
void ct_guard_clear(CtGuard *guard);
/* Places a block of `n` bytes, and sets the bytes that are watched, in it and close to it, to
 * CT_GUARD_MARK. */
guint8 *ct_guard_place(CtGuard *guard, gsize n, CtGuardSide side, gconstpointer like);
/* Lets the memory be read only, or again be written. */
void ct_guard_protect(CtGuard *guard, gboolean is_read_only);
/* Whether all bytes that are watched are CT_GUARD_MARK. If not, *at is set to the first one that is
 * not, counted from the beginning of the block. */
gboolean ct_guard_is_clean(const CtGuard *guard, gssize *at);

/* Calls a function. If it accesses memory that it may not, divides by zero or aborts, this is an
 * error, which names the guarded block that is nearest; what the function has allocated and locked
 * is then lost. Only one thread may be in it at a time. */
gboolean ct_guard_call(gboolean (*function)(gpointer data, GError **error), gpointer data,
                       GError **error);
/* The text that is written to standard output if a fault on another thread, such as one of the
 * emulator's, ends the process during ct_guard_call(); NULL: none. It must stay valid until then.
 */
void ct_guard_note(const char *text);
