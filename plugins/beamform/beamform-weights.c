/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights from a file, and the meaning of the file's axes. */
#include "beamform.h"

#include <string.h>

/* The axes of the voltages that pass through, in their canonical order. */
static guint
passing_axes(const CtStream *voltages, const CtAxis *passing[CT_MAX_AXES])
{
    static const char *const others[] = {"time", "station", "pol"};
    guint n = 0;
    for (guint a = 0; a < voltages->n_axes; a++) {
        gboolean passes = TRUE;
        for (guint k = 0; k < G_N_ELEMENTS(others); k++)
            passes = passes && strcmp(voltages->axes[a].name, others[k]) != 0;
        if (passes)
            passing[n++] = &voltages->axes[a];
    }
    return n;
}

/* Whether `array` has the lengths [passing … beam station] or [passing … beam station pol]; its
 * layout if so. */
static gboolean
read_shape(const CtNpyArray *array, const CtAxis *const *passing, guint n, const CtStream *voltages,
           CtLayout *layout)
{
    const guint rest = array->n_axes - n;
    CtLayout found = {.types = 1u << CT_CF32};
    if (array->n_axes < n || rest < 2 || rest > 3 || array->n_axes > CT_MAX_AXES)
        return FALSE;
    for (guint a = 0; a < n; a++) {
        if ((gint64)array->shape[a] != passing[a]->length)
            return FALSE;
        found.axes[found.n_axes++].name = passing[a]->name;
    }
    if (array->shape[n] == 0 ||
        (gint64)array->shape[n + 1] != ct_stream_length(voltages, "station"))
        return FALSE;
    found.axes[found.n_axes++].name = ct_axis_name("beam");
    found.axes[found.n_axes++].name = ct_axis_name("station");
    if (rest == 3) {
        const gint pol = ct_stream_axis(voltages, "pol");
        if (pol < 0 || (gint64)array->shape[n + 2] != voltages->axes[pol].length)
            return FALSE;
        found.axes[found.n_axes++].name = ct_axis_name("pol");
    }
    *layout = found;
    return TRUE;
}

CtNpyArray *
ct_beamform_load(const CtNode *node, CtLayout *layout, GError **error)
{
    const CtStream *voltages = &node->inputs[0];
    g_autoptr(GError) problem = NULL;
    g_autoptr(CtNpyArray) array =
        ct_npy_load(ct_params_string(node->params, "weights"), 'c', 8, &problem);
    if (!array) {
        ct_params_error(node->params, "weights", error, "%s", problem->message);
        return NULL;
    }

    const CtAxis *passing[CT_MAX_AXES];
    const guint n_passing = passing_axes(voltages, passing);
    const gint channel = ct_stream_axis(voltages, "channel");
    const CtAxis *own[1] = {channel >= 0 ? &voltages->axes[channel] : NULL};
    CtLayout whole;
    const gboolean is_whole = read_shape(array, passing, n_passing, voltages, &whole);
    const gboolean is_own = read_shape(array, own, channel >= 0, voltages, layout);
    if (is_whole && is_own && !ct_layout_equal(&whole, layout)) {
        g_autofree char *first = ct_layout_to_string(&whole);
        g_autofree char *second = ct_layout_to_string(layout);
        ct_params_error(
            node->params, "weights", error,
            "wants an array that has one meaning, but %s may be %s or %s: a file.source "
            "at the port 'weights' says which",
            ct_params_string(node->params, "weights"), first, second);
        return NULL;
    }
    if (is_whole)
        *layout = whole;
    if (is_whole || is_own)
        return g_steal_pointer(&array);
    g_autofree char *shape = ct_npy_shape_string(array);
    g_autofree char *given = ct_stream_describe(voltages);
    ct_params_error(node->params, "weights", error,
                    "wants an array of [channel beam station] or [channel beam station pol] for "
                    "voltages of %s, but %s has shape %s",
                    given, ct_params_string(node->params, "weights"), shape);
    return NULL;
}
