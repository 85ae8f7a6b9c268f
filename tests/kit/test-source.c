/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of sources of recordings: lanes over several axes, packets that need no search, layouts,
 * and faults of plugins. */
#include "cornerturn/kit/source.h"
#include "model/node-params.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* A packet of this test: "PK", lane, 0, stamp (32 bits, host order), then 4 samples of 2 channels,
 * of a byte each: 16 · lane + 8 · channel + the sample's number modulo 8. There are 2 stations of 3
 * pols; a lane is 3 · station + pol. */
enum { HEADER = 8, SAMPLES = 4, CHANNELS = 2, STATIONS = 2, POLS = 3, PACKET = 16 };

typedef struct {
    gboolean begun;
    gint channel, describes; /* how often it was described */
} Toy;

static gsize
toy_size(const guint8 *header, gconstpointer self)
{
    g_assert_true(((const Toy *)self)->begun);
    return header[0] == 'P' && header[1] == 'K' ? PACKET : 0;
}

static gboolean
toy_alike(const guint8 *a, const guint8 *b, gconstpointer self G_GNUC_UNUSED)
{
    return memcmp(a, b, 2) == 0 && a[3] == b[3];
}

static const char *
toy_explain(const guint8 *header, gconstpointer self G_GNUC_UNUSED)
{
    return header[0] == 'Q' ? "packets of version Q" : NULL;
}

static void
toy_begin(gpointer self, const CtParams *given)
{
    g_assert_cmpint(ct_params_count(given, "path"), >, 0);
    ((Toy *)self)->begun = TRUE;
}

static void
toy_found(const guint8 *header, CtPacket *packet, gpointer self G_GNUC_UNUSED)
{
    guint32 stamp;
    memcpy(&stamp, header + 4, 4);
    packet->stamp = stamp;
    packet->lane = header[2];
}

static gboolean
toy_order(CtRecording *recording, const CtParams *given G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    recording->n_lanes = STATIONS * POLS;
    recording->n_samples = SAMPLES;
    recording->max_gap = 1000;
    return TRUE;
}

static gboolean
toy_describe(CtRecording *recording, const CtParams *given G_GNUC_UNUSED, CtStream *stream,
             GError **error G_GNUC_UNUSED)
{
    Toy *toy = recording->self;
    stream->type = CT_I8;
    ct_stream_add_axis(stream, "pol", POLS)->loses = TRUE;
    ct_stream_add_axis(stream, "station", STATIONS)->loses = TRUE;
    ct_stream_add_axis(stream, "channel", CHANNELS);
    toy->channel = ct_stream_axis(stream, "channel");
    toy->describes++;
    stream->rate_num = 1000;
    stream->ticks_per_sample = 3;
    stream->start = 7 + 3 * recording->packets->first;
    return TRUE;
}

static void
unpack_at(const CtRecording *recording, const CtPacketPart *part, gsize header)
{
    const Toy *toy = recording->self;
    for (gint64 t = part->begin; t < part->end; t++)
        for (gint64 c = 0; c < CHANNELS; c++)
            part->out[(t - part->begin) * part->stride[0] + c * part->stride[toy->channel]] =
                part->packet[header + t * CHANNELS + c];
}

static void
toy_unpack(const CtRecording *recording, const CtPacketPart *part)
{
    unpack_at(recording, part, HEADER);
}

static const CtSource toy = {
    .files = "path",
    .self_bytes = sizeof(Toy),
    .is_one_stream = TRUE,
    .format = {"toy packets", HEADER, toy_size, toy_alike, NULL},
    .begin = toy_begin,
    .found = toy_found,
    .explain = toy_explain,
    .order = toy_order,
    .describe = toy_describe,
    .unpack = toy_unpack,
};

