/* SPDX-License-Identifier: BSD-3-Clause */
/* Types, and the description of streams: axes, coordinates, clock. */
#include <cornerturn/tensor.h>
#include <string.h>

static const CtTypeInfo types[CT_N_TYPES] = {
    /* name, bytes, part_bits, is_complex, is_float, is_signed, part */
    [CT_TYPE_NONE] = {"none", 0, 0, FALSE, FALSE, FALSE, CT_TYPE_NONE},
    [CT_CI4] = {"ci4", 1, 4, TRUE, FALSE, TRUE, CT_TYPE_NONE},
    [CT_CI8] = {"ci8", 2, 8, TRUE, FALSE, TRUE, CT_I8},
    [CT_CI16] = {"ci16", 4, 16, TRUE, FALSE, TRUE, CT_I16},
    [CT_CI32] = {"ci32", 8, 32, TRUE, FALSE, TRUE, CT_I32},
    [CT_CI64] = {"ci64", 16, 64, TRUE, FALSE, TRUE, CT_I64},
    [CT_CF16] = {"cf16", 4, 16, TRUE, TRUE, TRUE, CT_F16},
    [CT_CF32] = {"cf32", 8, 32, TRUE, TRUE, TRUE, CT_F32},
    [CT_CF64] = {"cf64", 16, 64, TRUE, TRUE, TRUE, CT_F64},
    [CT_I8] = {"i8", 1, 8, FALSE, FALSE, TRUE, CT_I8},
    [CT_I16] = {"i16", 2, 16, FALSE, FALSE, TRUE, CT_I16},
    [CT_I32] = {"i32", 4, 32, FALSE, FALSE, TRUE, CT_I32},
    [CT_I64] = {"i64", 8, 64, FALSE, FALSE, TRUE, CT_I64},
    [CT_U8] = {"u8", 1, 8, FALSE, FALSE, FALSE, CT_U8},
    [CT_U32] = {"u32", 4, 32, FALSE, FALSE, FALSE, CT_U32},
    [CT_F16] = {"f16", 2, 16, FALSE, TRUE, TRUE, CT_F16},
    [CT_F32] = {"f32", 4, 32, FALSE, TRUE, TRUE, CT_F32},
    [CT_F64] = {"f64", 8, 64, FALSE, TRUE, TRUE, CT_F64},
};

/* The canonical order. The empty name is the place of all axes that are not listed. */
static const char *const canonical[] = {
    "time", "subband",  "tap",     "channel", "phase", "",
    "beam", "baseline", "station", "pol",     "pol'",  "stokes",
};

enum { PLACE_OF_OTHERS = 5 };

const CtTypeInfo *
ct_type_info(CtType type)
{
    return &types[(guint)type < CT_N_TYPES ? type : CT_TYPE_NONE];
}

CtType
ct_type_from_name(const char *name)
{
    for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++)
        if (strcmp(types[type].name, name) == 0)
            return type;
    return CT_TYPE_NONE;
}

/* A float of `bits` holds all integers up to 2 to this power. */
static guint
exact_bits(guint bits)
{
    return bits == 16 ? 11 : bits == 32 ? 24 : 53;
}

gboolean
ct_type_is_lossless(CtType from, CtType to)
{
    const CtTypeInfo *a = ct_type_info(from), *b = ct_type_info(to);
    if (a->bytes == 0 || b->bytes == 0 || a->is_complex != b->is_complex)
        return FALSE;
    if (a->is_float)
        return b->is_float && a->part_bits <= b->part_bits;
    const guint magnitude = a->part_bits - a->is_signed;
    if (b->is_float)
        return magnitude <= exact_bits(b->part_bits);
    return magnitude <= b->part_bits - b->is_signed && (b->is_signed || !a->is_signed);
}

void
ct_stream_init(CtStream *stream)
{
    *stream = (CtStream){.ticks_per_sample = 1, .rate_den = 1, .epoch = CT_NO_EPOCH};
}

static void
clear_axis(CtAxis *axis)
{
    g_clear_pointer(&axis->coordinate.table, g_bytes_unref);
    g_clear_pointer(&axis->labels, ct_labels_unref);
}

void
ct_stream_clear(CtStream *stream)
{
    for (guint a = 0; a < stream->n_axes; a++)
        clear_axis(&stream->axes[a]);
    g_clear_pointer(&stream->observation, ct_observation_unref);
    ct_stream_init(stream);
}

void
ct_stream_copy(CtStream *copy, const CtStream *stream)
{
    *copy = *stream;
    for (guint a = 0; a < copy->n_axes; a++) {
        if (copy->axes[a].coordinate.table)
            g_bytes_ref(copy->axes[a].coordinate.table);
        if (copy->axes[a].labels)
            ct_labels_ref(copy->axes[a].labels);
    }
    if (copy->observation)
        ct_observation_ref(copy->observation);
}

void
ct_stream_take_observation(CtStream *stream, CtObservation *observation)
{
    g_clear_pointer(&stream->observation, ct_observation_unref);
    stream->observation = observation;
}

void
ct_axis_take_labels(CtAxis *axis, CtLabels *labels)
{
    g_clear_pointer(&axis->labels, ct_labels_unref);
    axis->labels = labels;
}

