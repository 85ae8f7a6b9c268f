/* SPDX-License-Identifier: BSD-3-Clause */
/* The account of `cornerturn send`: as text, as JSON, and packet by packet. */
#include "command-send.h"

#include <cornerturn/json.h>
#include <math.h>

/* Packets a second; NaN: not known of a single one. */
static gdouble
find_rate(const CtSendCount *count)
{
    return count->seconds > 0 ? (gdouble)count->sent / count->seconds : NAN;
}

char *
ct_send_report_text(const CtSendReport *report)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < report->n_addresses; i++) {
        const CtSendCount *count = &report->counts[i];
        g_string_append_printf(text,
                               "%s: read %" G_GUINT64_FORMAT ", lost %" G_GUINT64_FORMAT
                               ", duplicated %" G_GUINT64_FORMAT ", reordered %" G_GUINT64_FORMAT,
                               report->how->addresses[i], count->read, count->lost,
                               count->duplicated, count->reordered);
        if (count->unsent > 0)
            g_string_append_printf(text, ", unsent %" G_GUINT64_FORMAT, count->unsent);
        g_string_append_printf(
            text, "; sent %" G_GUINT64_FORMAT " (%" G_GUINT64_FORMAT " bytes) in %.6g s",
            count->sent, count->bytes, count->seconds);
        if (count->seconds > 0)
            g_string_append_printf(text, ", %.6g packets/s", find_rate(count));
        g_string_append_c(text, '\n');
    }
    g_string_append_printf(text, "seed %u\n", report->how->seed);
    return g_string_free(text, FALSE);
}

static void
add_address(CtJson *json, const CtSendReport *report, guint i)
{
    const CtSendCount *count = &report->counts[i];
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "address", report->how->addresses[i]);
    ct_json_add_unsigned(json, "read", count->read);
    ct_json_add_unsigned(json, "sent", count->sent);
    ct_json_add_unsigned(json, "lost", count->lost);
    ct_json_add_unsigned(json, "duplicated", count->duplicated);
    ct_json_add_unsigned(json, "reordered", count->reordered);
    ct_json_add_unsigned(json, "unsent", count->unsent);
    ct_json_add_unsigned(json, "bytes", count->bytes);
    ct_json_add_real(json, "seconds", count->seconds);
    ct_json_add_real(json, "packets_per_second", find_rate(count));
    ct_json_end_object(json);
}

char *
ct_send_report_json(const CtSendReport *report)
{
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "version", CT_VERSION);
    ct_json_add_text(json, "state", report->state);
    ct_json_add_text(json, "error", report->error);
    ct_json_add_unsigned(json, "seed", report->how->seed);
    ct_json_begin_array(json, "files");
    for (guint i = 0; report->how->files[i]; i++)
        ct_json_add_text(json, NULL, report->how->files[i]);
    ct_json_end_array(json);
    ct_json_begin_array(json, "addresses");
    for (guint i = 0; i < report->n_addresses; i++)
        add_address(json, report, i);
    ct_json_end_array(json);
    return ct_json_free_to_text(json, TRUE);
}

void
ct_send_log_packet(FILE *file, const CtSendPacket *packet)
{
    static const char *const fates[] = {
        [CT_SEND_SENT] = "sent", [CT_SEND_AGAIN] = "duplicate", [CT_SEND_LOST] = "lost"};
    fprintf(file,
            "{\"address\": %u, \"packet\": %" G_GUINT64_FORMAT
            ", \"file\": %u, \"offset\": %" G_GINT64_FORMAT ", \"bytes\": %" G_GSIZE_FORMAT
            ", \"fate\": \"%s\"}\n",
            packet->address, packet->packet, packet->file, packet->offset, packet->bytes,
            fates[packet->fate]);
}
