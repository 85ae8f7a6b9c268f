/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the tables of a plugin can be what they say. */
#define _GNU_SOURCE
#include "plugin-check.h"

#include "layout-private.h"
#include "params.h"
#include "row.h"
#include "tuning.h"

#include <link.h>
#include <math.h>
#include <string.h>

/* Rows of a table at most: one that has more lacks the row that ends it. */
#define MAX_ROWS 1024
/* Bytes of a text at most. */
#define MAX_TEXT 65536
/* A row that computes on other units than the machine's peak counts may reach more than 1. */
#define MAX_EFFICIENCY 100
/* Stages that one variant covers at most. */
#define MAX_COVERS 16

#define NAME_LETTERS G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_"

typedef struct {
    gsize begin, end;
} Span;

/* The check of a plugin, and who is looked at. */
typedef struct {
    GArray *spans; /* of Span: what the loader has mapped */
    char *who;     /* "stage 'fir'" */
} Check;

G_GNUC_PRINTF(4, 5)
static gboolean
refuse(const Check *check, GError **error, const char *field, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "%s: %s: %s", check->who, field, message);
    return FALSE;
}

/* ---- memory that may be read ---- */

static int
add_spans(struct dl_phdr_info *object, G_GNUC_UNUSED size_t size, void *data)
{
    GArray *spans = data;
    for (guint i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        const gsize begin = object->dlpi_addr + header->p_vaddr;
        const Span span = {begin, begin + header->p_memsz};
        if (header->p_type == PT_LOAD && header->p_flags & PF_R)
            g_array_append_val(spans, span);
    }
    return 0;
}

/* Bytes from `address` on that an object of this process has; 0: none has it. */
static gsize
mapped_from(const Check *check, gconstpointer address)
{
    const gsize at = GPOINTER_TO_SIZE(address);
    for (guint i = 0; i < check->spans->len; i++) {
        const Span *span = &g_array_index(check->spans, Span, i);
        if (at >= span->begin && at < span->end)
            return span->end - at;
    }
    return 0;
}

static gboolean
is_text(const Check *check, const char *text)
{
    const gsize most = MIN(mapped_from(check, text), MAX_TEXT);
    const char *end = most ? memchr(text, 0, most) : NULL;
    return end && g_utf8_validate(text, end - text, NULL);
}

/* NULL is fine. */
static gboolean
check_remark(const Check *check, const char *field, const char *text, GError **error)
{
    return !text || is_text(check, text) || refuse(check, error, field, "is no text");
}

/* Counts the rows of a table that ends with a row whose first member, a text, is NULL. */
static gboolean
count_rows(const Check *check, const char *field, gconstpointer table, gsize row_bytes, guint *n,
           GError **error)
{
    for (*n = 0; *n < MAX_ROWS; (*n)++) {
        const char *const *row = (gconstpointer)((const guint8 *)table + *n * row_bytes);
        if (mapped_from(check, row) < row_bytes)
            return refuse(check, error, field, "wants an empty row at its end, but has none");
        if (!*row)
            return TRUE;
        if (!is_text(check, *row))
            return refuse(check, error, field,
                          "wants a name in row %u, or an empty row at its end, but has neither",
                          *n + 1);
    }
    return refuse(check, error, field, "wants an empty row at its end, but has none in %u rows",
                  MAX_ROWS);
}

#define COUNT_ROWS(check, field, table, n, error)                                                  \
    count_rows(check, field, table, sizeof *(table), n, error)

/* Whether `name` is made of letters, digits and these signs. */
static gboolean
check_name(const Check *check, const char *field, const char *name, const char *signs,
           GError **error)
{
    g_autofree char *accepted = g_strconcat(NAME_LETTERS, signs, NULL);
    if (*name && name[strspn(name, accepted)] == '\0')
        return TRUE;
    return refuse(check, error, field, "wants letters, digits, _%s%s, but is given '%s'",
                  *signs ? " and " : "", signs, name);
}

