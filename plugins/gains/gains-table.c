/* SPDX-License-Identifier: BSD-3-Clause */
/* Factors from a file or the port, or one for all. */
#include "gains.h"

#include <complex.h>
#include <string.h>

/* The axes of the file: the given ones, or those of the usual ones that the stream has. */
static gboolean
find_axes(const CtNode *node, const char *axes[CT_MAX_AXES], guint *n, GError **error)
{
    static const char *const usual[] = {"station", "pol", "channel"};
    const CtStream *in = &node->inputs[0];
    *n = 0;
    if (!ct_params_has(node->params, "axes")) {
        for (guint i = 0; i < G_N_ELEMENTS(usual); i++)
            if (ct_stream_axis(in, usual[i]) >= 0)
                axes[(*n)++] = ct_axis_name(usual[i]);
        return TRUE;
    }
    for (guint i = 0; i < ct_params_count(node->params, "axes"); i++) {
        const char *name = ct_params_string_at(node->params, "axes", i);
        gboolean is_new = strcmp(name, "time") != 0;
        for (guint j = 0; j < *n; j++)
            is_new = is_new && strcmp(axes[j], name) != 0;
        if (!is_new || ct_stream_axis(in, name) < 0) {
            g_autofree char *given = ct_stream_describe(in);
            return ct_params_error(node->params, "axes", error,
                                   "wants different axes of the stream other than time, %s, but is "
                                   "given '%s'",
                                   given, name);
        }
        axes[(*n)++] = ct_axis_name(name);
    }
    return TRUE;
}

CtNpyArray *
ct_gains_load(const CtNode *node, const char *axes[CT_MAX_AXES], GError **error)
{
    const CtStream *in = &node->inputs[0];
    g_autoptr(GError) problem = NULL;
    guint n;
    if (!find_axes(node, axes, &n, error))
        return NULL;
    g_autoptr(CtNpyArray) array =
        gains_are_real(node)
            ? ct_npy_load(ct_params_string(node->params, "gains"), 'f', 8, &problem)
            : ct_npy_load(ct_params_string(node->params, "gains"), 'c', 16, &problem);
    if (!array) {
        ct_params_error(node->params, "gains", error, "%s", problem->message);
        return NULL;
    }
    gboolean fits = array->n_axes == n;
    for (guint a = 0; a < n && fits; a++)
        fits = array->shape[a] == 1 || (gint64)array->shape[a] == ct_stream_length(in, axes[a]);
    if (fits)
        return g_steal_pointer(&array);

    g_autoptr(GString) wanted = g_string_new(NULL);
    for (guint a = 0; a < n; a++)
        g_string_append_printf(wanted, "%s%s", a ? " " : "", axes[a]);
    g_autofree char *shape = ct_npy_shape_string(array);
    g_autofree char *given = ct_stream_describe(in);
    ct_params_error(
        node->params, "gains", error,
        "wants an array of [%s], or 1 in the place of a length, for a stream of %s, but "
        "%s has shape %s",
        wanted->str, given, ct_params_string(node->params, "gains"), shape);
    return NULL;
}

/* Copies the gains, or 1/g of them, where a gain of 0 stays 0. */
static void
copy_real(const double *gains, double *factors, gsize n, gboolean inverts)
{
    for (gsize i = 0; i < n; i++)
        factors[i] = !inverts ? gains[i] : gains[i] == 0 ? 0 : 1 / gains[i];
}

static void
copy_complex(const double complex *gains, double complex *factors, gsize n, gboolean inverts)
{
    for (gsize i = 0; i < n; i++)
        factors[i] = !inverts ? gains[i] : gains[i] == 0 ? 0 : 1 / gains[i];
}

gboolean
ct_gains_table(const CtNode *node, CtFormTable *table, GError **error)
{
    const CtParams *params = node->params;
    const gboolean is_real = gains_are_real(node);
    const gsize item_bytes = is_real ? sizeof(double) : sizeof(double complex);
    g_autoptr(CtNpyArray) array = NULL;
    double complex constant = 1;
    table->type = is_real ? CT_F64 : CT_CF64;
    if (ct_array_is_given(node, GAINS_PORT)) {
        const guint n_axes = ct_array_axes(node, GAINS_PORT, table->axes);
        array = ct_array_read(node, GAINS_PORT, table->axes, n_axes, is_real ? 'f' : 'c',
                              (unsigned)item_bytes, error);
        if (!array)
            return FALSE;
    } else if (ct_params_has(params, "gains")) {
        array = ct_gains_load(node, table->axes, error);
        if (!array)
            return FALSE;
    } else {
        constant = ct_params_real_at(params, "gain", 0);
        if (ct_params_count(params, "gain") == 2)
            constant += I * ct_params_real_at(params, "gain", 1);
    }
    const gconstpointer given = array ? array->data : &constant; /* the real part comes first */
    const gsize n = array ? array->n_items : 1;
    table->data = ct_table_new(n, item_bytes, "gains", error);
    if (!table->data)
        return FALSE;
    table->n_axes = array ? array->n_axes : 0;
    for (guint a = 0; a < table->n_axes; a++)
        table->lengths[a] = (gint64)array->shape[a];
    const gboolean inverts = ct_params_bool(params, "inverse");
    if (is_real)
        copy_real(given, table->data, n, inverts);
    else
        copy_complex(given, table->data, n, inverts);
    return TRUE;
}