gint
ct_stream_axis(const CtStream *stream, const char *name)
{
    for (guint a = 0; a < stream->n_axes; a++)
        if (strcmp(stream->axes[a].name, name) == 0)
            return a;
    return -1;
}

gint64
ct_stream_length(const CtStream *stream, const char *name)
{
    const gint axis = ct_stream_axis(stream, name);
    return axis < 0 ? 1 : stream->axes[axis].length;
}

static guint
canonical_place(const char *name)
{
    for (guint place = 0; place < G_N_ELEMENTS(canonical); place++)
        if (strcmp(canonical[place], name) == 0)
            return place;
    return PLACE_OF_OTHERS;
}

CtAxis *
ct_stream_add_axis(CtStream *stream, const char *name, gint64 length)
{
    if (stream->n_axes == CT_MAX_AXES || ct_stream_axis(stream, name) >= 0)
        return NULL;
    const guint place = canonical_place(name);
    guint a = 0;
    while (a < stream->n_axes && canonical_place(stream->axes[a].name) <= place)
        a++;
    memmove(&stream->axes[a + 1], &stream->axes[a], (stream->n_axes - a) * sizeof(CtAxis));
    stream->n_axes++;
    stream->axes[a] = (CtAxis){.name = ct_axis_name(name), .length = length};
    return &stream->axes[a];
}

void
ct_stream_remove_axis(CtStream *stream, const char *name)
{
    const gint a = ct_stream_axis(stream, name);
    if (a < 0)
        return;
    for (guint child = 0; child < stream->n_axes; child++) {
        CtCoordinate *coordinate = &stream->axes[child].coordinate;
        if (g_strcmp0(coordinate->parent, stream->axes[a].name) != 0)
            continue;
        g_clear_pointer(&coordinate->table, g_bytes_unref);
        *coordinate = (CtCoordinate){0};
    }
    clear_axis(&stream->axes[a]);
    stream->n_axes--;
    memmove(&stream->axes[a], &stream->axes[a + 1], (stream->n_axes - a) * sizeof(CtAxis));
    stream->axes[stream->n_axes] = (CtAxis){0};
}

/* The product; the largest number if it overflows. */
static gint64
product(gint64 a, gint64 b)
{
    gint64 result;
    return __builtin_mul_overflow(a, b, &result) ? G_MAXINT64 : result;
}

gint64
ct_stream_width(const CtStream *stream)
{
    const char *const time = ct_axis_name("time");
    gint64 width = 1;
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].name != time)
            width = product(width, stream->axes[a].length);
    return width;
}

/* The lanes that the axes from `first` on have. */
static gint64
count_lanes(const CtStream *stream, guint first)
{
    const char *const time = ct_axis_name("time");
    gint64 lanes = 1;
    for (guint a = first; a < stream->n_axes; a++)
        if (stream->axes[a].loses && stream->axes[a].name != time)
            lanes = product(lanes, stream->axes[a].length);
    return lanes;
}

gint64
ct_stream_n_lanes(const CtStream *stream)
{
    return count_lanes(stream, 0);
}

gint64
ct_stream_lane_step(const CtStream *stream, const char *name)
{
    const gint axis = ct_stream_axis(stream, name);
    if (axis < 0 || !stream->axes[axis].loses || stream->axes[axis].name == ct_axis_name("time"))
        return 0;
    return count_lanes(stream, (guint)axis + 1);
}

gdouble
ct_stream_sample_rate(const CtStream *stream)
{
    if (stream->rate_num == 0)
        return 0;
    return (gdouble)stream->rate_num / stream->rate_den / stream->ticks_per_sample;
}

gdouble
ct_stream_coordinate(const CtStream *stream, guint axis, gint64 i, gint64 parent)
{
    g_return_val_if_fail(axis < stream->n_axes, 0);
    const CtAxis *along = &stream->axes[axis];
    const CtCoordinate *coordinate = &along->coordinate;
    if (!coordinate->unit)
        return i;
    const gint parent_axis = coordinate->parent ? ct_stream_axis(stream, coordinate->parent) : -1;
    if (coordinate->table) {
        gsize bytes;
        const gdouble *table = g_bytes_get_data(coordinate->table, &bytes);
        const gint64 row = parent_axis < 0 ? 0 : parent;
        const gsize entry = (gsize)row * along->length + i;
        g_return_val_if_fail(entry < bytes / sizeof *table, 0);
        return table[entry];
    }
    const gdouble origin =
        parent_axis < 0 ? 0 : ct_stream_coordinate(stream, parent_axis, parent, 0);
    return origin + coordinate->first + coordinate->step * i;
}

char *
ct_stream_describe(const CtStream *stream)
{
    GString *text = g_string_new(NULL);
    for (guint a = 0; a < stream->n_axes; a++) {
        const CtAxis *axis = &stream->axes[a];
        g_string_append_printf(text, "%s%s", a ? ", " : "", axis->name);
        if (axis->length < 0)
            g_string_append(text, " (length unknown)");
        else
            g_string_append_printf(text, " %" G_GINT64_FORMAT, axis->length);
    }
    if (stream->n_axes == 0)
        g_string_append(text, "no axes");
    return g_string_free(text, FALSE);
}
