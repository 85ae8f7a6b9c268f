/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of an HDF5 file that describe a stream. */
#include "hdf5-stream.h"
#include "hdf5.h"

#include <hdf5_hl.h>
#include <math.h>
#include <string.h>

/* Texts of labels; those of pairs are both names with a space between them. */
static GPtrArray *
list_labels(const CtLabels *labels)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
    const gboolean are_pairs = ct_labels_are_pairs(labels);
    for (gsize i = 0; i < ct_labels_count(labels); i++) {
        const char *first = ct_labels_name(labels, i, 0);
        g_ptr_array_add(texts, are_pairs
                                   ? g_strdup_printf("%s %s", first, ct_labels_name(labels, i, 1))
                                   : g_strdup(first));
    }
    return texts;
}

/* The coordinates of an axis, of each element of its parent. */
static gdouble *
list_coordinates(const CtStream *stream, guint a, gint64 n_parents)
{
    const gint64 n = stream->axes[a].length;
    gdouble *values = g_new(gdouble, n * n_parents + 1);
    for (gint64 parent = 0; parent < n_parents; parent++)
        for (gint64 i = 0; i < n; i++)
            values[parent * n + i] = ct_stream_coordinate(stream, a, i, parent);
    return values;
}

/* Without a table, coordinates are multiples of a step, which readers need not find out. */
static gboolean
describe_coordinates(hid_t object, const CtCoordinate *coordinate)
{
    return hdf5_set_text(object, "units", coordinate->unit) &&
           hdf5_set_text(object, "parent", coordinate->parent) &&
           (coordinate->table ||
            (hdf5_set(object, "first", H5T_NATIVE_DOUBLE, &coordinate->first, 0) &&
             hdf5_set(object, "step", H5T_NATIVE_DOUBLE, &coordinate->step, 0)));
}

/* Coordinates that the scale has no place for: those relative to another axis, or of an axis whose
 * scale has its labels. */
static gboolean
add_coordinates(hid_t file, const CtStream *stream, guint a)
{
    const CtAxis *axis = &stream->axes[a];
    const gint parent =
        axis->coordinate.parent ? ct_stream_axis(stream, axis->coordinate.parent) : -1;
    const hsize_t dims[] = {parent < 0 ? 1 : (hsize_t)stream->axes[parent].length,
                            (hsize_t)axis->length};
    g_autofree gdouble *values = list_coordinates(stream, a, (gint64)dims[0]);
    g_autofree char *name = g_strconcat(axis->name, "_coordinate", NULL);
    g_auto(Hdf5Id) made = hdf5_add(file, name, H5T_NATIVE_DOUBLE, parent < 0 ? 1 : 2,
                                   parent < 0 ? dims + 1 : dims, values, NULL);
    return made >= 0 && describe_coordinates(made, &axis->coordinate);
}

/* The scale of time: seconds from the file's first sample on. They are written at the end. */
static hid_t
add_time(hid_t file, const CtStream *stream)
{
    const hsize_t none = 0;
    const gdouble unknown = NAN;
    const hid_t scale = hdf5_add(file, "time", H5T_NATIVE_DOUBLE, 1, &none, NULL, &unknown);
    if (scale < 0 || stream->rate_num == 0)
        return scale;
    g_autofree char *utc = ct_stream_utc(stream, stream->start);
    hdf5_set_text(scale, "units", "s");
    hdf5_set_text(scale, "start_utc", utc);
    return scale;
}

/* The scale of an axis other than time: its labels, its coordinates, or numbers from 0 on. */
static hid_t
add_scale(hid_t file, const CtStream *stream, guint a)
{
    const CtAxis *axis = &stream->axes[a];
    const hsize_t n = (hsize_t)axis->length;
    const gboolean has_more =
        axis->coordinate.unit && (axis->labels || axis->coordinate.parent != NULL);
    if (has_more && !add_coordinates(file, stream, a))
        return H5I_INVALID_HID;
    if (axis->labels) {
        g_autoptr(GPtrArray) texts = list_labels(axis->labels);
        g_auto(Hdf5Id) type = hdf5_text_type();
        const gint64 are_pairs = ct_labels_are_pairs(axis->labels);
        const hid_t scale = hdf5_add(file, axis->name, type, 1, &n, texts->pdata, NULL);
        if (are_pairs)
            hdf5_set(scale, "pairs", H5T_NATIVE_INT64, &are_pairs, 0);
        return scale;
    }
    if (axis->coordinate.unit && !axis->coordinate.parent) {
        g_autofree gdouble *values = list_coordinates(stream, a, 1);
        const hid_t scale = hdf5_add(file, axis->name, H5T_NATIVE_DOUBLE, 1, &n, values, NULL);
        describe_coordinates(scale, &axis->coordinate);
        return scale;
    }
    g_autofree gint64 *numbers = g_new(gint64, n + 1);
    for (hsize_t i = 0; i < n; i++)
        numbers[i] = (gint64)i;
    return hdf5_add(file, axis->name, H5T_NATIVE_INT64, 1, &n, numbers, NULL);
}

