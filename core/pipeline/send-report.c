/* SPDX-License-Identifier: BSD-3-Clause */
/* The account of packets that were sent: as text, and as JSON. */
#include <cornerturn/json.h>
#include <cornerturn/send.h>
#include <math.h>

/* Packets a second; NaN: not known of a single one. */
static gdouble
find_rate(const CtSendCount *count)
{
    return count->seconds > 0 ? (gdouble)count->sent / count->seconds : NAN;
}

/* The account that is described, and its state. */
typedef struct {
    const CtSend *how;
    const CtSendCount *counts; /* [n_addresses] */
    guint n_addresses;
    const char *state;
    const char *error;
} Report;

static char *
make_text(const Report *report)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < report->n_addresses; i++) {
        const CtSendCount *count = &report->counts[i];
        if (count->sink)
            g_string_append_printf(text, "%s to ", count->sink);
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
add_address(CtJson *json, const Report *report, guint i)
{
    const CtSendCount *count = &report->counts[i];
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "address", report->how->addresses[i]);
    if (count->sink)
        ct_json_add_text(json, "sink", count->sink);
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

static char *
make_json(const Report *report)
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

char *
ct_send_describe(const CtSend *how, const CtSendCount *counts, const char *format,
                 const char *state, const char *error)
{
    const Report report = {how, counts, g_strv_length((char **)how->addresses), state, error};
    return g_str_equal(format, "json") ? make_json(&report) : make_text(&report);
}
