/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of recordings that are read part by part share: a format, and files with faults.
 */
#pragma once

#include "kit/source-private.h"
#include "model/node-params.h"

#include <glib/gstdio.h>
#include <string.h>

/* A packet of this test: "PKT", flags, 4 bytes 0, stamp (64 bits, host order), 16 bytes that depend
 * on the stamp. Each file is a lane. */
enum { HEADER = 16, PACKET = 32, SAMPLES = 10, LANES = 3 };

static inline gsize
toy_size(const guint8 *header, gconstpointer self G_GNUC_UNUSED)
{
    static const guint8 zeros[4];
    return memcmp(header, "PKT", 3) == 0 && memcmp(header + 4, zeros, 4) == 0 ? PACKET : 0;
}

static inline gboolean
toy_alike(const guint8 *a, const guint8 *b, gconstpointer self G_GNUC_UNUSED)
{
    return memcmp(a, b, 3) == 0;
}

static inline void
toy_found(const guint8 *header, CtPacket *packet, gpointer self G_GNUC_UNUSED)
{
    memcpy(&packet->stamp, header + 8, 8);
    packet->lane = packet->file;
    packet->flagged = header[3];
}

static inline gboolean
toy_order(CtRecording *recording, const CtParams *given G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    recording->n_lanes = recording->n_files;
    recording->n_samples = SAMPLES;
    recording->max_gap = 5000 * SAMPLES;
    return TRUE;
}

static inline gboolean
toy_describe(CtRecording *recording G_GNUC_UNUSED, const CtParams *given G_GNUC_UNUSED,
             CtStream *stream G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    return TRUE;
}

static inline void
toy_unpack(const CtRecording *recording G_GNUC_UNUSED, const CtPacketPart *part G_GNUC_UNUSED)
{
}

static const CtSource toy = {
    .files = "path",
    .is_one_stream = TRUE,
    .is_lane_a_file = TRUE,
    .format = {"toy packets", HEADER, toy_size, toy_alike, NULL},
    .found = toy_found,
    .order = toy_order,
    .describe = toy_describe,
    .unpack = toy_unpack,
};
static const CtParam toy_params[] = {{"path", CT_PARAM_PATH, CT_PARAM_LIST}, {NULL}};
static const CtStage toy_stage = {.name = "toy", .params = toy_params};

/* ---- files ---- */

typedef struct {
    char *folder;
    char *paths[LANES];
    CtParams *params;
} Files;

static inline void
files_init(Files *files)
{
    files->folder = g_dir_make_tmp("test-source-ahead-XXXXXX", NULL);
    const CtPlace place = {"g", 1, 1};
    g_autoptr(GString) text = g_string_new("{ path: [");
    for (guint i = 0; i < LANES; i++) {
        files->paths[i] = g_strdup_printf("%s/%u", files->folder, i);
        g_string_append_printf(text, "%s'%s'", i ? ", " : "", files->paths[i]);
    }
    g_string_append(text, "] }");
    g_autoptr(CtValue) values = ct_value_parse(text->str, -1, "g", NULL);
    files->params = ct_params_new("x", &toy_stage, &place, values, NULL);
    g_assert_nonnull(files->params);
}

static inline void
files_clear(Files *files)
{
    for (guint i = 0; i < LANES; i++) {
        g_unlink(files->paths[i]);
        g_free(files->paths[i]);
    }
    g_rmdir(files->folder);
    g_free(files->folder);
    ct_params_free(files->params);
}

static inline void
make_packet(guint8 *packet, gint64 stamp)
{
    memcpy(packet, "PKT\0\0\0\0\0", 8);
    memcpy(packet + 8, &stamp, 8);
    memset(packet + HEADER, (int)(stamp / SAMPLES % 251), PACKET - HEADER);
}

/* The bytes of n packets with faults: of every `rate`, about one has one. */
static inline GByteArray *
make_recording(GRand *random, guint n, gint64 stamp, gint rate)
{
    GByteArray *bytes = g_byte_array_new();
    g_autofree gint64 *stamps = g_new(gint64, n);
    for (guint i = 0; i < n; i++)
        stamps[i] = stamp + (gint64)i * SAMPLES;
    for (guint i = 0; i + 6 < n; i++)
        if (rate && g_rand_int_range(random, 0, 3 * rate) == 0) {
            const guint k = i + (guint)g_rand_int_range(random, 1, 6);
            const gint64 kept = stamps[i];
            stamps[i] = stamps[k];
            stamps[k] = kept;
        }
    for (guint i = 0; i < n; i++) {
        guint8 packet[PACKET];
        const gint fault = rate ? g_rand_int_range(random, 0, 9 * rate) : -1;
        make_packet(packet, stamps[i]);
        if (fault == 0)
            continue; /* lost */
        if (fault == 1)
            packet[3] = 1;
        if (fault == 2)
            packet[1] = 'x';
        if (fault == 3)
            packet[8] ^= (guint8)g_rand_int_range(random, 1, 8);
        if (fault == 4)
            packet[9] ^= 1;
        if (fault == 5)
            g_byte_array_append(bytes, packet, PACKET); /* doubled */
        if (fault == 6) {
            g_byte_array_append(bytes, packet, PACKET);
            packet[PACKET - 1] ^= 1; /* doubled with other contents */
        }
        g_byte_array_append(bytes, packet,
                            fault == 7 ? (guint)g_rand_int_range(random, 1, PACKET) : PACKET);
    }
    return bytes;
}

static inline void
write_file(const char *path, GRand *random, guint n, gint64 stamp, gint rate)
{
    g_autoptr(GByteArray) bytes = make_recording(random, n, stamp, rate);
    g_assert_true(g_file_set_contents(path, (const char *)bytes->data, bytes->len, NULL));
}
