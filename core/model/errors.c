/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors that are reported together. */
#include "errors.h"

#include <cornerturn/error.h>
#include <string.h>

enum { MOST = 20 };

/* An error, and in how many copies of a node it is. */
typedef struct {
    GError *error; /* NULL: it is not told */
    guint n_copies;
} Fault;

struct CtErrors {
    GPtrArray *list; /* of Fault, of those that are told */
    GHashTable *messages;
    GHashTable *faults; /* char, a message without the name of its node → Fault */
    GRegex *node;       /* the name of the node after a place; NULL: there is no error yet */
};

static void
fault_free(gpointer item)
{
    Fault *fault = item;
    g_clear_error(&fault->error);
    g_free(fault);
}

CtErrors *
ct_errors_new(void)
{
    CtErrors *errors = g_new0(CtErrors, 1);
    errors->list = g_ptr_array_new();
    errors->messages = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    errors->faults = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, fault_free);
    return errors;
}

void
ct_errors_free(CtErrors *errors)
{
    if (!errors)
        return;
    g_ptr_array_unref(errors->list);
    g_hash_table_unref(errors->messages);
    g_hash_table_unref(errors->faults);
    g_clear_pointer(&errors->node, g_regex_unref);
    g_free(errors);
}

void
ct_errors_take(CtErrors *errors, GError *error)
{
    if (!error)
        return;
    if (!g_hash_table_add(errors->messages, g_strdup(error->message))) {
        g_error_free(error);
        return;
    }
    if (!errors->node)
        errors->node = g_regex_new("^(.*?:\\d+:\\d+: )node '[^']*': ", G_REGEX_MULTILINE,
                                   G_REGEX_MATCH_DEFAULT, NULL);
    char *key =
        g_regex_replace(errors->node, error->message, -1, 0, "\\1", G_REGEX_MATCH_DEFAULT, NULL);
    Fault *fault = g_hash_table_lookup(errors->faults, key);
    if (fault) {
        fault->n_copies++;
        g_free(key);
        g_error_free(error);
        return;
    }
    fault = g_new(Fault, 1);
    *fault = (Fault){error, 1};
    g_hash_table_insert(errors->faults, key, fault);
    if (errors->list->len < MOST)
        g_ptr_array_add(errors->list, fault);
    else
        g_clear_error(&fault->error);
}

gboolean
ct_errors_are_none(const CtErrors *errors)
{
    return errors->list->len == 0;
}

/* "FILE:LINE:COLUMN: … (30 copies)": the number ends the first line. */
static void
append_fault(GString *text, const Fault *fault)
{
    const char *message = fault->error->message;
    const gsize length = strcspn(message, "\n");
    g_string_append_len(text, message, (gssize)length);
    if (fault->n_copies > 1)
        g_string_append_printf(text, " (%u copies)", fault->n_copies);
    g_string_append(text, message + length);
}

gboolean
ct_errors_finish(const CtErrors *errors, GError **error)
{
    if (ct_errors_are_none(errors))
        return TRUE;
    const guint n_more = g_hash_table_size(errors->faults) - errors->list->len;
    const GError *first = ((const Fault *)errors->list->pdata[0])->error;
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < errors->list->len; i++) {
        g_string_append(text, i > 0 ? "\n" : "");
        append_fault(text, errors->list->pdata[i]);
    }
    if (n_more > 0)
        g_string_append_printf(text, "\nand %u more error%s", n_more, n_more == 1 ? "" : "s");
    g_set_error_literal(error, first->domain, first->code, text->str);
    return FALSE;
}
