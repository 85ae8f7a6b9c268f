/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: accounts of the packets from the network, by lanes and addresses. */
#include "source-private.h"

struct CtSourceAccounts {
    guint n_lanes, n_addresses;
    gboolean are_same;      /* each address is a lane */
    guint n;                /* accounts: of lanes, and of addresses unless they are the same */
    CtReceivedCounts *rows; /* [n_lanes + n_addresses] */
    CtAccount *accounts;    /* [n] */
};

/* "station Ef, pol 1": the place of a lane on the axes that lose data. */
static const char *
name_lane(const CtStream *stream, gint64 lane)
{
    g_autoptr(GString) name = g_string_new("");
    gint64 before = ct_stream_n_lanes(stream);
    for (guint i = 0; i < stream->n_axes; i++) {
        const CtAxis *axis = &stream->axes[i];
        if (!axis->loses)
            continue;
        before /= axis->length;
        const gint64 at = lane / before % axis->length;
        g_string_append_printf(name, "%s%s ", name->len > 0 ? ", " : "", axis->name);
        if (axis->labels && !ct_labels_are_pairs(axis->labels))
            g_string_append(name, ct_labels_name(axis->labels, (gsize)at, 0));
        else
            g_string_append_printf(name, "%" G_GINT64_FORMAT, at);
    }
    return g_intern_string(name->len > 0 ? name->str : "all");
}

CtSourceAccounts *
ct_source_accounts_new(const CtSourceOpened *opened)
{
    const CtRecording *recording = &opened->recording;
    CtSourceAccounts *accounts = g_new0(CtSourceAccounts, 1);
    accounts->are_same = recording->source->is_lane_a_file;
    accounts->n_lanes = recording->n_lanes;
    accounts->n_addresses = recording->n_files;
    accounts->n = recording->n_lanes + (accounts->are_same ? 0 : recording->n_files);
    accounts->rows = g_new0(CtReceivedCounts, recording->n_lanes + recording->n_files);
    accounts->accounts = g_new0(CtAccount, accounts->n);
    g_autofree guint *first = ct_source_first_lanes(recording);
    for (guint i = 0; i < accounts->n_lanes; i++)
        accounts->accounts[i].name = accounts->are_same ? g_intern_string(recording->files[i].path)
                                                        : name_lane(&opened->plain, first[i]);
    for (guint i = accounts->n_lanes; i < accounts->n; i++)
        accounts->accounts[i].name = g_intern_string(recording->files[i - accounts->n_lanes].path);
    return accounts;
}

void
ct_source_accounts_free(CtSourceAccounts *accounts)
{
    if (!accounts)
        return;
    g_free(accounts->rows);
    g_free(accounts->accounts);
    g_free(accounts);
}

CtReceivedCounts *
ct_source_accounts_rows(CtSourceAccounts *accounts)
{
    return accounts->rows;
}

static guint64
count_faults(const guint64 *counters)
{
    static const guint faults[] = {CT_PACKETS_MISSING,  CT_PACKETS_DUPLICATE, CT_PACKETS_FLAGGED,
                                   CT_PACKETS_CORRUPT,  CT_PACKETS_STRAY,     CT_PACKETS_TRUNCATED,
                                   CT_PACKETS_MISTIMED, CT_PACKETS_LATE,      CT_PACKETS_DROPPED,
                                   CT_PACKETS_OVERRUN};
    guint64 sum = 0;
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++)
        sum += counters[faults[i]];
    return sum;
}

void
ct_source_accounts_tell(CtSourceAccounts *accounts, CtAdvance *advance, CtReceivedCounts *sum)
{
    const guint n_rows = accounts->n_lanes + accounts->n_addresses;
    *sum = (CtReceivedCounts){0};
    for (guint i = 0; i < accounts->n; i++)
        for (guint c = 0; c < CT_PACKETS_N_RECEIVED_COUNTS; c++)
            accounts->accounts[i].counters[c] = 0;
    for (guint i = 0; i < n_rows; i++)
        for (guint c = 0; c < CT_PACKETS_N_RECEIVED_COUNTS; c++) {
            accounts->accounts[i % accounts->n].counters[c] += accounts->rows[i].n[c];
            sum->n[c] += accounts->rows[i].n[c];
        }
    for (guint i = 0; i < accounts->n; i++)
        accounts->accounts[i].faults = count_faults(accounts->accounts[i].counters);
    ct_advance_account(advance, accounts->accounts, accounts->n);
}