/* Whether the name of row `i` is no earlier row's. */
static gboolean
check_unique(const Check *check, const char *field, gconstpointer table, gsize row_bytes, guint i,
             GError **error)
{
    const guint8 *rows = table;
    const char *name = *(const char *const *)(gconstpointer)(rows + i * row_bytes);
    for (guint k = 0; k < i; k++)
        if (g_str_equal(name, *(const char *const *)(gconstpointer)(rows + k * row_bytes)))
            return refuse(check, error, field, "'%s' stands twice", name);
    return TRUE;
}

/* ---- ports ---- */

static gboolean
check_port_flags(const Check *check, const char *field, const CtPort *ports, guint n, guint i,
                 gboolean is_input, GError **error)
{
    const guint known =
        CT_PORT_OPTIONAL | CT_PORT_STATIC | CT_PORT_SHAPE | CT_PORT_MANY | CT_PORT_UNREAD;
    const guint flags = ports[i].flags;
    if (flags & ~(is_input ? known : (guint)CT_PORT_OPTIONAL))
        return refuse(check, error, field, "wants flags of an %s, but is given 0x%x",
                      is_input ? "input" : "output", flags);
    if (flags & CT_PORT_MANY && (n > 1 || flags & (CT_PORT_STATIC | CT_PORT_SHAPE)))
        return refuse(check, error, field,
                      "CT_PORT_MANY is for a stage's one input, through which data stream");
    return TRUE;
}

static gboolean
check_ports(const Check *check, const char *side, const CtPort *ports, guint *n, GError **error)
{
    const gboolean is_input = g_str_equal(side, "inputs");
    *n = 0;
    if (!ports)
        return TRUE;
    if (!COUNT_ROWS(check, side, ports, n, error))
        return FALSE;
    if (*n > CT_MAX_ROW_PORTS)
        return refuse(check, error, side, "wants %d ports at most, but has %u", CT_MAX_ROW_PORTS,
                      *n);
    for (guint i = 0; i < *n; i++) {
        g_autofree char *field = g_strdup_printf("%s '%s'", side, ports[i].name);
        g_autoptr(GError) cause = NULL;
        CtLayout layout;
        if (!check_name(check, field, ports[i].name, "-", error) ||
            !check_unique(check, side, ports, sizeof *ports, i, error) ||
            !check_remark(check, field, ports[i].layout, error) ||
            !check_remark(check, field, ports[i].help, error) ||
            !check_port_flags(check, field, ports, *n, i, is_input, error))
            return FALSE;
        if (ports[i].layout && *ports[i].layout &&
            !ct_layout_parse(&layout, ports[i].layout, &cause))
            return refuse(check, error, field, "layout: %s", cause->message);
    }
    return TRUE;
}

/* ---- parameters ---- */

static gboolean
check_range(const Check *check, const char *field, const CtParam *param, GError **error)
{
    const gboolean is_number = param->kind == CT_PARAM_INT || param->kind == CT_PARAM_REAL ||
                               param->kind == CT_PARAM_QUANTITY;
    if (!(param->flags & CT_PARAM_RANGED))
        return TRUE;
    if (!is_number)
        return refuse(check, error, field, "CT_PARAM_RANGED is for numbers");
    return param->minimum <= param->maximum ||
           refuse(check, error, field, "wants a minimum up to the maximum, but is given %g and %g",
                  param->minimum, param->maximum);
}

static gboolean
check_choices(const Check *check, const char *field, const CtParam *param, GError **error)
{
    guint n;
    if (param->kind != CT_PARAM_CHOICE)
        return TRUE;
    if (!param->choices)
        return refuse(check, error, field, "wants choices, but is given none");
    g_autofree char *choices = g_strconcat(field, ", choices", NULL);
    if (!COUNT_ROWS(check, choices, param->choices, &n, error))
        return FALSE;
    for (guint i = 0; i < n; i++)
        if (!check_unique(check, choices, param->choices, sizeof *param->choices, i, error))
            return FALSE;
    return n > 0 || refuse(check, error, field, "wants choices, but is given none");
}

