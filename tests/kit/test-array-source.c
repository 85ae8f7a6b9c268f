/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of sources of arrays: layouts of files, packed elements, a plugin that reads by itself, and
 * faults of plugins. */
#include "array-source-test.h"
#include "cornerturn/packets.h"

#include <glib/gstdio.h>
#include <unistd.h>

/* A format of this test: bytes, or elements of a few bits, whose layout the test sets. */
enum { TIME = 12, POL = 3, CHANNEL = 5, OFFSET = 7, SPREAD = 3 };

typedef struct {
    const char *layout;
    guint bits;
    gboolean is_high_first, swap;
    guint n_cleared;
} Toy;

static Toy toy; /* what the functions of the sources, which have no data of their own, need */

static gboolean
toy_open(CtArrayFile *file, const CtParams *given G_GNUC_UNUSED, CtStream *stream, GError **error)
{
    static const struct {
        const char *name;
        gint64 length;
    } axes[] = {{"time", TIME}, {"pol", POL}, {"channel", CHANNEL}};
    if (!ct_layout_parse(&file->layout, toy.layout, error))
        return FALSE;
    const gboolean is_apart = ct_layout_axis(&file->layout, "complex") >= 0;
    for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++) {
        const CtTypeInfo *info = ct_type_info(type);
        if (file->layout.types & 1u << (is_apart ? info->part : type) &&
            (info->is_complex || !is_apart))
            stream->type = type;
    }
    for (guint a = 0; a < G_N_ELEMENTS(axes); a++)
        if (ct_layout_axis(&file->layout, axes[a].name) >= 0)
            ct_stream_add_axis(stream, axes[a].name, axes[a].length);
    file->offset = OFFSET;
    file->bits = toy.bits;
    file->is_high_first = toy.is_high_first;
    file->swap = toy.swap;
    file->self = &toy;
    return TRUE;
}

static void
toy_clear(CtArrayFile *file)
{
    toy.n_cleared += file->self == &toy;
}

/* Reads whole samples, of 2 · POL bytes. */
static gboolean
toy_read(const CtArrayFile *file, gint64 first, gint64 n, guint8 *to, GError **error)
{
    return ct_file_read(file->path, file->fd, OFFSET + first * 2 * POL, to, (gsize)(n * 2 * POL),
                        error);
}

static const CtParam params[] = {{.name = "path", .kind = CT_PARAM_PATH, .flags = CT_PARAM_LIST},
                                 {NULL}};
static const CtStage stage = {.name = "toy", .params = params};
static const CtArraySource source = {
    .files = "path", .name = "toys", .open = toy_open, .clear = toy_clear};
static const CtArraySource reading = {
    .files = "path", .name = "toys", .open = toy_open, .read = toy_read, .clear = toy_clear};

typedef struct {
    char *path;
    CtParams *params;
    GByteArray *bytes;
} File;

static void
file_init(File *file, gsize n_bytes)
{
    const int fd = g_file_open_tmp("test-array-source-XXXXXX", &file->path, NULL);
    close(fd);
    file->bytes = g_byte_array_new();
    for (gsize i = 0; i < OFFSET + n_bytes; i++) {
        const guint8 byte = (guint8)g_test_rand_int();
        g_byte_array_append(file->bytes, &byte, 1);
    }
    g_assert_true(g_file_set_contents(file->path, (const char *)file->bytes->data,
                                      (gssize)file->bytes->len, NULL));
    g_autofree char *text = g_strdup_printf("{ path: %s }", file->path);
    file->params = array_source_params(&stage, text);
}

static void
file_clear(File *file)
{
    g_unlink(file->path);
    g_free(file->path);
    g_byte_array_unref(file->bytes);
    ct_params_free(file->params);
}

static gint64
length_of(const char *name)
{
    return strcmp(name, "time") == 0 ? TIME : strcmp(name, "pol") == 0 ? POL : CHANNEL;
}

/* Compares element by element: walks over the file's axes, and finds each element in what was
 * read. */
static void
check_elements(const ArrayRead *read, const File *file)
{
    CtLayout layout;
    g_assert_true(ct_layout_parse(&layout, toy.layout, NULL));
    const CtTypeInfo *info = ct_type_info(read->stream.type);
    const gboolean is_apart = ct_layout_axis(&layout, "complex") >= 0;
    const gsize bytes = is_apart ? info->bytes / 2 : info->bytes;
    const guint bits = toy.bits ? toy.bits : (guint)bytes * 8;
    const guint value = MAX(1, info->part_bits / 8);
    gint64 lengths[CT_MAX_AXES], n = 1;
    for (guint a = 0; a < layout.n_axes; a++) {
        const gint block = ct_layout_block_axis(&layout, layout.axes[a].name);
        lengths[a] = layout.axes[a].count                          ? layout.axes[a].count
                     : strcmp(layout.axes[a].name, "complex") == 0 ? 2
                     : block >= 0 ? length_of(layout.axes[a].name) / layout.axes[block].count
                                  : length_of(layout.axes[a].name);
        n *= lengths[a];
    }
    for (gint64 e = 0; e < n; e++) {
        gint64 rest = e, at = 0;
        for (guint a = layout.n_axes; a-- > 0; rest /= lengths[a]) {
            const char *name = layout.axes[a].name;
            const gint block = ct_layout_block_axis(&layout, name);
            const gint axis = ct_layout_axis(&read->layout, name);
            const gint64 samples =
                layout.axes[a].count == 0 && block >= 0 ? layout.axes[block].count : 1;
            at += rest % lengths[a] * samples * (axis >= 0 ? read->stride[axis] : (gint64)bytes);
        }
        const guint8 *of = file->bytes->data + OFFSET + e * bits / 8;
        const guint8 *is = read->data->data + at;
        const guint place = (guint)(e * bits % 8);
        if (bits < 8)
            g_assert_cmpint(
                *is, ==, *of >> (toy.is_high_first ? 8 - bits - place : place) & ((1 << bits) - 1));
        else
            for (guint b = 0; b < bytes; b++)
                g_assert_cmpint(is[b], ==,
                                of[toy.swap ? b / value * value + value - 1 - b % value : b]);
    }
}