/* The same packets, read without a search: their offsets are those of their samples. */
static gboolean
listed_find(CtRecording *recording, guint i, GError **error)
{
    CtSourceFile *file = &recording->files[i];
    file->packet_bytes = PACKET - HEADER;
    for (gint64 at = 0; at + PACKET <= file->length; at += PACKET) {
        guint8 header[HEADER];
        CtPacket packet = {.file = i, .offset = at + HEADER};
        if (!ct_file_read(file->path, file->fd, at, header, sizeof header, error))
            return FALSE;
        toy_found(header, &packet, recording->self);
        g_array_append_val(recording->packets->packets, packet);
        recording->packets->counts[CT_PACKETS_READ]++;
    }
    recording->packets->counts[CT_PACKETS_TRUNCATED] += file->length % PACKET != 0;
    return TRUE;
}

static void
listed_unpack(const CtRecording *recording, const CtPacketPart *part)
{
    unpack_at(recording, part, 0);
}

static const CtSource listed = {
    .files = "path",
    .self_bytes = sizeof(Toy),
    .format = {.name = "listed packets"},
    .find = listed_find,
    .order = toy_order,
    .describe = toy_describe,
    .unpack = listed_unpack,
};

/* Packets whose last sample comes again in the next one. */
static gboolean
overlapping_order(CtRecording *recording, const CtParams *given, GError **error)
{
    toy_order(recording, given, error);
    recording->n_samples = SAMPLES - 1;
    recording->overlap = 1;
    return TRUE;
}

static const CtSource overlapping = {
    .files = "path",
    .self_bytes = sizeof(Toy),
    .format = {.name = "overlapping packets"},
    .find = listed_find,
    .order = overlapping_order,
    .describe = toy_describe,
    .unpack = listed_unpack,
};

/* The samples from one packet to the next. */
static gint64
step_of(const CtSource *source)
{
    return source == &overlapping ? SAMPLES - 1 : SAMPLES;
}

/* ---- a recording ---- */

typedef struct {
    char *folder;
    GPtrArray *paths;
    CtParams *params;
} Files;

static const CtParam table[] = {{"path", CT_PARAM_PATH, CT_PARAM_LIST, .help = "the recording"},
                                {0}};
static const CtStage stage = {.name = "toy", .params = table, .counters = CT_PACKET_COUNTERS};

static void
append(GByteArray *bytes, guint lane, guint32 stamp)
{
    guint8 packet[PACKET] = {'P', 'K', (guint8)lane};
    memcpy(packet + 4, &stamp, 4);
    for (guint i = 0; i < SAMPLES * CHANNELS; i++)
        packet[HEADER + i] = (guint8)(16 * lane + 8 * (i % CHANNELS) + (stamp + i / CHANNELS) % 8);
    g_byte_array_append(bytes, packet, sizeof packet);
}

/* The packets of samples 100 … 147 of all lanes, but for those that a random number leaves out. */
static GByteArray *
make_recording(GRand *random, guint step)
{
    GByteArray *bytes = g_byte_array_new();
    for (guint32 stamp = 100; stamp < 148; stamp += step)
        for (guint lane = 0; lane < STATIONS * POLS; lane++)
            if (stamp == 100 || stamp + step >= 148 || g_rand_int_range(random, 0, 4) > 0)
                append(bytes, lane, stamp);
    return bytes;
}

/* Writes the bytes to two files, cut between packets. */
static void
files_init(Files *files, const GByteArray *bytes)
{
    const gsize cut = bytes->len / PACKET / 2 * PACKET;
    files->folder = g_dir_make_tmp("test-source-XXXXXX", NULL);
    files->paths = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < 2; i++) {
        char *path = g_strdup_printf("%s/%u", files->folder, i);
        g_assert_true(g_file_set_contents(path, (const char *)bytes->data + i * cut,
                                          (gssize)(i == 0 ? cut : bytes->len - cut), NULL));
        g_ptr_array_add(files->paths, path);
    }
    g_autofree char *text = g_strdup_printf("{ path: [%s, %s] }", (char *)files->paths->pdata[0],
                                            (char *)files->paths->pdata[1]);
    g_autoptr(CtValue) values = ct_value_parse(text, -1, "g", NULL);
    const CtPlace place = {"g", 1, 1};
    files->params = ct_params_new("x", &stage, &place, values, NULL);
    g_assert_nonnull(files->params);
}

