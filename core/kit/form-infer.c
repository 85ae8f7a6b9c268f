/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a node whose stage names its form: footprint, axes, type, marks. */
#include "form-private.h"
#include "reserved.h"

#include <cornerturn/kit/fold.h>
#include <cornerturn/kit/window.h>

/* ---- forms ---- */

/* The samples of a hop or a window, by the parameter that the form names; 0: an error. */
static gint64
read_length(const CtNode *node, GError **error)
{
    const CtStage *stage = node->stage;
    const char *name = ((const CtForm *)stage->form)->length;
    const CtParam *param = stage->params;
    while (param && param->name && !g_str_equal(param->name, name))
        param++;
    if (!param || !param->name || param->kind != CT_PARAM_INT ||
        param->flags & (CT_PARAM_LIST | CT_PARAM_TABLE)) {
        g_set_error(
            error, CT_ERROR, CT_ERROR_PLUGIN,
            "stage '%s' wants a parameter '%s' that is one integer: the .length of its form",
            stage->name, name);
        return 0;
    }
    const gint64 length = ct_params_int(node->params, name);
    if (length >= 1)
        return length;
    ct_params_error(node->params, name, error, "wants 1 or more, but is given %" G_GINT64_FORMAT,
                    length);
    return 0;
}

static gboolean
infer_map(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

static gboolean
infer_fold(CtNode *node, GError **error)
{
    const gint64 length = read_length(node, error);
    if (length > 0)
        ct_fold_infer(node, length);
    return length > 0;
}

static gboolean
infer_window(CtNode *node, GError **error)
{
    const CtForm *form = node->stage->form;
    const gint64 length = read_length(node, error);
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return length > 0 && ct_window_footprint(node, form->length, 0, 0, length, error);
}

/* Whether the stage has as many streams as its form reads, all connected and, where the form needs
 * it, with time. */
static gboolean
check_inputs(const CtNode *node, guint wanted, gboolean needs_time, GError **error)
{
    const CtPort *ports = node->stage->inputs;
    guint n = 0;
    while (n < node->n_inputs && !(ports[n].flags & CT_PORT_PREPARED))
        n++;
    if (n != wanted) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "stage '%s' wants %u input%s for its form, but has %u", node->stage->name,
                    wanted, wanted > 1 ? "s" : "", n);
        return FALSE;
    }
    for (guint i = 0; i < n; i++) {
        const CtStream *in = &node->inputs[i];
        const gboolean is_connected = in->type != CT_TYPE_NONE;
        if (is_connected && (!needs_time || ct_stream_axis(in, "time") >= 0))
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "input '%s' wants %s, but has none",
                    ports[i].name, is_connected ? "an axis time" : "a stream");
        return FALSE;
    }
    return TRUE;
}

static gboolean
infer_form(CtNode *node, const CtFormKernel *kernel, GError **error)
{
    static gboolean (*const infer[])(CtNode * node, GError * *error) = {
        [CT_FORM_CONVERT] = infer_map,         [CT_FORM_MAP] = infer_map,
        [CT_FORM_TABLE] = infer_map,           [CT_FORM_FOLD] = infer_fold,
        [CT_FORM_WINDOW] = infer_window,       [CT_FORM_JOIN] = ct_join_infer,
        [CT_FORM_MARKED_JOIN] = ct_join_infer,
    };
    const CtFormKind kind = kernel ? kernel->kind : CT_FORM_CONVERT;
    const CtForm *form = node->stage->form;
    const gboolean has_length = kind == CT_FORM_FOLD || kind == CT_FORM_WINDOW;
    const gboolean joins = kind == CT_FORM_JOIN || kind == CT_FORM_MARKED_JOIN;
    if (!check_inputs(node, joins ? 2 : 1, has_length || joins, error))
        return FALSE;
    if (kind < G_N_ELEMENTS(infer) && infer[kind] && (!has_length || form->length))
        return infer[kind](node, error);
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "stage '%s' wants %s for kernel '%s', but has none", node->stage->name,
                has_length ? "a .length" : "an infer of its own", kernel->name);
    return FALSE;
}

/* ---- what all forms have ---- */

/* Lets the form fill in settings that nobody keeps. */
static gboolean
try_settings(const CtNode *node, const CtForm *form, GError **error)
{
    CtFormChoice choice = {0};
    const gboolean good = ct_form_choose(form, node, &choice, error);
    ct_form_choice_clear(&choice);
    return good;
}

static void
set_type(CtNode *node)
{
    CtLayout declared;
    const char *pattern = node->stage->outputs[0].layout;
    if (!pattern || !*pattern || !ct_layout_parse(&declared, pattern, NULL))
        return;
    for (CtType type = 0; type < CT_N_TYPES; type++)
        if (declared.types == 1u << type)
            node->outputs[0].type = type;
}

static void
set_losses(CtNode *node)
{
    CtStream *out = &node->outputs[0];
    const CtStream *marking = &node->inputs[node->n_inputs > 1 ? 1 : 0];
    if (!(node->stage->outputs[0].flags & CT_PORT_MARKED))
        return;
    for (guint a = 0; a < out->n_axes; a++)
        out->axes[a].loses |= out->axes[a].name != ct_axis_name("time") &&
                              ct_stream_axis(marking, out->axes[a].name) >= 0;
}

gboolean
ct_form_infer(CtNode *node, GError **error)
{
    const CtForm *form = node->stage->form;
    if (!form || form->choose) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "stage '%s' wants a .form that names its kernel, but has %s", node->stage->name,
                    form ? "one that chooses" : "none");
        return FALSE;
    }
    if (!CT_RESERVED_CHECK(form->plugin, CtForm, form, error) || !try_settings(node, form, error) ||
        !infer_form(node, form->kernel ? ct_form_find(form, form->kernel) : NULL, error))
        return FALSE;
    set_type(node);
    set_losses(node);
    return TRUE;
}

gboolean
ct_form_infer_type(CtNode *node, const char *param, CtType type, GError **error)
{
    const CtTypeInfo *in = ct_type_info(node->inputs[0].type), *out = ct_type_info(type);
    if (out->is_complex != in->is_complex)
        return ct_params_error(node->params, param, error,
                               "wants a %s type, but is given %s for %s",
                               in->is_complex ? "complex" : "real", out->name, in->name);
    if (!ct_form_infer(node, error))
        return FALSE;
    node->outputs[0].type = type;
    return TRUE;
}
