/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing PATH.json, a file beside an array that describes its axes. */
#include "sidecar-write.h"

#include "stream-json.h"

/* Numbers of a growing array are padded with spaces to this many digits. */
enum { GROWING_DIGITS = 20 };

static void
add_axis(CtJson *json, const CtStream *stream, const CtLayoutAxis *layout_axis, int digits)
{
    const gint a = ct_stream_axis(stream, layout_axis->name);
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "name", layout_axis->name);
    if (a < 0 || layout_axis->count) {
        /* The parts of complex elements, or a block of an axis. */
        ct_json_add_integer(json, "length", layout_axis->count ? layout_axis->count : 2);
    } else {
        const gboolean is_time = stream->axes[a].name == ct_axis_name("time");
        ct_json_add_padded(json, "length", stream->axes[a].length, is_time ? digits : 0);
        ct_stream_json_add_axis_facts(json, stream, (guint)a);
    }
    ct_json_end_object(json);
}

/* Adds lane `lane` to a list of runs of lanes: first, number, first, number, … */
static void
add_lane(GArray *lanes, gint64 lane)
{
    gint64 *last = lanes->len ? &g_array_index(lanes, gint64, lanes->len - 2) : NULL;
    const gint64 run[] = {lane, 1};
    if (last && last[0] + last[1] == lane)
        last[1]++;
    else
        g_array_append_vals(lanes, run, G_N_ELEMENTS(run));
}

/* The lanes that have the same invalid samples, as runs of lanes, and these samples, as runs. Lanes
 * without invalid samples are not listed. */
static void
add_gaps(CtJson *json, const CtGaps *gaps)
{
    g_autoptr(GHashTable) lists = g_hash_table_new(g_bytes_hash, g_bytes_equal);
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    g_autoptr(GPtrArray) lanes = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (gint64 lane = 0; lane < ct_gaps_n_lanes(gaps); lane++) {
        gsize n;
        const CtGap *of_lane = ct_gaps_of_lane(gaps, lane, &n);
        if (n == 0)
            continue;
        GBytes *key = g_bytes_new(of_lane, n * sizeof *of_lane);
        GArray *same = g_hash_table_lookup(lists, key);
        g_ptr_array_add(keys, key);
        if (!same) {
            same = g_array_new(FALSE, FALSE, sizeof(gint64));
            g_ptr_array_add(lanes, same);
            g_hash_table_insert(lists, key, same);
        } else
            g_ptr_array_remove_index(keys, keys->len - 1);
        add_lane(same, lane);
    }
    ct_json_begin_array(json, "gaps");
    for (guint i = 0; i < lanes->len; i++) {
        const GArray *same = lanes->pdata[i];
        gsize bytes;
        const gint64 *runs = g_bytes_get_data(keys->pdata[i], &bytes);
        ct_json_begin_object(json, NULL);
        ct_json_add_integers(json, "lanes", (const gint64 *)(gpointer)same->data, same->len);
        ct_json_add_integers(json, "samples", runs, bytes / sizeof *runs);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

static void
add_validity(CtJson *json, const CtStream *stream, const CtSidecarArray *array)
{
    const gint64 n_lanes = ct_gaps_n_lanes(array->gaps);
    const gdouble all = (gdouble)array->n_samples * n_lanes;
    const gint64 *of_lanes = ct_gaps_invalid(array->gaps);
    gint64 invalid = 0;
    for (gint64 lane = 0; lane < n_lanes; lane++)
        invalid += of_lanes[lane];
    ct_json_begin_object(json, "validity");
    ct_json_begin_array(json, "axes");
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].loses)
            ct_json_add_text(json, NULL, stream->axes[a].name);
    ct_json_end_array(json);
    ct_json_add_real(json, "valid", all > 0 ? 1 - invalid / all : 1);
    ct_json_add_integers(json, "invalid_samples", of_lanes, invalid > 0 ? (gsize)n_lanes : 0);
    if (invalid > 0)
        add_gaps(json, array->gaps);
    ct_json_end_object(json);
}

static void
add_array(CtJson *json, const CtSidecarArray *array, int digits)
{
    ct_json_add_padded(json, "bytes", array->bytes, digits);
    ct_json_add_text(json, "generation", array->generation);
    if (array->sha256)
        ct_json_add_text(json, "sha256", array->sha256);
    if (array->is_partial)
        ct_json_add_padded(json, "written", array->n_samples, digits);
    else
        ct_json_add_boolean(json, "interrupted", array->interrupted);
    if (!array->is_one_of)
        return;
    ct_json_begin_object(json, "sequence");
    ct_json_add_integer(json, "number", array->number);
    ct_json_add_integer(json, "first_sample", array->first);
    ct_json_end_object(json);
}

static void
add_origin(CtJson *json, const CtOrigin *origin)
{
    ct_json_begin_object(json, "origin");
    ct_json_add_text(json, "cornerturn", CT_VERSION);
    if (origin->node)
        ct_json_add_text(json, "node", origin->node);
    if (origin->graph)
        ct_json_add_text(json, "graph", origin->graph);
    ct_json_begin_array(json, "set");
    for (const char *const *setting = origin->settings; setting && *setting; setting++)
        ct_json_add_text(json, NULL, *setting);
    ct_json_end_array(json);
    ct_json_end_object(json);
}

char *
ct_sidecar_format(const CtStream *stream, const CtLayout *layout, const CtSidecarArray *array)
{
    const int digits = array->is_partial ? GROWING_DIGITS : 0;
    g_autofree char *name = ct_layout_to_string(layout);
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "type", ct_type_info(stream->type)->name);
    ct_json_add_text(json, "layout", name);
    add_array(json, array, digits);
    ct_stream_json_add_facts(json, stream);
    ct_json_begin_array(json, "axes");
    for (guint a = 0; a < layout->n_axes; a++)
        add_axis(json, stream, &layout->axes[a], digits);
    ct_json_end_array(json);
    if (!array->is_partial)
        add_validity(json, stream, array);
    add_origin(json, &array->origin);
    return ct_json_free_to_text(json, TRUE);
}
