/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn inspect`: the installed stages, from the tables that the loader reads. */
#include "command.h"
#include "device/device.h"
#include "graph/registry.h"
#include "graph/tuning.h"
#include "model/node-params.h"
#include "model/quantity.h"

#include <string.h>

static const char *const backend_names[CT_N_BACKENDS] = {"reference", "cpu", "cuda"};
static const char *const isa_names[CT_N_ISAS] = {"baseline", "avx2", "avx512"};

static void
print_ports(const char *title, const CtPort *ports)
{
    static const struct {
        CtPortFlags flag;
        const char *name;
    } flags[] = {
        {CT_PORT_OPTIONAL, "optional"},
        {CT_PORT_STATIC, "read before the stream starts"},
        {CT_PORT_SHAPE, "description only"},
        {CT_PORT_MANY, "takes a list"},
        {CT_PORT_UNREAD, "its elements are not read"},
    };
    if (!ports || !ports->name)
        return;
    g_print("\n%s\n", title);
    for (; ports->name; ports++) {
        g_print("  %s", ports->name);
        if (ports->layout && *ports->layout)
            g_print("  %s", ports->layout);
        for (guint i = 0; i < G_N_ELEMENTS(flags); i++)
            if (ports->flags & flags[i].flag)
                g_print("  (%s)", flags[i].name);
        g_print("\n      %s\n", ports->help ? ports->help : "");
    }
}

static void
print_params(const CtParam *params)
{
    if (!params->name)
        return;
    g_print("\nParameters\n");
    for (; params->name; params++) {
        g_autofree char *wanted = ct_param_describe(params);
        g_print("  %s  %s", params->name, wanted);
        if (params->fallback)
            g_print("; default %s", *params->fallback ? params->fallback : "''");
        else if (params->flags & CT_PARAM_REQUIRED)
            g_print("; required");
        g_print("\n      %s\n", params->help ? params->help : "");
    }
}

static void
print_variant(const CtRegistry *registry, const CtStage *stage, const CtVariant *variant)
{
    g_print("  %s  %s", variant->name, backend_names[variant->backend]);
    if (variant->isa != CT_ISA_BASELINE)
        g_print(" %s", isa_names[variant->isa]);
    if (variant->covers[1]) {
        g_autofree char *covers = g_strjoinv(" + ", (char **)variant->covers);
        g_print(", %s in one", covers);
    }
    if (!ct_registry_allows_isa(registry, variant->isa) ||
        (variant->backend == CT_CUDA && ct_devices(NULL, NULL) == 0))
        g_print(", not on this machine");
    const char *file = ct_registry_variant_file(registry, variant);
    if (!g_str_equal(file, ct_registry_stage_file(registry, stage)))
        g_print("  (%s)", file);
    g_print("\n");
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

static void
print_tunables(const CtVariant *variant)
{
    for (guint i = 0; i < ct_tuning_count(variant); i++) {
        const CtTunable *tunable = &variant->tunables[i];
        g_print("      %s: ", tunable->name);
        for (guint v = 0; v < tunable->n_values; v++)
            g_print("%s%" G_GINT64_FORMAT, v ? ", " : "", tunable->values[v]);
        g_print("; default %" G_GINT64_FORMAT "; %s\n", tunable->fallback, tunable->help);
    }
}

/* Prints the variants; rows and tunables are printed once, under the last of consecutive variants
 * that share them. */
static void
print_variants(const CtRegistry *registry, const CtStage *stage)
{
    const GPtrArray *variants = ct_registry_variants(registry, stage->name);
    g_print("\nVariants\n");
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = variants->pdata[i];
        print_variant(registry, stage, variant);
        if (i + 1 < variants->len && have_same_rows(variant, variants->pdata[i + 1]) &&
            have_same_tunables(variant, variants->pdata[i + 1]))
            continue;
        for (const CtRow *row = variant->rows; row->layouts; row++)
            g_print("      %s\n", row->layouts);
        print_tunables(variant);
    }
}

static void
print_stage(const CtRegistry *registry, const CtStage *stage)
{
    g_print("%s: %s\n", stage->name, stage->summary);
    g_print("version %u, %s\n", stage->version, ct_registry_stage_file(registry, stage));
    print_ports("Inputs", stage->inputs);
    print_ports("Outputs", stage->outputs);
    print_params(ct_stage_params(stage));
    if (stage->counters && stage->counters[0]) {
        g_autofree char *counters = g_strjoinv(", ", (char **)stage->counters);
        g_print("\nCounts\n  %s\n", counters);
    }
    print_variants(registry, stage);
}

static void
print_problems(const CtRegistry *registry)
{
    for (const char *const *problem = ct_registry_problems(registry); *problem; problem++)
        g_printerr("left out: %s\n", *problem);
}

static void
print_list(const CtRegistry *registry)
{
    const GPtrArray *stages = ct_registry_stages(registry);
    for (guint i = 0; i < stages->len; i++) {
        const CtStage *stage = stages->pdata[i];
        g_print("%-16s %s\n", stage->name, stage->summary);
    }
    print_problems(registry);
}

/* Prints the devices of this machine, or the reason why there are none. */
static void
print_devices(void)
{
    const CtDeviceInfo *devices;
    const char *reason;
    const guint n = ct_devices(&devices, &reason);
    g_print("\n");
    if (n == 0)
        g_print("cuda is not available: %s\n", reason);
    for (guint i = 0; i < n; i++) {
        const CtDeviceInfo *device = &devices[i];
        g_autofree char *memory = ct_format_bytes(device->memory_bytes);
        g_print("cuda:%u  %s, compute capability %u.%u, %s\n", i, device->name,
                device->architecture / 10, device->architecture % 10, memory);
    }
}

static gboolean
run(int argc, char **argv, GError **error)
{
    const GOptionEntry entries[] = {G_OPTION_ENTRY_NULL};
    if (!ct_command_parse(&ct_command_inspect, entries, &argc, &argv, 0, 1, error))
        return FALSE;
    g_autoptr(CtRegistry) registry = ct_registry_new(error);
    if (!registry)
        return FALSE;
    if (argc < 2) {
        print_list(registry);
        print_devices();
        return TRUE;
    }
    const CtStage *stage = ct_registry_stage(registry, argv[1], error);
    if (!stage)
        return FALSE;
    print_stage(registry, stage);
    print_problems(registry);
    return TRUE;
}

const CtCommand ct_command_inspect = {
    .name = "inspect",
    .arguments = "[STAGE]",
    .summary = "List the stages and the devices, or show a stage: parameters, ports, variants",
    .run = run,
};
