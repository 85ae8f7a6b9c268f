/* SPDX-License-Identifier: BSD-3-Clause */
/* Power over time and frequency as filterbanks of every kind hold it. */
#include "sigproc-power.h"

#include "sigproc-telescopes.h"

#include <string.h>

const char *const sigproc_orders[] = {"descending", "stream", NULL};

/* ---- what a file can hold ---- */

static gboolean
choose_type(const CtParams *given, gboolean is_hdf5, const CtStream *stream,
            SigprocElements *elements, GError **error)
{
    const gboolean is_byte = !is_hdf5 && (stream->type == CT_U8 || stream->type == CT_I8);
    const gboolean has_bits = !is_hdf5 && ct_params_has(given, "bits");
    const gint64 bits = has_bits ? ct_params_int(given, "bits") : is_byte ? 8 : 32;
    if (bits > 32 || (bits & (bits - 1)) != 0)
        return ct_params_error(given, "bits", error,
                               "wants 1, 2, 4, 8, 16 or 32, but is given %" G_GINT64_FORMAT, bits);
    elements->bits = (guint)bits;
    elements->type = is_byte && bits <= 8 ? stream->type : CT_F32;
    if (bits == 32) {
        elements->is_copied = TRUE;
        return TRUE;
    }
    elements->offset = (gfloat)ct_params_real(given, "offset");
    elements->is_signed = elements->type == CT_I8 && bits == 8 && elements->offset == 0;
    elements->is_copied =
        elements->is_signed || (elements->type == CT_U8 && bits == 8 && elements->offset == 0);
    return TRUE;
}

static gboolean
choose_elements(const CtParams *given, gboolean is_hdf5, const CtStream *stream,
                SigprocElements *elements, GError **error)
{
    *elements = (SigprocElements){0};
    return ct_filterbank_check(stream, error) &&
           ct_filterbank_products(stream, "a filterbank", &elements->ifs, &elements->n_ifs,
                                  error) &&
           choose_type(given, is_hdf5, stream, elements, error);
}

/* Whether all samples in time begin with a byte. */
static gboolean
check_bytes(const CtParams *given, const SigprocElements *elements, const CtChannels *channels,
            GError **error)
{
    const gint64 n = elements->n_ifs * channels->n;
    return n * elements->bits % 8 == 0 ||
           ct_params_error(given, "bits", error,
                           "wants whole bytes at each point in time, but is given %" G_GINT64_FORMAT
                           " elements of %u bits",
                           n, elements->bits);
}

gboolean
sigproc_power_check(CtNode *node, gboolean is_hdf5, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    g_auto(CtChannels) channels = {0};
    SigprocElements elements;
    if (!choose_elements(node->params, is_hdf5, stream, &elements, error) ||
        !ct_channels_init(&channels, stream, ct_params_choice(node->params, "order") == 0, error) ||
        !check_bytes(node->params, &elements, &channels, error))
        return FALSE;
    ct_channels_warn(&channels, node);
    if (stream->epoch == CT_NO_EPOCH)
        ct_params_warn(node->params, NULL,
                       "the stream does not know its UTC: tstart of the file is 0");
    if (channels.n > 1 && !channels.is_even && is_hdf5) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants frequencies with even steps, which are all that a filterbank in HDF5 "
                    "has, but is given others");
        return FALSE;
    }
    if (channels.n > 1 && !channels.is_even)
        ct_params_warn(
            node->params, NULL,
            "the frequencies have no even steps: the file has a table of them, which few "
            "programs read");
    ct_filterbank_wish(&node->input_layouts[0], stream, elements.type, elements.ifs);
    return TRUE;
}

/* ---- the header ---- */

/* The MJD of a tick, UTC. The number of seconds since the epoch is exact; the sum is rounded once,
 * to the nearest double: at most 0.32 µs from the time. */
static gdouble
find_mjd(const CtStream *stream, gint64 tick)
{
    enum { DAY = 86400 };
    gint64 day, second;
    gdouble part;
    ct_filterbank_get_time(stream, tick, &day, &second, &part);
    return (gdouble)day + ((gdouble)second + part) / DAY;
}

