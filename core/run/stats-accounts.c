/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of a node by its parts (ct_advance_account), as text and as JSON. */
#include "run-node.h"
#include "stats-private.h"

#include <string.h>

/* A table has so many lines at most: those of the parts with most faults. */
enum { MOST_LINES = 32 };

void
ct_advance_account(CtAdvance *advance, const CtAccount *accounts, guint n)
{
    CtRunAccounts *told = &((CtRunNode *)advance->core)->told;
    if (told->n != n)
        told->accounts = g_renew(CtAccount, told->accounts, n);
    told->n = n;
    told->is_new = TRUE;
    memcpy(told->accounts, accounts, n * sizeof *accounts);
}

void
ct_run_node_take_accounts(CtRunNode *node)
{
    const CtRunAccounts before = node->accounts;
    if (!node->told.is_new)
        return;
    node->accounts = node->told;
    node->told = before;
    node->told.is_new = FALSE;
}

/* Whether so many accounts have more faults, or as many and are before it, that account `i` is not
 * shown. */
static gboolean
is_left_out(const CtAccount *accounts, guint n, guint i)
{
    guint before = 0;
    for (guint k = 0; k < n && before < MOST_LINES; k++)
        before += accounts[k].faults > accounts[i].faults ||
                  (accounts[k].faults == accounts[i].faults && k < i);
    return before >= MOST_LINES;
}

static gboolean
is_counted(const CtAccount *accounts, guint n, guint c)
{
    for (guint i = 0; i < n; i++)
        if (accounts[i].counters[c] > 0)
            return TRUE;
    return FALSE;
}

void
ct_stats_print_accounts(GString *text, const CtPlanNode *node, CtScheduler *scheduler, guint i)
{
    guint n, n_shown = 0;
    g_autofree CtAccount *accounts = ct_scheduler_accounts(scheduler, i, &n);
    const char *const *names = node->nodes[0].stage->counters;
    if (n == 0)
        return;
    const guint n_counters = g_strv_length((char **)names);
    guint width = (guint)strlen(node->name);
    for (guint k = 0; k < n; k++)
        width = MAX(width, (guint)strlen(accounts[k].name));
    g_string_append_printf(text, "%-*s", (int)width, node->name);
    for (guint c = 0; c < n_counters; c++)
        if (is_counted(accounts, n, c))
            g_string_append_printf(text, " %10s", names[c]);
    g_string_append_c(text, '\n');
    for (guint k = 0; k < n; k++) {
        if (is_left_out(accounts, n, k))
            continue;
        n_shown++;
        g_string_append_printf(text, "%-*s", (int)width, accounts[k].name);
        for (guint c = 0; c < n_counters; c++)
            if (is_counted(accounts, n, c))
                g_string_append_printf(text, " %10" G_GUINT64_FORMAT, accounts[k].counters[c]);
        g_string_append_c(text, '\n');
    }
    if (n > n_shown)
        g_string_append_printf(text, "and %u others, with fewer faults\n", n - n_shown);
}

void
ct_stats_add_accounts(CtJson *json, const CtPlanNode *node, CtScheduler *scheduler, guint i)
{
    guint n;
    g_autofree CtAccount *accounts = ct_scheduler_accounts(scheduler, i, &n);
    const char *const *names = node->nodes[0].stage->counters;
    if (n == 0)
        return;
    ct_json_begin_array(json, "accounts");
    for (guint k = 0; k < n; k++) {
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "name", accounts[k].name);
        ct_json_begin_object(json, "counters");
        for (guint c = 0; names[c]; c++)
            ct_json_add_unsigned(json, names[c], accounts[k].counters[c]);
        ct_json_end_object(json);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}