static gboolean
check_files(const Check *check, const char *field, const CtParam *param, GError **error)
{
    guint n;
    if (param->kind != CT_PARAM_PATH && (param->flags & CT_PARAM_WRITTEN || param->endings))
        return refuse(check, error, field, "CT_PARAM_WRITTEN and endings are for paths");
    if (!param->endings)
        return TRUE;
    g_autofree char *endings = g_strconcat(field, ", endings", NULL);
    return COUNT_ROWS(check, endings, param->endings, &n, error);
}

static gboolean
check_param(const Check *check, const CtParam *param, GError **error)
{
    static const char *const of_graphs[] = {"stage", "from", "backend", "variant", "block", NULL};
    const guint known =
        CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_TABLE | CT_PARAM_RANGED | CT_PARAM_WRITTEN;
    g_autofree char *field = g_strdup_printf("params '%s'", param->name);
    if (!check_name(check, field, param->name, "", error) ||
        !check_remark(check, field, param->help, error) ||
        !check_remark(check, field, param->fallback, error) ||
        !check_remark(check, field, param->unit, error))
        return FALSE;
    if (g_strv_contains(of_graphs, param->name))
        return refuse(check, error, field, "is a key that graphs give every node");
    if ((guint)param->kind > CT_PARAM_AXIS)
        return refuse(check, error, field, "wants a kind of CtParamKind, but is given %d",
                      (int)param->kind);
    if (param->flags & ~known || (param->flags & CT_PARAM_LIST && param->flags & CT_PARAM_TABLE))
        return refuse(check, error, field, "wants flags of CtParamFlags, but is given 0x%x",
                      (guint)param->flags);
    if (param->fallback && param->flags & CT_PARAM_REQUIRED)
        return refuse(check, error, field, "is required, but has a fallback");
    if (!check_range(check, field, param, error) || !check_choices(check, field, param, error) ||
        !check_files(check, field, param, error))
        return FALSE;
    g_autoptr(GError) cause = NULL;
    return ct_param_check_fallback(param, &cause) ||
           refuse(check, error, field, "fallback: %s", cause->message);
}

static gboolean
check_params(const Check *check, const CtParam *params, GError **error)
{
    guint n;
    if (!params)
        return TRUE;
    if (!COUNT_ROWS(check, "params", params, &n, error))
        return FALSE;
    for (guint i = 0; i < n; i++)
        if (!check_param(check, &params[i], error) ||
            !check_unique(check, "params", params, sizeof *params, i, error))
            return FALSE;
    return TRUE;
}

/* ---- stages ---- */

static gboolean
check_counters(const Check *check, const char *const *counters, GError **error)
{
    guint n;
    if (!counters)
        return TRUE;
    if (!COUNT_ROWS(check, "counters", counters, &n, error))
        return FALSE;
    return n <= CT_MAX_COUNTERS ||
           refuse(check, error, "counters", "wants %d at most, but has %u", CT_MAX_COUNTERS, n);
}

static gboolean
check_default_layouts(const Check *check, const CtStage *stage, GError **error)
{
    CtRowPatterns patterns;
    g_autoptr(GError) cause = NULL;
    if (!check_remark(check, "default_layouts", stage->default_layouts, error))
        return FALSE;
    return !stage->default_layouts ||
           (ct_row_parse(&patterns, stage->default_layouts, &cause) &&
            ct_row_check(&patterns, stage->inputs, stage->outputs, &cause)) ||
           refuse(check, error, "default_layouts", "%s", cause->message);
}