static void
check_file(const CtArraySource *of, gsize n_bytes)
{
    File file;
    file_init(&file, n_bytes);
    for (gint64 room = 1; room <= 2 * TIME; room += 5)
        for (gint64 spread = 1; spread <= SPREAD; spread += SPREAD - 1)
            for (CtBackend backend = CT_REFERENCE; backend <= CT_CPU; backend++) {
                g_auto(ArrayRead) read = {0};
                g_autoptr(GError) error = NULL;
                array_source_read(&read, of, &stage, file.params, backend, room, spread, &error);
                g_assert_no_error(error);
                check_elements(&read, &file);
            }
    file_clear(&file);
}

static void
test_layouts(void)
{
    static const struct {
        const char *layout;
        gsize n_bytes;
    } layouts[] = {
        {"i8[time pol]", TIME * POL},
        {"ci16[time pol channel]", TIME * POL * CHANNEL * 4},
        {"f64[channel pol time]", TIME * POL * CHANNEL * 8},
        {"i16[pol time channel]", TIME * POL * CHANNEL * 2},
        {"f32[complex pol time]", TIME * POL * 8},
        {"i8[time complex pol channel]", TIME * POL * CHANNEL * 2},
        {"i32[pol complex time channel]", TIME * POL * CHANNEL * 8},
        {"ci8[time pol channel time:4]", TIME * POL * CHANNEL * 2},
        {"ci16[time pol time:3 channel]", TIME * POL * CHANNEL * 4},
        {"f32[time complex pol time:6]", TIME * POL * 8},
        {"u8[pol channel]", POL * CHANNEL},
    };
    for (guint i = 0; i < G_N_ELEMENTS(layouts); i++)
        for (guint swap = 0; swap <= 1; swap++) {
            toy = (Toy){.layout = layouts[i].layout, .swap = swap != 0};
            check_file(&source, layouts[i].n_bytes);
            g_assert_cmpuint(toy.n_cleared, >, 0);
        }
}

/* Runs of elements begin and end within bytes. */
static void
test_bits(void)
{
    static const char *const layouts[] = {"u8[time pol channel]", "u8[channel pol time]",
                                          "i8[pol time channel]", "u8[time channel pol time:2]"};
    for (guint i = 0; i < G_N_ELEMENTS(layouts); i++)
        for (guint bits = 1; bits <= 4; bits *= 2)
            for (guint high = 0; high <= 1; high++) {
                toy = (Toy){.layout = layouts[i], .bits = bits, .is_high_first = high != 0};
                check_file(&source, (TIME * POL * CHANNEL * bits + 7) / 8);
            }
}

static void
test_read(void)
{
    toy = (Toy){.layout = "ci8[time pol]"};
    check_file(&reading, TIME * POL * 2);
    toy = (Toy){.layout = "i8[time complex pol]"};
    check_file(&reading, TIME * POL * 2);
    toy = (Toy){.layout = "ci8[time pol time:4]"};
    check_file(&reading, TIME * POL * 2);
}

static void
test_faults(void)
{
    static const struct {
        const CtArraySource *of;
        const char *layout;
        guint bits;
        const char *ending;
    } faults[] = {
        {&source, "i8{time pol}", 0, " as i8{time pol}"},
        {&source, "i8|i16[time pol]", 0, " as i8|i16[time pol]"},
        {&source, "i8[time pol station]", 0, " as i8[time pol station]"},
        {&source, "i8[pol time channel time:4]", 0, " as i8[pol time channel time:4]"},
        {&source, "i8[time pol channel pol:3]", 0, " as i8[time pol channel pol:3]"},
        {&source, "i8[time pol time:5]", 0, " has parts of blocks of time"},
        {&source, "i16[time pol]", 4, "it has elements of 4 bits of i16"},
        {&source, "i8[time pol]", 3, "it has elements of 3 bits of i8"},
        {&source, "i8[time pol]", 16, "it has elements of 16 bits of i8"},
        {&reading, "i8[pol time]", 0, "it reads by itself, but time is not slowest"},
    };
    File file;
    file_init(&file, TIME * POL * CHANNEL);
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
        g_auto(ArrayRead) read = {0};
        g_autoptr(GError) error = NULL;
        toy = (Toy){.layout = faults[i].layout, .bits = faults[i].bits};
        g_assert_false(array_source_infer(&read, faults[i].of, &stage, file.params, &error));
        g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);
        g_assert_true(g_str_has_prefix(error->message, "the plugin for toys is at fault: "));
        g_assert_true(g_str_has_suffix(error->message, faults[i].ending));
    }
    g_auto(ArrayRead) read = {0};
    g_autoptr(GError) error = NULL;
    toy = (Toy){.layout = "f64[time pol channel]"};
    g_assert_false(array_source_infer(&read, &source, &stage, file.params, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_DATA);
    g_assert_true(g_str_has_suffix(error->message,
                                   ": wants 1440 bytes of data, but is given 180 (truncated)"));
    file_clear(&file);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/array-source/layouts", test_layouts);
    g_test_add_func("/array-source/bits", test_bits);
    g_test_add_func("/array-source/read", test_read);
    g_test_add_func("/array-source/faults", test_faults);
    return g_test_run();
}
