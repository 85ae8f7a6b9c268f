/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: PATH.json. The first byte chooses the file that it stands beside: an array whose
 * header tells only the shape, one whose header tells the clock and the frequencies, a recording,
 * or none; then what is read is written, and read again as the same. */
#define _GNU_SOURCE
#include "../../plugins/file/file.h"
#include "../../plugins/guppi/guppi.h"
#include "../../plugins/sigproc/sigproc.h"
#include "fuzz-array-source.h"
#include "fuzz-folder.h"
#include "fuzz-recording.h"
#include "kit/sidecar-merge.h"
#include "kit/sidecar-write.h"
#include "sigproc-header.h"

enum { N_SAMPLES = 4, N_CHANNELS = 2 };

static const char *const names[] = {"a.npy", "a.fil", "a.raw"};
static gint64 npy_bytes;

static void
store_array(void)
{
    const CtNpyHeader header = {
        .kind = 'u', .item_bytes = 1, .n_axes = 2, .shape = {N_SAMPLES, N_CHANNELS}};
    g_autoptr(GBytes) head = ct_npy_header_format(&header);
    g_autoptr(GByteArray) bytes = g_bytes_unref_to_array(g_steal_pointer(&head));
    g_byte_array_set_size(bytes, bytes->len + N_SAMPLES * N_CHANNELS);
    npy_bytes = bytes->len;
    store_file(names[0], bytes->data, bytes->len);
}

static void
store_filterbank(void)
{
    g_auto(SigprocHeader) header = {0};
    const struct {
        SigprocKeyword keyword;
        gdouble number;
    } numbers[] = {{SIGPROC_NBITS, 8},      {SIGPROC_NIFS, 1},     {SIGPROC_NCHANS, N_CHANNELS},
                   {SIGPROC_TSAMP, 1e-3},   {SIGPROC_FCH1, 1400},  {SIGPROC_FOFF, -0.5},
                   {SIGPROC_TSTART, 59759}, {SIGPROC_DATA_TYPE, 1}};
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigproc_set(&header, numbers[i].keyword, numbers[i].number);
    g_autoptr(GBytes) head = sigproc_header_format(&header);
    g_autoptr(GByteArray) bytes = g_bytes_unref_to_array(g_steal_pointer(&head));
    g_byte_array_set_size(bytes, bytes->len + N_SAMPLES * N_CHANNELS);
    store_file(names[1], bytes->data, bytes->len);
}

static void
store_recording(void)
{
    static const char *const cards[] = {"OBSNCHAN= 2",  "NPOL    = 4",     "NBITS   = 8",
                                        "BLOCSIZE= 32", "TBIN    = 1e-6",  "OBSFREQ = 1400",
                                        "OBSBW   = 2",  "STT_IMJD= 59759", "STT_SMJD= 5400",
                                        "PKTIDX  = 0",  "PKTSIZE = 32",    "END"};
    g_autoptr(GString) bytes = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cards); i++)
        g_string_append_printf(bytes, "%-80s", cards[i]);
    for (guint i = 0; i < 32; i++)
        g_string_append_c(bytes, (char)i);
    store_file(names[2], bytes->str, bytes->len);
}

static void
prepare(void)
{
    if (!make_folder())
        return;
    store_array();
    store_filterbank();
    store_recording();
}

/* Reads a.npy.json alone. */
static gboolean
read_again(CtStream *stream, CtSidecar *sidecar)
{
    g_autofree char *path = g_build_filename(fuzz_folder, names[0], NULL);
    g_autoptr(GError) error = NULL;
    ct_stream_init(stream);
    const gboolean good = ct_sidecar_read(path, npy_bytes, stream, sidecar, &error);
    g_assert_true(good == !error);
    return good;
}

/* Whether the layout names the axes of the stream, which a reader of the array checks. */
static gboolean
has_axes(const CtLayout *layout, const CtStream *stream)
{
    guint n = 0;
    for (guint a = 0; a < layout->n_axes; a++)
        n += layout->axes[a].count == 0 && ct_stream_axis(stream, layout->axes[a].name) >= 0;
    return n == layout->n_axes && n == stream->n_axes;
}

static void
check_again(void)
{
    CtStream stream, again;
    g_auto(CtSidecar) sidecar = {0}, of_again = {0};
    g_autoptr(CtGaps) none = ct_gaps_new(1, NULL);
    if (read_again(&stream, &sidecar) && has_axes(sidecar.layout, &stream)) {
        const gint time = ct_stream_axis(&stream, "time");
        const CtSidecarArray array = {.bytes = npy_bytes,
                                      .generation = "1",
                                      .interrupted = sidecar.interrupted,
                                      .n_samples = time < 0 ? 1 : stream.axes[time].length,
                                      .gaps = sidecar.gaps ? sidecar.gaps : none};
        g_autofree char *text = ct_sidecar_format(&stream, sidecar.layout, &array);
        store_file("a.npy.json", text, strlen(text));
        g_assert_true(read_again(&again, &of_again));
        g_assert_true(ct_sidecar_is_alike(&stream, &again));
        g_assert_true(ct_layout_equal(sidecar.layout, of_again.layout));
        g_assert_cmpint(stream.start, ==, again.start);
        ct_stream_clear(&again);
    }
    ct_stream_clear(&stream);
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    if (size < 1)
        return 0;
    prepare();
    const guint which = data[0] % 4;
    g_autofree char *name = g_strconcat(names[which % 3], ".json", NULL);
    g_autofree char *given = g_strdup_printf("{ path: %s/%s }", fuzz_folder, names[which % 3]);
    store_file(name, data + 1, size - 1);
    if (which == 0)
        fuzz_array_files(&file_source_arrays, &file_source, given);
    else if (which == 1)
        fuzz_array_files(&sigproc_source_files, &sigproc_source, given);
    else if (which == 2)
        describe_files(&guppi_source_files, &guppi_source, given);
    else
        check_again();
    return 0;
}