static gboolean
check_stage(Check *check, const CtStage *stage, guint i, GError **error)
{
    guint n_inputs, n_outputs;
    g_free(check->who);
    check->who = g_strdup_printf("stage %u", i + 1);
    if (mapped_from(check, stage) < sizeof *stage)
        return refuse(check, error, "stages",
                      "wants a CtStage, or NULL at its end, but has neither");
    if (!stage->name || !is_text(check, stage->name))
        return refuse(check, error, "name", "wants a text, but is given none");
    g_free(check->who);
    check->who = g_strdup_printf("stage '%s'", stage->name);
    if (!check_name(check, "name", stage->name, ".-", error))
        return FALSE;
    if (!stage->summary || !is_text(check, stage->summary))
        return refuse(check, error, "summary", "wants a text, but is given none");
    if (!stage->infer)
        return refuse(check, error, "infer", "wants a function, but is given none");
    if (!check_ports(check, "inputs", stage->inputs, &n_inputs, error) ||
        !check_ports(check, "outputs", stage->outputs, &n_outputs, error))
        return FALSE;
    if (n_inputs + n_outputs == 0)
        return refuse(check, error, "inputs", "wants a port on one side at least, but has none");
    return check_params(check, stage->params, error) &&
           check_counters(check, stage->counters, error) &&
           check_remark(check, "accuracy_rule", stage->accuracy_rule, error) &&
           check_default_layouts(check, stage, error);
}

/* ---- variants ---- */

static gboolean
check_covers(const Check *check, const CtVariant *variant, GError **error)
{
    guint n;
    if (!variant->covers)
        return refuse(check, error, "covers", "wants stages, but is given none");
    if (!COUNT_ROWS(check, "covers", variant->covers, &n, error))
        return FALSE;
    if (n == 0 || n > MAX_COVERS)
        return refuse(check, error, "covers", "wants 1 to %d stages, but is given %u", MAX_COVERS,
                      n);
    for (guint i = 0; i < n; i++)
        if (!check_name(check, "covers", variant->covers[i], ".-", error))
            return FALSE;
    return TRUE;
}

/* Whether an axis of this name may stand in what the pattern takes. */
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

static gboolean
check_row(const Check *check, const CtVariant *variant, const CtRow *row, GError **error)
{
    CtRowPatterns patterns;
    g_autoptr(GError) cause = NULL;
    if (!ct_row_parse(&patterns, row->layouts, &cause))
        return refuse(check, error, "rows", "%s", cause->message);
    if (!(row->efficiency > 0 && row->efficiency <= MAX_EFFICIENCY)) {
        g_autofree char *field = g_strdup_printf("rows '%s', efficiency", row->layouts);
        return refuse(check, error, field, "wants more than 0, up to %d, but is given %g",
                      MAX_EFFICIENCY, row->efficiency);
    }
    const CtLayout *split = patterns.n_outputs ? &patterns.outputs[0] : &patterns.inputs[0];
    if (is_axis_split(variant) && !takes_axis(split, variant->split))
        return refuse(check, error, "split", "wants an axis of '%s', but is given '%s'",
                      row->layouts, variant->split);
    return TRUE;
}

static gboolean
check_rows(const Check *check, const CtVariant *variant, GError **error)
{
    guint n;
    if (!variant->rows)
        return refuse(check, error, "rows", "wants layouts, but is given none");
    if (!COUNT_ROWS(check, "rows", variant->rows, &n, error))
        return FALSE;
    for (guint i = 0; i < n; i++)
        if (!check_row(check, variant, &variant->rows[i], error))
            return FALSE;
    return n > 0 || refuse(check, error, "rows", "wants layouts, but is given none");
}