static void
set_observation(SigprocHeader *header, const CtParams *given, const CtStream *stream)
{
    const CtObservationFacts *facts = ct_observation_facts(stream->observation);
    gint64 id = 0;
    for (const SigprocTelescope *of = sigproc_telescopes; of->name; of++)
        if (facts->telescope && g_ascii_strcasecmp(of->name, facts->telescope) == 0)
            id = of->id;
    if (ct_params_has(given, "telescope_id"))
        id = ct_params_int(given, "telescope_id");
    sigproc_set(header, SIGPROC_TELESCOPE_ID, (gdouble)id);
    sigproc_set(header, SIGPROC_MACHINE_ID, (gdouble)ct_params_int(given, "machine_id"));
    if (facts->source)
        sigproc_set_text(header, SIGPROC_SOURCE_NAME, facts->source);
    if (facts->has_direction) {
        sigproc_set(header, SIGPROC_SRC_RAJ, sigproc_angle_write(facts->direction[0], TRUE));
        sigproc_set(header, SIGPROC_SRC_DEJ, sigproc_angle_write(facts->direction[1], FALSE));
    }
    sigproc_set(header, SIGPROC_BARYCENTRIC, 0);
    sigproc_set(header, SIGPROC_PULSARCENTRIC, 0);
}

static void
set_frequencies(SigprocHeader *header, const CtChannels *channels)
{
    const gdouble megahertz = 1e6;
    sigproc_set(header, SIGPROC_NCHANS, (gdouble)channels->n);
    if (channels->is_even) {
        sigproc_set(header, SIGPROC_FCH1, channels->frequencies[0] / megahertz);
        sigproc_set(header, SIGPROC_FOFF, channels->step / megahertz);
        return;
    }
    header->n_frequencies = (gsize)channels->n;
    header->frequencies = g_new(gdouble, header->n_frequencies);
    for (gint64 i = 0; i < channels->n; i++)
        header->frequencies[i] = channels->frequencies[i] / megahertz;
}

void
sigproc_power_header(const CtSinkFile *file, SigprocHeader *header)
{
    const SigprocPower *power = file->self;
    const SigprocElements *elements = &power->elements;
    const CtStream *input = file->input->stream, *stream = &file->stream;
    const gint dm = ct_stream_axis(input, "dm");
    const gboolean is_series =
        ct_stream_axis(input, "subband") < 0 && ct_stream_axis(input, "channel") < 0;
    set_observation(header, file->given, stream);
    sigproc_set(header, SIGPROC_DATA_TYPE, is_series ? 2 : 1);
    sigproc_set(header, SIGPROC_TSTART,
                stream->epoch == CT_NO_EPOCH ? 0 : find_mjd(stream, stream->start));
    sigproc_set(header, SIGPROC_TSAMP, ct_filterbank_period(stream));
    sigproc_set(header, SIGPROC_NBITS, elements->bits);
    if (elements->is_signed)
        sigproc_set(header, SIGPROC_SIGNED, 1);
    sigproc_set(header, SIGPROC_NIFS, (gdouble)elements->n_ifs);
    sigproc_set(header, SIGPROC_NBEAMS, 1);
    sigproc_set(header, SIGPROC_IBEAM, 1);
    if (dm >= 0)
        sigproc_set(header, SIGPROC_REFDM, ct_stream_coordinate(input, (guint)dm, 0, 0));
    set_frequencies(header, &power->channels);
}

/* Describes the array that the file holds, as sigproc.source does. */
static gboolean
describe(CtSinkFile *file, GError **error)
{
    const SigprocPower *power = file->self;
    const SigprocElements *elements = &power->elements;
    CtStream *stream = &file->stream;
    if (!ct_channels_describe(&power->channels, file->input->stream, elements->ifs, stream,
                              &file->lanes, error))
        return FALSE;
    stream->type = elements->is_signed ? CT_I8 : elements->bits <= 8 ? CT_U8 : CT_F32;
    file->layout = (CtLayout){.types = 1u << stream->type};
    ct_filterbank_add_axis(&file->layout, stream, "time");
    ct_filterbank_add_axis(&file->layout, stream, elements->ifs);
    ct_filterbank_add_axis(&file->layout, stream, "channel");
    file->sample_bytes = elements->n_ifs * power->channels.n * elements->bits / 8;
    return TRUE;
}

gboolean
sigproc_power_open(CtSinkFile *file, gboolean is_hdf5, GError **error)
{
    SigprocPower *power = file->self;
    CtChannels *channels = &power->channels;
    const gboolean is_descending = ct_params_choice(file->given, "order") == 0;
    if (!choose_elements(file->given, is_hdf5, file->input->stream, &power->elements, error) ||
        !ct_channels_init(channels, file->input->stream, is_descending, error) ||
        !(power->offsets = CT_TABLE(gint64, channels->n, "channels", error)) ||
        !(power->row = CT_TABLE(gfloat, channels->n, "channels", error)))
        return FALSE;
    power->elements.type = ct_layout_type(&file->input->layout);
    return describe(file, error);
}

/* ---- samples ---- */

