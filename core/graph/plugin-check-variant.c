/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the tables of a variant are consistent, and that they suit the stages that it
 * covers. */
#include "model/layout-private.h"
#include "model/row.h"
#include "plugin-check-private.h"
#include "tuning.h"

#include <cornerturn/kit/window.h>
#include <string.h>

/* The efficiency may be above 1 if the row computes on other units than the peak is given for. */
#define MAX_EFFICIENCY 100

/* ---- variants ---- */

/* The name in an entry of `covers`, "fir" or "fir 1", allocated. Sets *version, to -1 if there is
 * none. NULL if the entry has another form. */
static char *
parse_cover(const char *cover, gint64 *version)
{
    const char *space = strchr(cover, ' ');
    guint64 number = 0;
    *version = -1;
    if (space && !g_ascii_string_to_unsigned(space + 1, 10, 0, G_MAXUINT, &number, NULL))
        return NULL;
    if (!space)
        return g_strdup(cover);
    *version = (gint64)number;
    return g_strndup(cover, (gsize)(space - cover));
}

/* Replaces `covers` by the names in it. */
static gboolean
check_covers(const CtCheck *check, CtVariant *variant, GError **error)
{
    guint n;
    if (!variant->covers)
        return ct_check_refuse(check, error, "covers", "wants stages, but is given none");
    if (!COUNT_ROWS(check, "covers", variant->covers, &n, error))
        return FALSE;
    if (n == 0 || n > CT_MAX_COVERS)
        return ct_check_refuse(check, error, "covers", "wants 1 to %d stages, but is given %u",
                               CT_MAX_COVERS, n);
    const char **names = g_new0(const char *, n + 1);
    g_ptr_array_add(check->memory, names);
    for (guint i = 0; i < n; i++) {
        gint64 version;
        char *name = parse_cover(variant->covers[i], &version);
        if (!name)
            return ct_check_refuse(check, error, "covers",
                                   "wants a version after the name, as 'fir 1', but is given '%s'",
                                   variant->covers[i]);
        g_ptr_array_add(check->memory, name);
        names[i] = name;
        if (!ct_check_name(check, "covers", name, ".-", error))
            return FALSE;
    }
    variant->covers = names;
    return TRUE;
}

/* Whether a layout that matches the pattern may have this axis. */
static gboolean
takes_axis(const CtLayout *pattern, const char *axis)
{
    return pattern->n_axes == 0 || ct_layout_axis(pattern, "...") >= 0 ||
           ct_layout_axis(pattern, axis) >= 0;
}

static gboolean
is_axis_split(const CtVariant *variant)
{
    return variant->split && !g_str_equal(variant->split, "*") &&
           !g_str_equal(variant->split, "time");
}

/* Whether the variant is of a form on devices whose kernels go along rows that input and output
 * have in common: windows, shifts and tables, whose only tunable is `units`. */
static gboolean
wants_one_order(const CtVariant *variant)
{
    const gboolean is_form =
        variant->prepare == ct_window_prepare_device || variant->prepare == ct_form_prepare_device;
    return is_form && variant->tunables && variant->tunables[0].name && !variant->tunables[1].name;
}

/* Whether the axes stand in the same order on both sides. */
static gboolean
has_one_order(const CtRowPatterns *row)
{
    const CtLayout *in = &row->inputs[0], *out = &row->outputs[0];
    if (row->any)
        return FALSE;
    if (in->any_order && out->any_order)
        return TRUE; /* they have their common axes in one order */
    for (guint a = 0; a < in->n_axes && in->n_axes == out->n_axes; a++)
        if (g_strcmp0(in->axes[a].name, out->axes[a].name) != 0)
            return FALSE;
    return in->n_axes == out->n_axes;
}

/* Whether the row stands for the patterns of the ports. */
static gboolean
is_of_ports(const CtRow *row)
{
    return g_str_equal(row->layouts, "ports") || g_str_equal(row->layouts, "any: ports");
}

static void
append_ports(GString *text, const CtPort *ports)
{
    const char *before = "";
    for (; ports && ports->name && !(ports->flags & CT_PORT_PREPARED); ports++, before = ", ")
        g_string_append_printf(text, "%s%s", before,
                               ports->layout && *ports->layout ? ports->layout : "{...}");
}

/* Writes the patterns of the ports into a row that stands for them. */
static void
fill_row(const CtCheck *check, CtRow *row, const CtStage *first, const CtStage *last)
{
    GString *text = g_string_new(g_str_has_prefix(row->layouts, "any: ") ? "any: " : NULL);
    append_ports(text, first->inputs);
    g_string_append(text, " -> ");
    append_ports(text, last->outputs);
    row->layouts = g_strstrip(g_string_free(text, FALSE));
    g_ptr_array_add(check->memory, (gpointer)row->layouts);
}

