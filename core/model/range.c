/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges of indices, as people write them. */
#include <cornerturn/text.h>
#include <errno.h>

/* Reads digits; FALSE: there are none, or too many. */
static gboolean
read_index(const char **text, gint64 *index)
{
    char *end;
    if (!g_ascii_isdigit(**text))
        return FALSE;
    errno = 0;
    *index = g_ascii_strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

gboolean
ct_range_parse(const char *text, gint64 *first, gint64 *last)
{
    if (!read_index(&text, first))
        return FALSE;
    *last = *first;
    if (text[0] == '.' && text[1] == '.') {
        text += 2;
        if (!read_index(&text, last))
            return FALSE;
    }
    return *text == '\0' && *last >= *first;
}