static void
files_clear(Files *files)
{
    for (guint i = 0; i < files->paths->len; i++)
        g_unlink(files->paths->pdata[i]);
    g_rmdir(files->folder);
    g_ptr_array_unref(files->paths);
    ct_params_free(files->params);
    g_free(files->folder);
}

static void
infer(const CtSource *source, CtNode *node, const Files *files, CtStream *stream)
{
    g_autoptr(GError) error = NULL;
    ct_stream_init(stream);
    *node = (CtNode){.stage = &stage, .params = files->params, .n_outputs = 1, .outputs = stream};
    g_assert_true(ct_source_infer(source, node, &error));
    g_assert_no_error(error);
}

/* ---- reading ---- */

/* Reads the recording in random blocks of a layout, and compares samples, validity, ticks and the
 * end with what the packets say. `strides` are those of time, channel, station and pol. */
static void
check_layout(const CtSource *source, const GByteArray *bytes, const char *order,
             const gint64 strides[4], GRand *random)
{
    enum { ROOM = 17, MOST = 49, LANES = STATIONS * POLS };
    const gint64 n_packets = 48 / step_of(source);
    const gint64 n = (n_packets - 1) * step_of(source) + SAMPLES;
    Files files;
    CtNode node;
    CtStream stream;
    g_autoptr(GError) error = NULL;
    guint8 wanted[MOST][CHANNELS][LANES] = {{{0}}}, valid[MOST][LANES] = {{0}};
    for (guint at = 0; at < bytes->len; at += PACKET) {
        const guint8 *packet = bytes->data + at;
        guint32 stamp;
        memcpy(&stamp, packet + 4, 4);
        for (guint t = 0; t < SAMPLES; t++) {
            valid[stamp - 100 + t][packet[2]] = 1;
            for (guint c = 0; c < CHANNELS; c++)
                wanted[stamp - 100 + t][c][packet[2]] = packet[HEADER + t * CHANNELS + c];
        }
    }
    files_init(&files, bytes);
    infer(source, &node, &files, &stream);
    g_assert_cmpint(stream.axes[0].length, ==, n);
    g_assert_cmpint(stream.start, ==, 7 + 3 * 100);

    CtBinding binding = {.stream = &stream, .max_samples = ROOM};
    g_autofree char *text = g_strdup_printf("i8[%s]", order);
    g_assert_true(ct_layout_parse(&binding.layout, text, &error));
    const CtVariant variant = {.backend = CT_CPU, .form = source};
    CtPrepare prepare = {
        .nodes = &node, .n_nodes = 1, .n_outputs = 1, .outputs = &binding, .variant = &variant};
    gpointer state = NULL;
    g_assert_true(ct_source_prepare(&prepare, &state, &error));
    guint64 counters[CT_PACKETS_N_COUNTS] = {0};
    gboolean ended = FALSE;
    for (gint64 index = 0; !ended;) {
        guint8 validity[LANES * ROOM], data[ROOM * CHANNELS * LANES];
        memset(validity, 1, sizeof validity);
        memset(data, 0xee, sizeof data);
        CtDeparture out = {.room = g_rand_int_range(random, 1, ROOM + 1),
                           .validity = validity,
                           .validity_stride = ROOM};
        CtAdvance advance = {.outputs = &out, .counters = counters};
        g_assert_true(ct_source_advance(state, &advance, &error));
        g_assert_cmpint(out.start, ==, stream.start + 3 * index);
        CtBlock block = {
            .data = data, .index = index, .n_samples = out.produced, .validity = validity};
        static const char *const axes[] = {"time", "channel", "station", "pol"};
        for (guint a = 0; a < 4; a++)
            block.stride[ct_layout_axis(&binding.layout, axes[a])] = strides[a];
        g_assert_true(ct_source_work(state, &(CtWork){.outputs = &block}, &error));
        for (gint64 t = 0; t < out.produced; t++)
            for (guint lane = 0; lane < LANES; lane++) {
                const gboolean is_valid = valid[index + t][lane];
                if (out.invalid)
                    g_assert_cmpint(validity[lane * ROOM + t], ==, is_valid);
                else
                    g_assert_true(is_valid);
                for (guint c = 0; c < CHANNELS && is_valid; c++)
                    g_assert_cmpint(data[t * strides[0] + c * strides[1] +
                                         lane / POLS * strides[2] + lane % POLS * strides[3]],
                                    ==, wanted[index + t][c][lane]);
            }
        index += out.produced;
        ended = advance.ended;
        g_assert_true(ended == (index == n));
    }
    g_assert_cmpuint(counters[CT_PACKETS_READ], ==, bytes->len / PACKET);
    g_assert_cmpuint(counters[CT_PACKETS_MISSING], ==, n_packets * LANES - bytes->len / PACKET);
    ct_source_finish(state);
    ct_stream_clear(&stream);
    files_clear(&files);
}

