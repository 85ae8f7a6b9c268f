/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors that are reported together. */
#include "errors.h"

#include <cornerturn/error.h>

enum { MOST = 20 };

struct CtErrors {
    GPtrArray *list; /* of GError: the first ones */
    GHashTable *messages;
};

CtErrors *
ct_errors_new(void)
{
    CtErrors *errors = g_new0(CtErrors, 1);
    errors->list = g_ptr_array_new_with_free_func((GDestroyNotify)g_error_free);
    errors->messages = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return errors;
}

void
ct_errors_free(CtErrors *errors)
{
    if (!errors)
        return;
    g_ptr_array_unref(errors->list);
    g_hash_table_unref(errors->messages);
    g_free(errors);
}

void
ct_errors_take(CtErrors *errors, GError *error)
{
    if (!error)
        return;
    if (g_hash_table_add(errors->messages, g_strdup(error->message)) && errors->list->len < MOST)
        g_ptr_array_add(errors->list, error);
    else
        g_error_free(error);
}

gboolean
ct_errors_are_none(const CtErrors *errors)
{
    return errors->list->len == 0;
}

gboolean
ct_errors_finish(const CtErrors *errors, GError **error)
{
    if (ct_errors_are_none(errors))
        return TRUE;
    const guint n_more = g_hash_table_size(errors->messages) - errors->list->len;
    const GError *first = errors->list->pdata[0];
    g_autoptr(GString) text = g_string_new(first->message);
    for (guint i = 1; i < errors->list->len; i++)
        g_string_append_printf(text, "\n%s", ((const GError *)errors->list->pdata[i])->message);
    if (n_more > 0)
        g_string_append_printf(text, "\nand %u more error%s", n_more, n_more == 1 ? "" : "s");
    g_set_error_literal(error, first->domain, first->code, text->str);
    return FALSE;
}
