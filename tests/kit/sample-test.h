/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of recordings that are opened by a sample share: files, and their comparison with
 * the index of all packets. */
#pragma once

#include "kit/source-private.h"
#include "model/node-params.h"

#include <glib/gstdio.h>
#include <string.h>

enum { MOST_FILES = 3 };

static const CtAheadSizes sizes = {.part = 64, .context = 32, .least = 200, .head_bytes = 2000};

typedef struct {
    const CtSource *source;
    const CtStage *stage;
} Format;

/* ---- files ---- */

typedef struct {
    char *folder;
    char *paths[MOST_FILES];
    guint n;
} Files;

static inline void
files_init(Files *files)
{
    *files = (Files){.folder = g_dir_make_tmp("test-source-sample-XXXXXX", NULL)};
}

static inline void
files_add(Files *files, const guint8 *bytes, gsize n)
{
    char *path = files->paths[files->n] = g_strdup_printf("%s/%u", files->folder, files->n);
    g_assert_true(g_file_set_contents_full(path, (const char *)bytes, (gssize)n,
                                           G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    files->n++;
}

static inline void
files_clear(Files *files)
{
    for (guint i = 0; i < files->n; i++) {
        g_unlink(files->paths[i]);
        g_free(files->paths[i]);
    }
    g_rmdir(files->folder);
    g_free(files->folder);
}

static inline CtParams *
files_params(const Format *format, const Files *files, const char *more)
{
    const CtPlace place = {"g", 1, 1};
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new("{ path: [");
    for (guint i = 0; i < files->n; i++)
        g_string_append_printf(text, "%s'%s'", i ? ", " : "", files->paths[i]);
    g_string_append_printf(text, "], %s }", more);
    g_autoptr(CtValue) values = ct_value_parse(text->str, -1, "g", NULL);
    CtParams *params = ct_params_new("x", format->stage, &place, values, &error);
    g_assert_no_error(error);
    return params;
}

/* ---- against the whole index ---- */

static inline void
compare_range(const CtPackets *all, const CtPackets *some, gint64 begin, gint64 end, gint64 shift)
{
    guint8 wanted[4096], given[4096];
    const gsize n = (gsize)(end - begin);
    for (guint lane = 0; lane < all->n_lanes; lane++) {
        const CtPacket *last[2];
        const CtPacket *a = ct_packets_find(all, lane, begin, &last[0]);
        const CtPacket *b = ct_packets_find(some, lane, begin - shift, &last[1]);
        for (; a < last[0] && a->stamp < end; a++, b++) {
            g_assert_true(b < last[1]);
            g_assert_cmpint(a->stamp, ==, b->stamp + shift);
            g_assert_cmpint(a->file, ==, b->file);
            g_assert_cmpint(a->offset, ==, b->offset);
        }
        g_assert_true(b == last[1] || b->stamp + shift >= end);
        g_assert_cmpint(ct_packets_validity(all, lane, begin, (gint64)n, wanted), ==,
                        ct_packets_validity(some, lane, begin - shift, (gint64)n, given));
        g_assert_cmpmem(wanted, n, given, n);
    }
}

static inline void
compare_counts(const CtPackets *all, const CtPackets *some)
{
    for (guint i = 0; i < CT_PACKETS_N_COUNTS; i++)
        /* As in test-source-ahead. */
        if (i == CT_PACKETS_REORDERED ? all->counts[i] < some->counts[i]
                                      : all->counts[i] != some->counts[i])
            g_error("%s: wants %" G_GUINT64_FORMAT ", but is %" G_GUINT64_FORMAT,
                    CT_PACKET_COUNTERS[i], all->counts[i], some->counts[i]);
}

static inline void
describe_stream(const Format *format, CtRecording *recording, const CtParams *params,
                CtStream *stream)
{
    g_autoptr(GError) error = NULL;
    CtNode node = {.stage = format->stage, .params = (CtParams *)params};
    ct_stream_init(stream);
    g_assert_true(ct_source_describe(recording, &node, stream, &error));
    g_assert_no_error(error);
}

/* Both describe the same stream. */
static inline void
compare_streams(const Format *format, CtRecording *whole, CtRecording *parts,
                const CtParams *params)
{
    CtStream a, b;
    describe_stream(format, whole, params, &a);
    describe_stream(format, parts, params, &b);
    g_autofree char *wanted = ct_stream_describe(&a), *given = ct_stream_describe(&b);
    g_assert_cmpstr(wanted, ==, given);
    g_assert_cmpint(a.start, ==, b.start);
    g_assert_cmpint(a.epoch, ==, b.epoch);
    ct_stream_clear(&a);
    ct_stream_clear(&b);
}

/* Returns whether the recording, without `skip` samples at its beginning and `left` at its end, was
 * read part by part. */
static inline gboolean
compare(const Format *format, const Files *files, const char *given, GRand *random, gint64 skip,
        gint64 left)
{
    g_autoptr(GError) error = NULL;
    CtParams *params = files_params(format, files, given);
    CtRecording *whole = ct_source_open_ahead(format->source, params, NULL, &error);
    CtRecording *parts =
        ct_source_open_ahead(format->source, params, &sizes, error ? NULL : &error);
    if (!whole) {
        g_test_message("%s", error->message);
        g_assert_null(parts);
        ct_params_free(params);
        return FALSE;
    }
    g_assert_no_error(error);
    const CtPackets *all = whole->packets, *some = parts->packets;
    CtAhead *ahead = ct_source_ahead(parts);
    /* Sample 0 begins the second of some frame; the times of both are compared as ticks. */
    const gint64 shift = all->first - some->first;
    g_assert_cmpint(all->end, ==, some->end + shift);
    compare_streams(format, whole, parts, params);
    if (ahead) {
        const gint64 last = all->end - left;
        gint64 begin = all->first + skip, end;
        g_assert_true(ct_ahead_cut(ahead, begin - shift, last - shift, &error));
        for (; begin < last; begin = end) {
            end = MIN(begin + g_rand_int_range(random, 0, 4097), last);
            g_assert_true(ct_ahead_load(ahead, begin - shift, end - shift, &error));
            compare_range(all, some, begin, end, shift);
            g_assert_cmpuint(some->packets->len, <=,
                             4 * all->n_lanes * (sizes.part + 2 * sizes.context));
        }
        if (skip + left == 0)
            compare_counts(all, some);
    } else
        g_assert_cmpmem(all->counts, sizeof all->counts, some->counts, sizeof some->counts);
    ct_source_close(whole);
    ct_source_close(parts);
    ct_params_free(params);
    return ahead != NULL;
}