static gboolean
check_tunables(const Check *check, const CtVariant *variant, GError **error)
{
    guint n;
    if (!variant->tunables)
        return TRUE;
    if (!COUNT_ROWS(check, "tunables", variant->tunables, &n, error))
        return FALSE;
    if (n > CT_MAX_TUNABLES)
        return refuse(check, error, "tunables", "wants %d at most, but has %u", CT_MAX_TUNABLES, n);
    for (guint i = 0; i < n; i++) {
        const CtTunable *tunable = &variant->tunables[i];
        g_autofree char *field = g_strdup_printf("tunables '%s'", tunable->name);
        if (!tunable->help || !is_text(check, tunable->help))
            return refuse(check, error, field, "help: wants a text, but is given none");
        if (tunable->n_values == 0 || tunable->n_values > MAX_ROWS ||
            mapped_from(check, tunable->values) < tunable->n_values * sizeof(gint64))
            return refuse(check, error, field, "values: wants 1 to %d, but is given %s", MAX_ROWS,
                          tunable->n_values ? "none that can be read" : "none");
        if (!check_unique(check, "tunables", variant->tunables, sizeof *variant->tunables, i,
                          error))
            return FALSE;
    }
    g_autofree char *fault = ct_tuning_find_fault(variant);
    return !fault || refuse(check, error, "tunables", "%s", fault);
}

static gboolean
check_split(const Check *check, const CtVariant *variant, GError **error)
{
    if (!check_remark(check, "split", variant->split, error))
        return FALSE;
    if (is_axis_split(variant) && !ct_layout_is_axis_name(variant->split))
        return refuse(check, error, "split", "wants the name of an axis, or '*', but is given '%s'",
                      variant->split);
    if (variant->split && g_str_equal(variant->split, "*") && !variant->prepare)
        return refuse(check, error, "split",
                      "wants a prepare that sets n_items for '*', but is given none");
    return TRUE;
}

static gboolean
check_enums(const Check *check, const CtVariant *variant, GError **error)
{
    if ((guint)variant->backend >= CT_N_BACKENDS)
        return refuse(check, error, "backend", "wants one of CtBackend, but is given %d",
                      (int)variant->backend);
    if ((guint)variant->isa >= CT_N_ISAS)
        return refuse(check, error, "isa", "wants one of CtIsa, but is given %d",
                      (int)variant->isa);
    return !(variant->waits && variant->backend == CT_CUDA) ||
           refuse(check, error, "waits", "a variant for devices cannot wait");
}

static char *
name_variant(const CtVariant *variant)
{
    g_autofree char *covers = g_strjoinv("+", (char **)variant->covers);
    return g_strdup_printf("variant '%s' of '%s'", variant->name, covers);
}

static gboolean
check_variant(Check *check, const CtVariant *variant, guint i, GError **error)
{
    g_free(check->who);
    check->who = g_strdup_printf("variant %u", i + 1);
    if (mapped_from(check, variant) < sizeof *variant)
        return refuse(check, error, "variants",
                      "wants a CtVariant, or NULL at its end, but has neither");
    if (!variant->name || !is_text(check, variant->name))
        return refuse(check, error, "name", "wants a text, but is given none");
    g_free(check->who);
    check->who = g_strdup_printf("variant '%s'", variant->name);
    if (!check_name(check, "name", variant->name, ".-", error) ||
        !check_covers(check, variant, error))
        return FALSE;
    g_free(check->who);
    check->who = name_variant(variant);
    if (!variant->work)
        return refuse(check, error, "work", "wants a function, but is given none");
    return check_enums(check, variant, error) && check_split(check, variant, error) &&
           check_rows(check, variant, error) && check_tunables(check, variant, error);
}

/* ---- variants and stages ---- */

/* Whether data stream into the stage. */
static gboolean
has_stream(const CtStage *stage)
{
    for (const CtPort *port = stage->inputs; port && port->name; port++)
        if (!(port->flags & (CT_PORT_SHAPE | CT_PORT_STATIC)))
            return TRUE;
    return FALSE;
}

