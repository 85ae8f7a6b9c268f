/* SPDX-License-Identifier: BSD-3-Clause */
/* Suggests the known name that a mistyped name most likely means. */
#include "suggest.h"

#include <string.h>

enum { LONGEST = 63, MOST_LISTED = 32 };

/* The number of edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`, each at
 * most LONGEST long. row[j] holds the edits from a[0..i) to b[0..j). */
static unsigned
distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    unsigned rows[3][LONGEST + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *previous = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const char x = g_ascii_tolower(a[i - 1]), y = g_ascii_tolower(b[j - 1]);
            row[j] = MIN(MIN(previous[j], row[j - 1]) + 1, previous[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == g_ascii_tolower(b[j - 2]) && y == g_ascii_tolower(a[i - 2]))
                row[j] = MIN(row[j], before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *
ct_suggest_name(const char *given, const char *const *names, size_t n)
{
    const size_t length = strlen(given);
    if (length < 2 || length > LONGEST)
        return NULL;
    /* Up to a third of the letters may be wrong. */
    unsigned best = MAX(1, length / 3) + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        if (strlen(names[i]) > LONGEST)
            continue;
        const unsigned edits = distance(given, names[i]);
        if (edits < best) {
            best = edits;
            nearest = names[i];
        }
    }
    return nearest;
}

char *
ct_suggest_remark(const char *given, const char *const *names, gsize n, const char *lists)
{
    const char *meant = ct_suggest_name(given, names, n);
    if (meant)
        return g_strdup_printf("; did you mean '%s'?", meant);
    GString *text = g_string_new(NULL);
    if (lists)
        g_string_append_printf(text, "; %s %s", lists, n == 0 ? "none" : "");
    for (size_t i = 0; lists && i < MIN(n, MOST_LISTED); i++)
        g_string_append_printf(text, "%s%s", i ? ", " : "", names[i]);
    if (lists && n > MOST_LISTED)
        g_string_append(text, ", …");
    return g_string_free(text, FALSE);
}