/* Bytes of a block from one index of an axis to the next; 0: it does not have the axis. */
static gint64
stride_of(const CtSinkFile *file, const CtBlock *block, const char *axis)
{
    const gint a = axis ? ct_layout_axis(&file->input->layout, axis) : -1;
    return a < 0 ? 0 : block->stride[a];
}

static void
copy_row(const SigprocPower *power, const guint8 *from, guint8 *to)
{
    const gint64 n = power->channels.n, *offsets = power->offsets;
    if (power->elements.type != CT_F32)
        for (gint64 i = 0; i < n; i++)
            to[i] = from[offsets[i]];
    else
        for (gint64 i = 0; i < n; i++) {
            guint32 bits;
            memcpy(&bits, from + offsets[i], sizeof bits);
            bits = GUINT32_TO_LE(bits);
            memcpy(to + i * (gint64)sizeof bits, &bits, sizeof bits);
        }
}

/* Adds the offset, rounds half to even and clips to 0 … 2^bits − 1, in place. Returns the number of
 * samples that were clipped; NaN becomes 0 and counts. */
static guint64
make_levels(const SigprocPower *power, const guint8 *from)
{
    const gfloat most = (gfloat)((1u << power->elements.bits) - 1), offset = power->elements.offset;
    const CtType type = power->elements.type;
    guint64 clipped = 0;
    for (gint64 i = 0; i < power->channels.n; i++) {
        const guint8 *at = from + power->offsets[i];
        gfloat value;
        if (type == CT_F32)
            memcpy(&value, at, sizeof value);
        else
            value = type == CT_I8 ? (gfloat)(gint8)*at : (gfloat)*at;
        power->row[i] = (gfloat)ct_filterbank_level(value + offset, 0, most, &clipped);
    }
    return clipped;
}

/* Takes back what invalid samples of a block, which are 0, have added to the counter. */
static void
uncount_invalid(CtSinkFile *file, const CtBlock *block)
{
    const SigprocPower *power = file->self;
    if (power->elements.is_copied)
        return;
    const gfloat most = (gfloat)((1u << power->elements.bits) - 1);
    guint64 of_zero = 0;
    ct_filterbank_level(power->elements.offset, 0, most, &of_zero);
    if (of_zero)
        file->counters[SIGPROC_CLIPPED] -= (guint64)ct_sink_n_invalid(file, block);
}

/* Packs a row of levels from bit `first` of `to` on, the first level in the lowest bits of a byte;
 * bytes are zero beforehand. */
static void
pack_row(const SigprocPower *power, guint8 *to, gint64 first)
{
    const guint bits = power->elements.bits;
    for (gint64 i = 0; i < power->channels.n; i++) {
        const guint level = (guint)power->row[i];
        const gint64 at = first + i * bits;
        to[at / 8] |= (guint8)(level << at % 8);
        if (bits == 16)
            to[at / 8 + 1] = (guint8)(level >> 8);
    }
}

gboolean
sigproc_power_write(CtSinkFile *file, const CtBlock *block, GError **error)
{
    enum { PIECE_BYTES = 1 << 18 };
    const SigprocPower *power = file->self;
    const CtChannels *channels = &power->channels;
    const SigprocElements *elements = &power->elements;
    const gint64 time = stride_of(file, block, "time");
    const gint64 ifs = stride_of(file, block, elements->ifs);
    const gint64 row_bits = channels->n * elements->bits;
    const gint64 piece = MAX(1, PIECE_BYTES / file->sample_bytes);
    ct_channels_offsets(channels, stride_of(file, block, "subband"),
                        stride_of(file, block, "channel"), power->offsets);
    for (gint64 begin = 0; begin < block->n_samples; begin += piece) {
        const gint64 end = MIN(begin + piece, block->n_samples);
        const gint64 n = (end - begin) * file->sample_bytes;
        guint8 *to = ct_sink_room(file, n, error);
        if (!to)
            return FALSE;
        if (!elements->is_copied)
            memset(to, 0, (gsize)n);
        for (gint64 t = begin; t < end; t++, to += file->sample_bytes)
            for (gint64 p = 0; p < elements->n_ifs; p++) {
                const guint8 *from = block->data + t * time + p * ifs;
                if (elements->is_copied) {
                    copy_row(power, from, to + p * row_bits / 8);
                    continue;
                }
                file->counters[SIGPROC_CLIPPED] += make_levels(power, from);
                pack_row(power, to, p * row_bits);
            }
    }
    uncount_invalid(file, block);
    return TRUE;
}

void
sigproc_power_clear(gpointer self)
{
    SigprocPower *power = self;
    ct_channels_clear(&power->channels);
    g_free(power->offsets);
    g_free(power->row);
}