static gboolean
check_meeting(const Check *check, const CtVariant *variant, const CtStage *first,
              const CtStage *last, GError **error)
{
    if (!has_stream(first) && variant->work && !variant->advance)
        return refuse(check, error, "advance", "wants a function for a source, but is given none");
    for (const CtRow *row = variant->rows; row->layouts; row++) {
        CtRowPatterns patterns;
        g_autoptr(GError) cause = NULL;
        if (!ct_row_parse(&patterns, row->layouts, &cause) ||
            !ct_row_check(&patterns, first->inputs, last->outputs, &cause))
            return refuse(check, error, "rows", "'%s': %s", row->layouts, cause->message);
    }
    const gboolean is_sink = !last->outputs || !last->outputs->name;
    const CtPort *port = is_sink ? first->inputs : last->outputs;
    CtLayout declared = {0};
    if (port->layout && *port->layout && !ct_layout_parse(&declared, port->layout, error))
        return FALSE;
    return !is_axis_split(variant) || takes_axis(&declared, variant->split) ||
           refuse(check, error, "split", "wants an axis of %s '%s' (%s), but is given '%s'",
                  is_sink ? "input" : "output", port->name, port->layout, variant->split);
}

gboolean
ct_variant_check(const CtVariant *variant, const CtStage *first, const CtStage *last,
                 GError **error)
{
    g_autofree char *who = name_variant(variant);
    const Check check = {.who = who};
    return check_meeting(&check, variant, first, last, error);
}

static const CtStage *
find_stage(const CtPlugin *plugin, const char *name)
{
    for (guint i = 0; plugin->stages[i]; i++)
        if (g_str_equal(plugin->stages[i]->name, name))
            return plugin->stages[i];
    return NULL;
}

/* Against the plugin's own stages; those of others are looked at when all are there. */
static gboolean
check_own_meeting(const CtPlugin *plugin, const CtVariant *variant, GError **error)
{
    guint n = 0;
    while (variant->covers[n])
        n++;
    const CtStage *first = find_stage(plugin, variant->covers[0]);
    const CtStage *last = find_stage(plugin, variant->covers[n - 1]);
    return !first || !last || ct_variant_check(variant, first, last, error);
}

/* ---- the plugin ---- */

/* A NULL-terminated array of pointers. */
static gboolean
check_array(const Check *check, const char *field, gconstpointer array, GError **error)
{
    const gconstpointer *pointers = array;
    if (!array)
        return refuse(check, error, field, "wants a table, but is given none");
    for (guint i = 0; i < MAX_ROWS; i++) {
        if (mapped_from(check, &pointers[i]) < sizeof *pointers)
            break;
        if (!pointers[i])
            return TRUE;
    }
    return refuse(check, error, field, "wants NULL at its end, but has none");
}

static gboolean
check_plugin(Check *check, const CtPlugin *plugin, GError **error)
{
    if (!plugin->name || !is_text(check, plugin->name) || !*plugin->name)
        return refuse(check, error, "name", "wants a text, but is given none");
    if (!check_array(check, "stages", plugin->stages, error) ||
        !check_array(check, "variants", plugin->variants, error))
        return FALSE;
    for (guint i = 0; plugin->stages[i]; i++)
        if (!check_stage(check, plugin->stages[i], i, error))
            return FALSE;
    for (guint i = 0; plugin->variants[i]; i++)
        if (!check_variant(check, plugin->variants[i], i, error) ||
            !check_own_meeting(plugin, plugin->variants[i], error))
            return FALSE;
    return TRUE;
}

static gboolean
check_version(const Check *check, const CtPlugin *plugin, GError **error)
{
    if (mapped_from(check, plugin) < sizeof *plugin || plugin->magic != CT_PLUGIN_MAGIC) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "is not a plugin of Cornerturn");
        return FALSE;
    }
    if (plugin->abi_version == CT_ABI_VERSION)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "is of ABI version %u, but this Cornerturn wants version %d", plugin->abi_version,
                CT_ABI_VERSION);
    return FALSE;
}

gboolean
ct_plugin_check(const CtPlugin *plugin, GError **error)
{
    Check check = {
        .spans = g_array_new(FALSE, FALSE, sizeof(Span)),
        .who = g_strdup("plugin"),
    };
    dl_iterate_phdr(add_spans, check.spans);
    const gboolean good =
        check_version(&check, plugin, error) && check_plugin(&check, plugin, error);
    g_array_unref(check.spans);
    g_free(check.who);
    return good;
}
