/* SPDX-License-Identifier: BSD-3-Clause */
/* The installed stages and the devices, from the tables that the loader reads. */
#include "device/device.h"
#include "graph/format.h"
#include "graph/registry.h"
#include "graph/tuning.h"
#include "model/isa.h"
#include "model/node-params.h"
#include "model/quantity.h"

#include <cornerturn/inspect.h>
#include <string.h>

static const char *const backend_names[CT_N_BACKENDS] = {"reference", "cpu", "cuda"};

static void
append_ports(GString *text, const char *title, const CtPort *ports)
{
    static const struct {
        CtPortFlags flag;
        const char *name;
    } flags[] = {
        {CT_PORT_OPTIONAL, "optional"},
        {CT_PORT_STATIC, "read before the stream starts"},
        {CT_PORT_SHAPE, "description only"},
        {CT_PORT_MANY, "takes a list"},
        {CT_PORT_UNREAD, "its elements are not read, or only a few"},
        {CT_PORT_MARKED, "samples may be marked as invalid"},
        {CT_PORT_PREPARED, "an array in place of a parameter"},
    };
    if (!ports || !ports->name)
        return;
    g_string_append_printf(text, "\n%s\n", title);
    for (; ports->name; ports++) {
        g_string_append_printf(text, "  %s", ports->name);
        if (ports->layout && *ports->layout)
            g_string_append_printf(text, "  %s", ports->layout);
        for (guint i = 0; i < G_N_ELEMENTS(flags); i++)
            if (ports->flags & flags[i].flag)
                g_string_append_printf(text, "  (%s)", flags[i].name);
        g_string_append_printf(text, "\n      %s\n", ports->help ? ports->help : "");
    }
}

static void
append_params(GString *text, const CtParam *params)
{
    if (!params->name)
        return;
    g_string_append_printf(text, "\nParameters\n");
    for (; params->name; params++) {
        g_autofree char *wanted = ct_param_describe(params);
        g_string_append_printf(text, "  %s  %s", params->name, wanted);
        if (params->fallback)
            g_string_append_printf(text, "; default %s",
                                   *params->fallback ? params->fallback : "''");
        else if (params->flags & CT_PARAM_REQUIRED)
            g_string_append_printf(text, "; required");
        if (params->flags & CT_PARAM_LIVE)
            g_string_append_printf(text, "; may change during a run");
        g_string_append_printf(text, "\n      %s\n", params->help ? params->help : "");
    }
}

static void
append_variant(GString *text, const CtRegistry *registry, const CtStage *stage,
               const CtVariant *variant)
{
    g_string_append_printf(text, "  %s  %s", variant->name, backend_names[variant->backend]);
    if (variant->isa != CT_ISA_BASELINE)
        g_string_append_printf(text, " %s", ct_isa_name(variant->isa));
    if (variant->covers[1]) {
        g_autofree char *covers = g_strjoinv(" + ", (char **)variant->covers);
        g_string_append_printf(text, ", %s in one", covers);
    }
    const char *refusal = ct_registry_isa_refusal(registry, variant->isa);
    if (refusal)
        g_string_append_printf(text, ", not on this machine: %s", refusal);
    else if (variant->backend == CT_CUDA && ct_devices(NULL, NULL) == 0)
        g_string_append_printf(text, ", not on this machine");
    const char *file = ct_registry_variant_file(registry, variant);
    if (!g_str_equal(file, ct_registry_stage_file(registry, stage)))
        g_string_append_printf(text, "  (%s)", file);
    g_string_append_printf(text, "\n");
}

static gboolean
have_same_rows(const CtVariant *a, const CtVariant *b)
{
    const CtRow *x = a->rows, *y = b->rows;
    while (x->layouts && y->layouts && g_str_equal(x->layouts, y->layouts)) {
        x++;
        y++;
    }
    return !x->layouts && !y->layouts;
}

static gboolean
have_same_tunables(const CtVariant *a, const CtVariant *b)
{
    const guint n = ct_tuning_count(a);
    if (ct_tuning_count(b) != n)
        return FALSE;
    for (guint i = 0; i < n; i++) {
        const CtTunable *x = &a->tunables[i], *y = &b->tunables[i];
        if (!g_str_equal(x->name, y->name) || !g_str_equal(x->help, y->help) ||
            x->fallback != y->fallback || x->n_values != y->n_values ||
            memcmp(x->values, y->values, x->n_values * sizeof(*x->values)) != 0)
            return FALSE;
    }
    return TRUE;
}