static void
test_layouts(gconstpointer data)
{
    const CtSource *source = data;
    const guint32 seed = g_test_rand_int();
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    g_test_message("seed %u", seed);
    for (guint round = 0; round < 20; round++) {
        g_autoptr(GByteArray) bytes = make_recording(random, step_of(source));
        check_layout(source, bytes, "time channel station pol", (const gint64[]){12, 6, 3, 1},
                     random);
        check_layout(source, bytes, "pol station channel time", (const gint64[]){1, 17, 34, 68},
                     random);
        check_layout(source, bytes, "station time pol channel", (const gint64[]){6, 1, 102, 2},
                     random);
    }
}

/* A packet is read once, even if its samples are in several blocks: the second one comes after the
 * file has lost them. */
static void
test_once(void)
{
    Files files;
    CtNode node;
    CtStream stream;
    g_autoptr(GError) error = NULL;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    for (guint32 stamp = 100; stamp < 108; stamp += SAMPLES)
        append(bytes, 0, stamp);
    files_init(&files, bytes);
    infer(&listed, &node, &files, &stream);
    CtBinding binding = {.stream = &stream, .max_samples = 2};
    g_assert_true(ct_layout_parse(&binding.layout, "i8[time channel station pol]", &error));
    const CtVariant variant = {.backend = CT_CPU, .form = &listed};
    CtPrepare prepare = {
        .nodes = &node, .n_nodes = 1, .n_outputs = 1, .outputs = &binding, .variant = &variant};
    gpointer state = NULL;
    g_assert_true(ct_source_prepare(&prepare, &state, &error));
    for (gint64 index = 0; index < 6; index += 2) {
        guint64 counters[CT_PACKETS_N_COUNTS] = {0};
        guint8 validity[6 * 2], data[2 * 12] = {0};
        CtDeparture out = {.room = 2, .validity = validity, .validity_stride = 2};
        CtAdvance advance = {.outputs = &out, .counters = counters};
        g_assert_true(ct_source_advance(state, &advance, &error));
        CtBlock block = {.data = data, .index = index, .n_samples = 2, .stride = {12, 6, 3, 1}};
        const gboolean good = ct_source_work(state, &(CtWork){.outputs = &block}, &error);
        g_assert_true(good == (index < SAMPLES));
        for (gint64 t = 0; good && t < 2; t++)
            g_assert_cmpint(data[12 * t], ==, (100 + index + t) % 8);
        for (guint i = 0; i < 2; i++)
            g_assert_cmpint(truncate(files.paths->pdata[i], 0), ==, 0);
    }
    g_assert_error(error, CT_ERROR, CT_ERROR_IO);
    ct_source_finish(state);
    ct_stream_clear(&stream);
    files_clear(&files);
}

/* A pattern stands for the files that match it, in the order of their names; a file whose name has
 * such letters is that file. */