/* Adds the stations, whichever of them the stream has. */
static gboolean
add_stations(hid_t group, const CtObservationFacts *facts)
{
    const hsize_t n = facts->n_stations;
    const hsize_t places[] = {n, 3}, feeds[] = {n, 2};
    g_autofree const char **names = g_new(const char *, n + 1);
    g_autofree gdouble *positions = g_new(gdouble, 3 * n + 1);
    g_autofree gdouble *angles = g_new(gdouble, 2 * n + 1);
    for (hsize_t i = 0; i < n; i++) {
        const CtStation *station = &facts->stations[i];
        names[i] = station->name;
        for (guint k = 0; k < 3; k++)
            positions[3 * i + k] = station->has_position ? station->position[k] : NAN;
        memcpy(&angles[2 * i], station->feeds, sizeof station->feeds);
    }
    g_auto(Hdf5Id) text = hdf5_text_type();
    g_auto(Hdf5Id) of_names = hdf5_add(group, "station", text, 1, &n, names, NULL);
    g_auto(Hdf5Id) of_places =
        hdf5_add(group, "position", H5T_NATIVE_DOUBLE, 2, places, positions, NULL);
    g_auto(Hdf5Id) of_feeds = hdf5_add(group, "feeds", H5T_NATIVE_DOUBLE, 2, feeds, angles, NULL);
    return of_names >= 0 && of_places >= 0 && of_feeds >= 0 &&
           hdf5_set_text(of_places, "units", "m") && hdf5_set_text(of_feeds, "units", "rad");
}

static gboolean
add_observation(hid_t file, const CtObservation *observation)
{
    if (!observation)
        return TRUE;
    const CtObservationFacts *facts = ct_observation_facts(observation);
    g_auto(Hdf5Id) group = H5Gcreate2(file, "observation", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    g_auto(Hdf5Id) text = hdf5_text_type();
    return group >= 0 && hdf5_set_text(group, "telescope", facts->telescope) &&
           hdf5_set_text(group, "source", facts->source) &&
           hdf5_set_text(group, "project", facts->project) &&
           hdf5_set_text(group, "observer", facts->observer) &&
           (!facts->has_location ||
            hdf5_set(group, "position", H5T_NATIVE_DOUBLE, facts->location, 3)) &&
           (!facts->has_direction ||
            hdf5_set(group, "phase_centre", H5T_NATIVE_DOUBLE, facts->direction, 2)) &&
           (facts->start == G_MININT64 ||
            hdf5_set(group, "start", H5T_NATIVE_INT64, &facts->start, 0)) &&
           (facts->n_polarisations == 0 ||
            hdf5_set(group, "polarisations", text, facts->polarisations, facts->n_polarisations)) &&
           (facts->n_stations == 0 || add_stations(group, facts));
}

/* The clock and the frequency, under the names that PATH.json has for them. */
static gboolean
describe(hid_t data, const CtStream *stream, const CtLayout *layout)
{
    const gint64 rate[] = {stream->rate_num, stream->rate_den};
    g_autofree char *text = ct_layout_to_string(layout);
    if (!hdf5_set_text(data, "layout", text) ||
        (stream->has_frequency &&
         !hdf5_set(data, "frequency", H5T_NATIVE_DOUBLE, &stream->frequency, 0)))
        return FALSE;
    return (stream->rate_num == 0 ||
            hdf5_set(data, "ticks_per_second", H5T_NATIVE_INT64, rate, G_N_ELEMENTS(rate))) &&
           hdf5_set(data, "ticks_per_sample", H5T_NATIVE_INT64, &stream->ticks_per_sample, 0) &&
           hdf5_set(data, "start", H5T_NATIVE_INT64, &stream->start, 0) &&
           (stream->rate_num == 0 || stream->epoch == CT_NO_EPOCH ||
            hdf5_set(data, "epoch", H5T_NATIVE_INT64, &stream->epoch, 0));
}

/* The samples and time come first: their places are in the first page of the file. */
hid_t
hdf5_stream_write(hid_t file, const CtStream *stream, const CtLayout *layout)
{
    hsize_t dims[CT_MAX_AXES];
    g_auto(Hdf5Id) type = hdf5_type(ct_layout_type(layout));
    for (guint a = 0; a < layout->n_axes; a++) {
        const CtAxis *axis = &stream->axes[ct_stream_axis(stream, layout->axes[a].name)];
        dims[a] = strcmp(axis->name, "time") == 0 ? 0 : (hsize_t)axis->length;
    }
    g_auto(Hdf5Id) data = hdf5_add(file, HDF5_DATA, type, layout->n_axes, dims, NULL, NULL);
    /* The first attribute makes the library move messages of the dataset to a new piece, which is
     * to be within the first page, too. */
    if (data < 0 || !describe(data, stream, layout))
        return H5I_INVALID_HID;
    for (guint a = 0; a < layout->n_axes; a++) {
        const char *name = layout->axes[a].name;
        const guint of = (guint)ct_stream_axis(stream, name);
        g_auto(Hdf5Id) scale =
            strcmp(name, "time") == 0 ? add_time(file, stream) : add_scale(file, stream, of);
        if (scale < 0 || H5DSset_scale(scale, name) < 0 || H5DSattach_scale(data, scale, a) < 0)
            return H5I_INVALID_HID;
    }
    if (!add_observation(file, stream->observation))
        return H5I_INVALID_HID;
    const hid_t made = data;
    data = H5I_INVALID_HID;
    return made;
}
