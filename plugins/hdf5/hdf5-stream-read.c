/* SPDX-License-Identifier: BSD-3-Clause */
/* What an HDF5 file says of the stream of a dataset. */
#include "hdf5-stream.h"

#include <cornerturn/text.h>
#include <hdf5_hl.h>
#include <math.h>
#include <string.h>

gboolean
hdf5_refuse(const CtArrayFile *file, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s", file->path, message);
    return FALSE;
}

/* ---- scales ---- */

static herr_t
take_scale(G_GNUC_UNUSED hid_t data, G_GNUC_UNUSED unsigned dim, hid_t scale, void *found)
{
    *(hid_t *)found = H5Oopen(scale, ".", H5P_DEFAULT);
    return 1;
}

/* The first scale of an axis; below 0: it has none. To be closed. */
static hid_t
open_scale(hid_t data, guint dim)
{
    hid_t scale = H5I_INVALID_HID;
    if (H5DSget_num_scales(data, dim) > 0)
        H5DSiterate_scales(data, dim, NULL, take_scale, &scale);
    return scale;
}

char *
hdf5_axis_name(hid_t data, guint dim)
{
    enum { MOST_BYTES = 256 };
    char name[MOST_BYTES];
    g_auto(Hdf5Id) scale = open_scale(data, dim);
    if (scale >= 0 && H5Iget_name(scale, name, sizeof name) > 0)
        return g_path_get_basename(name);
    /* H5DSget_label trusts that there are as many as axes. */
    g_auto(GStrv) labels = hdf5_get_texts(data, "DIMENSION_LABELS");
    return labels && dim < g_strv_length(labels) && *labels[dim] ? g_strdup(labels[dim]) : NULL;
}

/* ---- labels ---- */

/* Pairs of names, each a text of both with a space between them; NULL: some are not. */
static CtLabels *
split_pairs(char **texts, gsize n)
{
    g_autoptr(GHashTable) indices = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree guint32(*pairs)[2] = g_malloc_n(n + 1, sizeof *pairs);
    for (gsize i = 0; i < n; i++) {
        char *second = strchr(texts[i], ' ');
        if (!second)
            return NULL;
        *second++ = '\0';
        char *both[] = {texts[i], second};
        for (guint k = 0; k < 2; k++) {
            gpointer index;
            if (!g_hash_table_lookup_extended(indices, both[k], NULL, &index)) {
                index = GUINT_TO_POINTER(names->len);
                g_hash_table_insert(indices, both[k], index);
                g_ptr_array_add(names, both[k]);
            }
            pairs[i][k] = GPOINTER_TO_UINT(index);
        }
    }
    g_autoptr(CtLabels) of = ct_labels_new((const char *const *)names->pdata, names->len);
    g_autoptr(CtLabels) all = ct_labels_new_pairs(of, NULL, 0);
    g_autoptr(CtLabels) some = ct_labels_new_pairs(of, pairs, n);
    return ct_labels_ref(ct_labels_equal(all, some) ? all : some);
}

static gboolean
read_labels(const CtArrayFile *array, hid_t scale, CtAxis *axis, GError **error)
{
    const gsize n = (gsize)axis->length;
    gint64 are_pairs = 0;
    g_auto(GStrv) texts = hdf5_read_texts(scale, n);
    if (!texts)
        return TRUE;
    hdf5_get(scale, "pairs", H5T_NATIVE_INT64, &are_pairs, 0);
    CtLabels *labels =
        are_pairs ? split_pairs(texts, n) : ct_labels_new((const char *const *)texts, n);
    if (!labels)
        return hdf5_refuse(array, error,
                           "wants two names with a space between them for each element of axis "
                           "'%s', whose scale has 'pairs'",
                           axis->name);
    ct_axis_take_labels(axis, labels);
    return TRUE;
}

/* ---- coordinates ---- */

/* Coordinates in kHz, MHz and so on become hertz. */
static gdouble
find_unit(const char *text, const char **unit)
{
    CtQuantity one;
    g_autofree char *quantity = g_strconcat("1 ", text, NULL);
    *unit = g_intern_string(text);
    if (!g_str_has_suffix(text, "Hz") || !ct_quantity_parse(&one, quantity, "Hz", NULL))
        return 1;
    *unit = g_intern_static_string("Hz");
    return one.value;
}