static void
test_pattern(void)
{
    static const char *const names[] = {"a.1", "a.10", "a.2", "[ab].1", "b.1"};
    static const struct {
        const char *given, *opened;
    } patterns[] = {
        {"a.*", "a.1 a.10 a.2"}, {"?.1", "a.1 b.1"}, {"[ab].1", "[ab].1"}, {"[b].1", "b.1"}};
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("test-source-XXXXXX", NULL);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    for (guint32 stamp = 100; stamp < 148; stamp += SAMPLES)
        append(bytes, 0, stamp);
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        g_assert_true(g_file_set_contents(path, (const char *)bytes->data, bytes->len, NULL));
    }
    const CtPlace place = {"g", 1, 1};
    for (guint i = 0; i < G_N_ELEMENTS(patterns); i++) {
        g_autofree char *text = g_strdup_printf("{ path: '%s/%s' }", folder, patterns[i].given);
        g_autoptr(CtValue) values = ct_value_parse(text, -1, "g", NULL);
        CtParams *params = ct_params_new("x", &stage, &place, values, NULL);
        g_autoptr(CtRecording) recording = ct_source_open(&toy, params, &error);
        g_assert_no_error(error);
        g_autoptr(GString) opened = g_string_new(NULL);
        for (guint f = 0; f < recording->n_files; f++) {
            g_autofree char *base = g_path_get_basename(recording->files[f].path);
            g_string_append_printf(opened, "%s%s", f ? " " : "", base);
        }
        g_assert_cmpstr(opened->str, ==, patterns[i].opened);
        ct_params_free(params);
    }
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        g_unlink(path);
    }
    g_rmdir(folder);
}

/* ---- errors ---- */

static void
refuse_of_stage(const CtSource *source, const CtStage *of, const GByteArray *bytes, int code,
                const char *ending)
{
    Files files;
    CtStream stream;
    g_autoptr(GError) error = NULL;
    files_init(&files, bytes);
    ct_stream_init(&stream);
    CtNode node = {.stage = of, .params = files.params, .n_outputs = 1, .outputs = &stream};
    g_assert_false(ct_source_infer(source, &node, &error));
    g_assert_error(error, CT_ERROR, code);
    g_autofree char *named = g_strdup(error->message);
    g_assert_true(g_str_has_suffix(named, ending));
    ct_stream_clear(&stream);
    files_clear(&files);
}

static void
refuse(const CtSource *source, const GByteArray *bytes, int code, const char *ending)
{
    refuse_of_stage(source, &stage, bytes, code, ending);
}

static gboolean
idle_find(CtRecording *recording G_GNUC_UNUSED, guint i G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    return TRUE;
}

static gboolean
narrow_order(CtRecording *recording, const CtParams *given, GError **error)
{
    toy_order(recording, given, error);
    recording->n_lanes = STATIONS * POLS;
    recording->widths = g_new0(guint, recording->n_lanes);
    recording->widths[0] = 2;
    return TRUE;
}

static gboolean
uneven_order(CtRecording *recording, const CtParams *given, GError **error)
{
    recording->lane_step = 4;
    return toy_order(recording, given, error);
}

/* As plugins of newer headers may do. */
static gboolean
newer_order(CtRecording *recording, const CtParams *given, GError **error)
{
    recording->reserved[G_N_ELEMENTS(recording->reserved) - 1] = 1;
    return toy_order(recording, given, error);
}

static gboolean
no_samples_order(CtRecording *recording, const CtParams *given, GError **error)
{
    toy_order(recording, given, error);
    recording->n_samples = 0;
    return TRUE;
}

static gboolean
no_lanes_order(CtRecording *recording, const CtParams *given, GError **error)
{
    toy_order(recording, given, error);
    recording->n_lanes = 0;
    return TRUE;
}

static gboolean
negative_gap_order(CtRecording *recording, const CtParams *given, GError **error)
{
    toy_order(recording, given, error);
    recording->max_gap = -1;
    return TRUE;
}

static gboolean
newer_file_order(CtRecording *recording, const CtParams *given, GError **error)
{
    recording->files[0].reserved[0] = 1;
    return toy_order(recording, given, error);
}