static gboolean
check_row(const CtCheck *check, const CtVariant *variant, const CtRow *row, GError **error)
{
    CtRowPatterns patterns;
    g_autoptr(GError) cause = NULL;
    if (!is_of_ports(row) && !ct_row_parse(&patterns, row->layouts, &cause))
        return ct_check_refuse_row(check, error, "rows", "%s", cause->message);
    if (!(row->efficiency > 0 && row->efficiency <= MAX_EFFICIENCY)) {
        g_autofree char *field = g_strdup_printf("rows '%s', efficiency", row->layouts);
        return ct_check_refuse_row(check, error, field,
                                   "wants more than 0, up to %d, but is given %g", MAX_EFFICIENCY,
                                   row->efficiency);
    }
    if (is_of_ports(row))
        return TRUE; /* the rest is checked when the stages are known */
    if (wants_one_order(variant) && !has_one_order(&patterns))
        return ct_check_refuse(check, error, "rows",
                               "'%s': on devices, this form wants the same axes in the same order "
                               "on both sides",
                               row->layouts);
    const CtLayout *split = patterns.n_outputs ? &patterns.outputs[0] : &patterns.inputs[0];
    if (is_axis_split(variant) && !takes_axis(split, variant->split))
        return ct_check_refuse(check, error, "split", "wants an axis of '%s', but is given '%s'",
                               row->layouts, variant->split);
    return TRUE;
}

static gboolean
check_rows(const CtCheck *check, CtVariant *variant, GError **error)
{
    guint n;
    if (!variant->rows)
        return ct_check_refuse(check, error, "rows", "wants layouts, but is given none");
    variant->rows = COPY_ROWS(check, "rows", variant->rows, row, &n, error);
    if (!variant->rows)
        return FALSE;
    for (guint i = 0; i < n; i++) {
        ct_check_begin_row(check, variant->rows, sizeof *variant->rows, i);
        if (!check_row(check, variant, &variant->rows[i], error))
            return FALSE;
    }
    ct_check_end_rows(check);
    return n > 0 || ct_check_refuse(check, error, "rows", "wants layouts, but is given none");
}

static gboolean
check_tunables(const CtCheck *check, CtVariant *variant, GError **error)
{
    guint n;
    if (!variant->tunables)
        return TRUE;
    variant->tunables = COPY_ROWS(check, "tunables", variant->tunables, tunable, &n, error);
    if (!variant->tunables)
        return FALSE;
    if (n > CT_MAX_TUNABLES)
        return ct_check_refuse(check, error, "tunables", "wants %d at most, but has %u",
                               CT_MAX_TUNABLES, n);
    for (guint i = 0; i < n; i++) {
        const CtTunable *tunable = &variant->tunables[i];
        g_autofree char *field = g_strdup_printf("tunables '%s'", tunable->name);
        ct_check_begin_row(check, variant->tunables, sizeof *variant->tunables, i);
        if (!tunable->help || !ct_check_is_text(check, tunable->help))
            return ct_check_refuse_row(check, error, field,
                                       "help: wants a text, but is given none");
        if (tunable->n_values == 0 || tunable->n_values > CT_CHECK_ROWS ||
            ct_check_mapped(check, tunable->values) < tunable->n_values * sizeof(gint64))
            return ct_check_refuse_row(check, error, field,
                                       "values: wants 1 to %d, but is given %s", CT_CHECK_ROWS,
                                       tunable->n_values ? "none that can be read" : "none");
        if (!ct_check_unique(check, "tunables", variant->tunables, sizeof *variant->tunables, i,
                             error))
            return FALSE;
    }
    ct_check_end_rows(check);
    g_autofree char *fault = ct_tuning_find_fault(variant);
    return !fault || ct_check_refuse(check, error, "tunables", "%s", fault);
}

static gboolean
check_split(const CtCheck *check, const CtVariant *variant, GError **error)
{
    if (!ct_check_remark(check, "split", variant->split, error))
        return FALSE;
    if (variant->split && variant->backend == CT_CUDA)
        return ct_check_refuse(check, error, "split",
                               "wants nothing, since a device's firing is enqueued as a whole, but "
                               "is given '%s'",
                               variant->split);
    if (is_axis_split(variant) && !ct_layout_is_axis_name(variant->split))
        return ct_check_refuse(check, error, "split",
                               "wants the name of an axis, or '*', but is given '%s'",
                               variant->split);
    if (variant->split && g_str_equal(variant->split, "*") && !variant->prepare)
        return ct_check_refuse(check, error, "split",
                               "wants a prepare, which gets n_items, for '*', but is given none");
    return TRUE;
}