/* Reads the coordinates of an axis from its scale, or from another dataset. */
static gboolean
read_coordinates(const CtArrayFile *array, hid_t from, CtStream *stream, guint a, GError **error)
{
    CtAxis *axis = &stream->axes[a];
    g_autofree char *units = hdf5_get_text(from, "units");
    g_autofree char *of = hdf5_get_text(from, "parent");
    const gint parent = of ? ct_stream_axis(stream, of) : -1;
    if (!units || (of && (parent < 0 || parent == (gint)a)))
        return !of || hdf5_refuse(array, error,
                                  "wants another axis to which the coordinates of '%s' are "
                                  "relative, but is given '%s'",
                                  axis->name, of);
    gsize n = (gsize)axis->length;
    if (parent >= 0 && __builtin_mul_overflow(n, (gsize)stream->axes[parent].length, &n))
        return hdf5_refuse(array, error, "wants fewer coordinates of axis '%s'", axis->name);
    g_autofree gdouble *table = CT_TABLE(gdouble, n, "coordinates", error);
    if (!table)
        return FALSE;
    if (!hdf5_read(from, H5T_NATIVE_DOUBLE, n, table))
        return !of ||
               hdf5_refuse(array, error, "wants %zu coordinates of axis '%s'", n, axis->name);
    CtCoordinate *coordinate = &axis->coordinate;
    const gdouble factor = find_unit(units, &coordinate->unit);
    coordinate->parent = of ? ct_axis_name(of) : NULL;
    for (gsize i = 0; i < n; i++)
        if (!isfinite(table[i] *= factor))
            return hdf5_refuse(array, error, "wants numbers as coordinates of axis '%s'",
                               axis->name);
    if (!hdf5_get(from, "first", H5T_NATIVE_DOUBLE, &coordinate->first, 0) ||
        !hdf5_get(from, "step", H5T_NATIVE_DOUBLE, &coordinate->step, 0) ||
        !isfinite(coordinate->first) || !isfinite(coordinate->step))
        coordinate->table = g_bytes_new(table, n * sizeof *table);
    coordinate->first *= factor;
    coordinate->step *= factor;
    return TRUE;
}

static gboolean
read_axis(const CtArrayFile *array, hid_t file, hid_t data, guint dim, CtStream *stream, guint a,
          GError **error)
{
    g_autofree char *name = g_strconcat(stream->axes[a].name, "_coordinate", NULL);
    g_auto(Hdf5Id) scale = open_scale(data, dim);
    g_auto(Hdf5Id) more = hdf5_open(file, name);
    if (scale >= 0 && (!read_labels(array, scale, &stream->axes[a], error) ||
                       !read_coordinates(array, scale, stream, a, error)))
        return FALSE;
    return more < 0 || H5Iget_type(more) != H5I_DATASET || stream->axes[a].coordinate.unit ||
           read_coordinates(array, more, stream, a, error);
}

static gboolean
check_parents(const CtArrayFile *array, const CtStream *stream, GError **error)
{
    for (guint a = 0; a < stream->n_axes; a++) {
        const char *name = stream->axes[a].coordinate.parent;
        if (name && stream->axes[ct_stream_axis(stream, name)].coordinate.parent)
            return hdf5_refuse(array, error,
                               "wants an axis with coordinates of its own, to which those of '%s' "
                               "are relative, but is given '%s'",
                               stream->axes[a].name, name);
    }
    return TRUE;
}

/* ---- clock and observation ---- */

static gboolean
read_clock(CtArrayFile *array, hid_t data, CtStream *stream, GError **error)
{
    gint64 rate[2], ticks;
    if (H5Aexists(data, "ticks_per_second") <= 0) {
        /* Samples without a clock have ticks as well. Attributes of others are not these two. */
        if (hdf5_get_whole(data, "ticks_per_sample", &ticks, 0) && ticks > 0 &&
            hdf5_get_whole(data, "start", &stream->start, 0))
            stream->ticks_per_sample = ticks;
        return TRUE;
    }
    if (!hdf5_get_whole(data, "ticks_per_second", rate, G_N_ELEMENTS(rate)) ||
        !hdf5_get_whole(data, "ticks_per_sample", &ticks, 0) ||
        !hdf5_get_whole(data, "start", &stream->start, 0) || rate[0] < 1 || rate[1] < 1 ||
        ticks < 1)
        return hdf5_refuse(array, error,
                           "wants the attribute ticks_per_second as a fraction, with "
                           "ticks_per_sample and start, all integers");
    if (H5Aexists(data, "epoch") > 0 && !hdf5_get_whole(data, "epoch", &stream->epoch, 0))
        return hdf5_refuse(array, error, "wants the attribute epoch as an integer");
    stream->rate_num = rate[0];
    stream->rate_den = rate[1];
    stream->ticks_per_sample = ticks;
    array->has_start = TRUE;
    return TRUE;
}