static void
test_errors(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    g_autoptr(GByteArray) bytes = make_recording(random, SAMPLES);
    CtSource newer = toy;
    newer.reserved[3] = 1;
    refuse(
        &newer, bytes, CT_ERROR_PLUGIN,
        "the plugin for toy packets sets a member of CtSource that this Cornerturn does not know: "
        "the plugin wants a newer one");
    newer = toy;
    newer.order = newer_order;
    refuse(&newer, bytes, CT_ERROR_PLUGIN,
           "the plugin for toy packets sets a member of CtRecording that this Cornerturn does not "
           "know: the plugin wants a newer one");
    newer.order = newer_file_order;
    refuse(&newer, bytes, CT_ERROR_PLUGIN,
           "the plugin for toy packets sets a member of CtSourceFile that this Cornerturn does not "
           "know: the plugin wants a newer one");
    CtSource idle = listed;
    idle.find = idle_find;
    refuse(&idle, bytes, CT_ERROR_PLUGIN,
           "/0: the plugin for listed packets does not say how long its packets are");
    CtSource narrow = toy;
    narrow.order = narrow_order;
    refuse(&narrow, bytes, CT_ERROR_PLUGIN,
           "the plugin for toy packets describes a stream of 6 lanes, but its packets have 2");
    for (guint at = bytes->len / PACKET / 2 * PACKET; at < bytes->len; at += PACKET)
        bytes->data[at + 3] = 1;
    refuse(&toy, bytes, CT_ERROR_SHAPE, "/0, but is given others");
    memset(bytes->data, 'Q', bytes->len);
    refuse(&toy, bytes, CT_ERROR_DATA,
           " bytes without any: its first header says packets of version Q");
    memset(bytes->data, 'R', bytes->len);
    refuse(&toy, bytes, CT_ERROR_DATA, " bytes without any");
}

static void
test_faults(void)
{
    static const char *const others[] = {"packets", "reordered", NULL};
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    g_autoptr(GByteArray) bytes = make_recording(random, SAMPLES);
    const struct {
        gboolean (*order)(CtRecording *recording, const CtParams *given, GError **error);
        const char *message;
    } orders[] = {{no_samples_order, "its order sets n_samples to 0"},
                  {no_lanes_order, "its order sets n_lanes to 0"},
                  {negative_gap_order, "its order sets max_gap to -1"},
                  {uneven_order, "its order sets lane_step to 4, but has 6 lanes, or lanes of "
                                 "several widths"},
                  {NULL, "its CtSource has no order"}};
    for (guint i = 0; i < G_N_ELEMENTS(orders); i++) {
        CtSource source = toy;
        source.order = orders[i].order;
        g_autofree char *message =
            g_strdup_printf("the plugin for toy packets is at fault: %s", orders[i].message);
        refuse(&source, bytes, CT_ERROR_PLUGIN, message);
    }
    CtSource source = toy;
    source.format.header_bytes = 257;
    refuse(&source, bytes, CT_ERROR_PLUGIN,
           "the plugin for toy packets is at fault: its headers have 257 bytes, but 1 to 256 are "
           "possible");
    source.format.header_bytes = 0;
    refuse(&source, bytes, CT_ERROR_PLUGIN, "its headers have 0 bytes, but 1 to 256 are possible");
    CtStage bare = stage;
    bare.counters = NULL;
    refuse_of_stage(&toy, &bare, bytes, CT_ERROR_PLUGIN,
                    "stage 'toy' lacks .counters = CT_PACKET_COUNTERS");
    bare.counters = others;
    refuse_of_stage(&toy, &bare, bytes, CT_ERROR_PLUGIN,
                    "stage 'toy' has other counters than .counters = CT_PACKET_COUNTERS");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/source/searched", &toy, test_layouts);
    g_test_add_data_func("/source/listed", &listed, test_layouts);
    g_test_add_data_func("/source/overlapping", &overlapping, test_layouts);
    g_test_add_func("/source/once", test_once);
    g_test_add_func("/source/pattern", test_pattern);
    g_test_add_func("/source/errors", test_errors);
    g_test_add_func("/source/faults", test_faults);
    return g_test_run();
}