static gboolean
check_enums(const CtCheck *check, const CtVariant *variant, GError **error)
{
    if ((guint)variant->backend >= CT_N_BACKENDS)
        return ct_check_refuse(check, error, "backend", "wants one of CtBackend, but is given %d",
                               (int)variant->backend);
    if ((guint)variant->isa >= CT_N_ISAS)
        return ct_check_refuse(check, error, "isa", "wants one of CtIsa, but is given %d",
                               (int)variant->isa);
    const guint64 known =
        CT_VARIANT_EPILOGUE | CT_VARIANT_ATTACHABLE | CT_VARIANT_FOLD | CT_VARIANT_PROLOGUE;
    if (variant->flags & ~known)
        return ct_check_refuse(check, error, "flags",
                               "wants CtVariantFlags, but is given 0x%" G_GINT64_MODIFIER "x",
                               variant->flags);
    if (variant->flags && variant->backend != CT_CUDA)
        return ct_check_refuse(check, error, "flags", "are for variants for devices");
    if (variant->folds && (!(variant->flags & CT_VARIANT_EPILOGUE) || variant->advance))
        return ct_check_refuse(check, error, "folds",
                               "is for variants with CT_VARIANT_EPILOGUE and without advance");
    if (variant->flags & CT_VARIANT_PROLOGUE && (variant->advance || variant->covers[1]))
        return ct_check_refuse(
            check, error, "flags",
            "CT_VARIANT_PROLOGUE is for variants of one stage and without advance");
    return !(variant->waits && variant->backend == CT_CUDA) ||
           ct_check_refuse(check, error, "waits", "a variant for devices cannot wait");
}

static char *
name_variant(const CtVariant *variant)
{
    g_autofree char *covers = g_strjoinv("+", (char **)variant->covers);
    return g_strdup_printf("variant '%s' of '%s'", variant->name, covers);
}

static gboolean
check_variant(CtCheck *check, CtVariant *variant, const CtVariant *given, GError **error)
{
    if (!ct_check_name(check, "name", variant->name, ".-", error) ||
        !check_covers(check, variant, error))
        return FALSE;
    g_free(check->who);
    check->who = name_variant(variant);
    if (!ct_check_known(check, "CtVariant", given, check->sizes.variant, sizeof *given, error))
        return FALSE;
    if (!variant->work)
        return ct_check_refuse(check, error, "work", "wants a function, but is given none");
    return check_enums(check, variant, error) && check_split(check, variant, error) &&
           check_tunables(check, variant, error) && check_rows(check, variant, error);
}

const CtVariant *
ct_check_variant(CtCheck *check, const CtVariant *given, guint i, GError **error)
{
    CtVariant *variant =
        ct_check_read(check, "variant", i, given, check->sizes.variant, sizeof *given, error);
    return variant && check_variant(check, variant, given, error) ? variant : NULL;
}

/* ---- variants and stages ---- */

/* Whether the stage has an input through which data stream. */
static gboolean
has_stream(const CtStage *stage)
{
    for (const CtPort *port = stage->inputs; port && port->name; port++)
        if (!(port->flags & (CT_PORT_SHAPE | CT_PORT_STATIC)))
            return TRUE;
    return FALSE;
}

static gboolean
check_rows_of_ports(const CtCheck *check, const CtVariant *variant, const CtStage *first,
                    const CtStage *last, GError **error)
{
    for (guint i = 0; variant->rows[i].layouts; i++) {
        CtRow *row = (CtRow *)&variant->rows[i]; /* the core's copy */
        if (!is_of_ports(row))
            continue;
        fill_row(check, row, first, last);
        if (!check_row(check, variant, row, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
check_meeting(const CtCheck *check, const CtVariant *variant, const CtStage *first,
              const CtStage *last, GError **error)
{
    if (!has_stream(first) && variant->work && !variant->advance)
        return ct_check_refuse(check, error, "advance",
                               "wants a function for a source, but is given none");
    if (!check_rows_of_ports(check, variant, first, last, error))
        return FALSE;
    for (const CtRow *row = variant->rows; row->layouts; row++) {
        CtRowPatterns patterns;
        g_autoptr(GError) cause = NULL;
        if (!ct_row_parse(&patterns, row->layouts, &cause) ||
            !ct_row_check(&patterns, first->inputs, last->outputs, &cause))
            return ct_check_refuse(check, error, "rows", "'%s': %s", row->layouts, cause->message);
    }
    const gboolean is_sink = !last->outputs || !last->outputs->name;
    const CtPort *port = is_sink ? first->inputs : last->outputs;
    CtLayout declared = {0};
    if (port->layout && *port->layout && !ct_layout_parse(&declared, port->layout, error))
        return FALSE;
    return !is_axis_split(variant) || takes_axis(&declared, variant->split) ||
           ct_check_refuse(check, error, "split",
                           "wants an axis of %s '%s' (%s), but is given '%s'",
                           is_sink ? "input" : "output", port->name, port->layout, variant->split);
}

static gboolean
check_version(const CtCheck *check, const char *cover, const CtStage *stage, GError **error)
{
    gint64 version;
    g_free(parse_cover(cover, &version));
    return version < 0 || version == stage->version ||
           ct_check_refuse(check, error, "covers",
                           "wants version %" G_GINT64_FORMAT
                           " of stage '%s', but is given version %u",
                           version, stage->name, stage->version);
}

gboolean
ct_variant_check(const CtVariant *variant, const char *const *covers, const CtStage *const *stages,
                 GPtrArray *memory, GError **error)
{
    g_autofree char *who = name_variant(variant);
    const CtCheck check = {.who = who, .memory = memory};
    guint n = 0;
    for (; covers[n]; n++)
        if (stages[n] && !check_version(&check, covers[n], stages[n], error))
            return FALSE;
    return !stages[0] || !stages[n - 1] ||
           check_meeting(&check, variant, stages[0], stages[n - 1], error);
}