/* Reads the stations to `facts`; the two arrays, and the names, are to be freed in either case. */
static gboolean
read_stations(hid_t group, CtObservationFacts *facts, char ***names, CtStation **stations)
{
    g_auto(Hdf5Id) of_names = hdf5_open(group, "station");
    g_auto(Hdf5Id) of_places = hdf5_open(group, "position");
    g_auto(Hdf5Id) of_feeds = hdf5_open(group, "feeds");
    if (of_names < 0 || H5Iget_type(of_names) != H5I_DATASET)
        return TRUE;
    g_auto(Hdf5Id) space = H5Dget_space(of_names);
    const gsize n = (gsize)MAX(H5Sget_simple_extent_npoints(space), 0);
    g_autofree gdouble *places = g_try_new0(gdouble, 3 * n + 1);
    g_autofree gdouble *feeds = g_try_new0(gdouble, 2 * n + 1);
    if (n > G_MAXUINT / 8 || !places || !feeds || !(*names = hdf5_read_texts(of_names, n)) ||
        !(*stations = g_try_new0(CtStation, n + 1)) ||
        !hdf5_read(of_places, H5T_NATIVE_DOUBLE, 3 * n, places) ||
        !hdf5_read(of_feeds, H5T_NATIVE_DOUBLE, 2 * n, feeds))
        return FALSE;
    for (gsize i = 0; i < n; i++) {
        CtStation *station = &(*stations)[i];
        station->name = (*names)[i];
        station->has_position = TRUE;
        for (guint k = 0; k < 3; k++)
            station->has_position = station->has_position && isfinite(places[3 * i + k]);
        if (station->has_position)
            memcpy(station->position, &places[3 * i], sizeof station->position);
        for (guint k = 0; k < 2; k++)
            station->feeds[k] = isfinite(feeds[2 * i + k]) ? feeds[2 * i + k] : 0;
    }
    facts->stations = *stations;
    facts->n_stations = (guint)n;
    return TRUE;
}

static gboolean
read_reals(hid_t group, const char *name, gdouble *values, guint n)
{
    gboolean good = hdf5_get(group, name, H5T_NATIVE_DOUBLE, values, n);
    for (guint i = 0; i < n && good; i++)
        good = isfinite(values[i]);
    return good;
}

static gboolean
read_observation(const CtArrayFile *array, hid_t file, CtStream *stream, GError **error)
{
    g_auto(Hdf5Id) group = hdf5_open(file, "observation");
    if (group < 0 || H5Iget_type(group) != H5I_GROUP)
        return TRUE;
    CtObservationFacts facts = *ct_observation_facts(NULL);
    g_autofree char *telescope = hdf5_get_text(group, "telescope");
    g_autofree char *source = hdf5_get_text(group, "source");
    g_autofree char *project = hdf5_get_text(group, "project");
    g_autofree char *observer = hdf5_get_text(group, "observer");
    g_auto(GStrv) pols = hdf5_get_texts(group, "polarisations");
    g_auto(GStrv) names = NULL;
    g_autofree CtStation *stations = NULL;
    facts.telescope = telescope;
    facts.source = source;
    facts.project = project;
    facts.observer = observer;
    facts.polarisations = (const char *const *)pols;
    facts.n_polarisations = pols ? g_strv_length(pols) : 0;
    facts.has_location = read_reals(group, "position", facts.location, 3);
    facts.has_direction = read_reals(group, "phase_centre", facts.direction, 2);
    hdf5_get(group, "start", H5T_NATIVE_INT64, &facts.start, 0);
    if (!read_stations(group, &facts, &names, &stations))
        return hdf5_refuse(array, error,
                           "wants the datasets station, position and feeds of the group "
                           "observation for each station");
    ct_stream_take_observation(stream, ct_observation_new(&facts));
    return TRUE;
}

gboolean
hdf5_stream_describe(CtArrayFile *array, const CtParams *given, hid_t file, hid_t data,
                     const CtLayout *axes, CtStream *stream, GError **error)
{
    for (guint dim = 0; dim < axes->n_axes; dim++) {
        const gint a = ct_stream_axis(stream, axes->axes[dim].name);
        /* The seconds of time follow from the clock. */
        if (a >= 0 && strcmp(stream->axes[a].name, "time") != 0 &&
            !read_axis(array, file, data, dim, stream, (guint)a, error))
            return FALSE;
    }
    stream->has_frequency = hdf5_get(data, "frequency", H5T_NATIVE_DOUBLE, &stream->frequency, 0) &&
                            isfinite(stream->frequency);
    const gint time = ct_layout_axis(axes, "time");
    g_auto(Hdf5Id) times = time < 0 ? H5I_INVALID_HID : open_scale(data, (guint)time);
    if (!check_parents(array, stream, error) || !read_clock(array, data, stream, error))
        return FALSE;
    if (stream->rate_num == 0 && times >= 0)
        hdf5_time_read(array, given, times, stream);
    return read_observation(array, file, stream, error);
}