/* ---- rows ---- */

/* The index of the one word in which two rows differ; −1 if they differ in none or several. Rows
 * are split into words and separators. */
static gint
only_difference(char *const *a, char *const *b)
{
    gint at = -1;
    guint i = 0;
    for (; a[i] && b[i]; i++) {
        if (g_str_equal(a[i], b[i]))
            continue;
        if (at >= 0)
            return -1;
        at = (gint)i;
    }
    return a[i] || b[i] ? -1 : at;
}

/* Merges a later row into `words` if both differ in one word, which then has both alternatives. */
static gboolean
merge_row(char **words, char *const *later)
{
    const gint at = only_difference(words, later);
    if (at < 0)
        return FALSE;
    char *both = g_strconcat(words[at], "|", later[at], NULL);
    g_free(words[at]);
    words[at] = both;
    return TRUE;
}

/* The words and separators of a row. */
static char **
split_row(const char *row)
{
    static const char separators[] = "[]{} ";
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    while (*row) {
        const gsize word = strcspn(row, separators);
        const gsize n = word > 0 ? word : strspn(row, separators);
        g_autofree char *text = g_strndup(row, n);
        g_strv_builder_add(words, text);
        row += n;
    }
    return g_strv_builder_end(words);
}

/* Appends the rows; those that differ in one word are one line. */
static void
append_rows(GString *text, const CtRow *row)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    for (; row->layouts; row++)
        g_ptr_array_add(lines, split_row(row->layouts));
    for (guint i = 0; i < lines->len; i++)
        for (guint k = i + 1; k < lines->len;)
            if (merge_row(lines->pdata[i], lines->pdata[k])) {
                g_ptr_array_remove_index(lines, k);
                k = i + 1;
            } else {
                k++;
            }
    for (guint i = 0; i < lines->len; i++) {
        g_autofree char *line = g_strjoinv("", lines->pdata[i]);
        g_string_append_printf(text, "      %s\n", line);
    }
}

/* ---- variants ---- */

static gboolean
have_same_fusion(const CtVariant *a, const CtVariant *b)
{
    return a->flags == b->flags && !a->folds == !b->folds;
}

static void
append_tunables(GString *text, const CtVariant *variant)
{
    for (guint i = 0; i < ct_tuning_count(variant); i++) {
        const CtTunable *tunable = &variant->tunables[i];
        g_string_append_printf(text, "      %s: ", tunable->name);
        for (guint v = 0; v < tunable->n_values; v++)
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT, v ? ", " : "", tunable->values[v]);
        g_string_append_printf(text, "; default %" G_GINT64_FORMAT "; %s\n", tunable->fallback,
                               tunable->help);
    }
}

/* Appends what the planner may attach to a variant, or attach it to. */
static void
append_fusion(GString *text, const CtVariant *variant)
{
    const struct {
        gboolean can;
        const char *what;
    } lines[] = {
        {variant->flags & CT_VARIANT_EPILOGUE && !variant->folds,
         "takes maps and conversions behind it, as its epilogue"},
        {variant->folds != NULL,
         "takes maps and conversions behind it, and last a sum along time, as its epilogue"},
        {variant->flags & CT_VARIANT_PROLOGUE,
         "takes maps and conversions in front of it, as its prologue"},
        {variant->flags & (CT_VARIANT_ATTACHABLE | CT_VARIANT_FOLD),
         "may be part of an epilogue, a prologue or a chain"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(lines); i++)
        if (lines[i].can)
            g_string_append_printf(text, "      %s\n", lines[i].what);
}

/* Appends the variants; what follows the name is there once, under the last of consecutive variants
 * that share it. */
static void
append_variants(GString *text, const CtRegistry *registry, const CtStage *stage)
{
    const GPtrArray *variants = ct_registry_variants(registry, stage->name);
    g_string_append_printf(text, "\nVariants\n");
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = variants->pdata[i];
        append_variant(text, registry, stage, variant);
        if (i + 1 < variants->len && have_same_rows(variant, variants->pdata[i + 1]) &&
            have_same_tunables(variant, variants->pdata[i + 1]) &&
            have_same_fusion(variant, variants->pdata[i + 1]))
            continue;
        append_rows(text, variant->rows);
        append_tunables(text, variant);
        append_fusion(text, variant);
    }
}

/* Appends the variants that begin with another stage and do this one, too: a line for each stage
 * that they begin with. */
