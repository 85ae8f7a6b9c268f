/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a node whose stage names its form: footprint, axes, type, marks. */
#include "form-private.h"
#include "reserved.h"

#include <cornerturn/kit/fold.h>
#include <cornerturn/kit/window.h>

/* ---- forms ---- */

/* The samples of a hop or a window, by the parameter that the form names. */
static gint64
read_length(const CtNode *node)
{
    const CtForm *form = node->stage->form;
    return form->length ? ct_params_int(node->params, form->length) : 0;
}

static gboolean
infer_map(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

static gboolean
infer_fold(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_fold_infer(node, read_length(node));
    return TRUE;
}

static gboolean
infer_window(CtNode *node, GError **error)
{
    const CtForm *form = node->stage->form;
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return ct_window_footprint(node, form->length, 0, 0, read_length(node), error);
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