static void
append_covering(GString *text, const CtRegistry *registry, const CtStage *stage)
{
    const char *title = "\nVariants of other stages that do this one, too\n";
    const GPtrArray *stages = ct_registry_stages(registry);
    for (guint i = 0; i < stages->len; i++) {
        const CtStage *first = stages->pdata[i];
        const GPtrArray *variants = ct_registry_variants(registry, first->name);
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        for (guint k = 0; first != stage && k < variants->len; k++) {
            const CtVariant *variant = variants->pdata[k];
            if (g_strv_contains(variant->covers, stage->name))
                g_strv_builder_add(builder, variant->name);
        }
        g_auto(GStrv) names = g_strv_builder_end(builder);
        if (!names[0])
            continue;
        g_autofree char *list = g_strjoinv(", ", names);
        g_string_append_printf(text, "%s  %s: %s\n", title, first->name, list);
        title = "";
    }
}

/* Appends the stages that the extension of a file's name chooses. */
static void
append_formats(GString *text, const CtRegistry *registry, const CtStage *stage)
{
    g_autoptr(GPtrArray) formats = ct_format_list(registry, stage);
    for (guint i = 0; i < formats->len; i++)
        g_string_append_printf(text, "%s  %s\n", i == 0 ? "\nFormats\n" : "",
                               (const char *)formats->pdata[i]);
}

static void
append_stage(GString *text, const CtRegistry *registry, const CtStage *stage)
{
    g_string_append_printf(text, "%s: %s\n", stage->name, stage->summary);
    g_string_append_printf(text, "version %u, %s\n", stage->version,
                           ct_registry_stage_file(registry, stage));
    if (stage->missing)
        g_string_append_printf(text, "not in this build, which lacks %s\n", stage->missing);
    append_ports(text, "Inputs", stage->inputs);
    append_ports(text, "Outputs", stage->outputs);
    append_params(text, ct_stage_params(stage));
    if (stage->counters && stage->counters[0]) {
        g_autofree char *counters = g_strjoinv(", ", (char **)stage->counters);
        g_string_append_printf(text, "\nCounts\n  %s\n", counters);
    }
    append_formats(text, registry, stage);
    if (!stage->missing)
        append_variants(text, registry, stage);
    append_covering(text, registry, stage);
}

static void
append_list(GString *text, const CtRegistry *registry)
{
    const GPtrArray *stages = ct_registry_stages(registry);
    for (guint i = 0; i < stages->len; i++) {
        const CtStage *stage = stages->pdata[i];
        g_string_append_printf(text, "%-16s %s%s%s\n", stage->name, stage->summary,
                               stage->missing ? "; not in this build, which lacks " : "",
                               stage->missing ? stage->missing : "");
    }
}

/* Appends the devices of this machine, or the reason why there are none. */
static void
append_devices(GString *text)
{
    const CtDeviceInfo *devices;
    const char *reason;
    const guint n = ct_devices(&devices, &reason);
    g_string_append_printf(text, "\n");
    if (n == 0)
        g_string_append_printf(text, "cuda is not available: %s\n", reason);
    for (guint i = 0; i < n; i++) {
        const CtDeviceInfo *device = &devices[i];
        g_autofree char *memory = ct_format_bytes(device->memory_bytes);
        g_string_append_printf(text, "cuda:%u  %s, compute capability %u.%u, %s\n", i, device->name,
                               device->architecture / 10, device->architecture % 10, memory);
    }
}

char *
ct_inspect(const char *name, char ***problems, GError **error)
{
    g_autoptr(CtRegistry) registry = ct_registry_new(error);
    if (!registry)
        return NULL;
    const CtStage *stage = name ? ct_registry_stage(registry, name, error) : NULL;
    if (name && !stage)
        return NULL;
    GString *text = g_string_new(NULL);
    if (stage) {
        append_stage(text, registry, stage);
    } else {
        append_list(text, registry);
        append_devices(text);
    }
    if (problems)
        *problems = g_strdupv((char **)ct_registry_problems(registry));
    return g_string_free(text, FALSE);
}

gboolean
ct_inspect_file(const char *name, char **file, GError **error)
{
    g_autoptr(CtRegistry) registry = ct_registry_new(error);
    if (!registry)
        return FALSE;
    const CtStage *stage = ct_registry_stage(registry, name, NULL);
    *file = stage ? g_strdup(ct_registry_stage_file(registry, stage)) : NULL;
    return TRUE;
}
