/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters and transforms alone, each variant with several tunings in given layouts, in turn with
 * copies of as many bytes. */
#include "choices.h"
#include "copies.h"
#include "graph/tuning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEVICE_BYTES ((gsize)1 << 28)
#define HOST_BYTES   ((gsize)1 << 24)
#define BRIEF_BYTES  ((gsize)1 << 14)

/* If a variant has at most this many tunings, all are tried. */
#define MOST_TUNINGS 12

typedef struct {
    const char *type, *in, *out; /* types and orders of the axes */
    const char *stage;           /* with its parameters */
    guint n_phases;              /* 0: there is none; the input is voltages */
} Case;

static const char transform[] = "fft, from: source";

static const Case cases[] = {
    {"cf32", "time station pol phase", "time station pol channel", transform, 64},
    {"cf32", "time station pol phase", "time station pol channel", transform, 256},
    {"cf32", "time station pol phase", "time station pol channel", transform, 1024},
    {"cf32", "time station pol phase", "time station pol channel", transform, 4096},
    {"cf32", "time station pol phase", "time channel station pol", transform, 256},
    {"cf32", "time station pol phase", "channel time station pol", transform, 256},
    {"cf32", "time station pol phase", "channel time station pol", transform, 1024},
    {"cf32", "station pol time phase", "channel station pol time", transform, 256},
    {"cf32", "station pol time phase", "channel time station pol", transform, 256},
    {"cf32", "time phase station pol", "channel time station pol", transform, 256},
    {"cf32", "time phase station pol", "time station pol channel", transform, 256},
    {"ci8", "station pol time", "time station pol phase",
     "fir, from: source, n_channels: 256, n_taps: 8", 0},
    {"ci8", "station pol time", "station pol time phase",
     "fir, from: source, n_channels: 256, n_taps: 8", 0},
};

/* A node of the case with `variant` (with or without a tuning), which writes in the case's
 * order. */
static NodeTrial *
node_trial_of(const Choices *choices, const Case *one, const char *variant, GError **error)
{
    g_auto(GStrv) axes = g_strsplit(one->in, " ", -1);
    GString *lengths = g_string_new(NULL);
    for (guint i = 0; axes[i]; i++) {
        const gboolean is_time = g_str_equal(axes[i], "time");
        const guint length = g_str_equal(axes[i], "phase") ? one->n_phases
                             : g_str_equal(axes[i], "pol") ? 2
                             : choices->brief              ? 4
                                                           : 64;
        g_string_append_printf(lengths, "%s%d", i ? ", " : "", is_time ? -1 : (gint)length);
    }
    g_autofree char *stages =
        g_strdup_printf("  source: { stage: input, backend: %s, layout: \"%s[%s]\", shape: [%s] }\n"
                        "  node: { stage: %s, variant: \"%s\" }\n"
                        "  sink: { stage: discard, from: node }\n",
                        choices->backend, one->type, one->in, lengths->str, one->stage, variant);
    g_string_free(lengths, TRUE);
    g_autoptr(NodeTrial) trial = node_trial_new(choices, variant, stages, "node", error);
    if (!trial)
        return NULL;
    g_autofree char *in = g_strdup_printf("%s[%s]", one->type, one->in);
    g_autofree char *out = g_strdup_printf("cf32[%s]", one->out);
    if (!ct_layout_parse(&trial->layouts[0], in, error) ||
        !ct_layout_parse(&trial->layouts[1], out, error))
        return NULL;
    ct_load_init(&trial->load, trial->what.nodes, trial->what.n_nodes, trial->what.inputs,
                 trial->what.outputs);
    return g_steal_pointer(&trial);
}

/* The k-th tuning besides the default: of all combinations if they are few, else of those that
 * change one value. FALSE: there is none. */
static gboolean
find_tuning(const CtVariant *variant, guint k, gint64 tuning[CT_MAX_TUNABLES])
{
    const guint n = ct_tuning_count(variant);
    guint n_tunings = 1;
    for (guint i = 0; i < n; i++)
        n_tunings *= variant->tunables[i].n_values;
    ct_tuning_defaults(variant, tuning);
    for (guint i = 0; i < n; i++) {
        const CtTunable *tunable = &variant->tunables[i];
        if (n_tunings <= MOST_TUNINGS) {
            tuning[i] = tunable->values[k % tunable->n_values];
            k /= tunable->n_values;
        } else if (k < tunable->n_values) {
            tuning[i] = tunable->values[k];
            return TRUE;
        } else {
            k -= tunable->n_values;
        }
    }
    return n > 0 && n_tunings <= MOST_TUNINGS && k == 0;
}

/* Adds a variant of the case with its default tuning, and with further ones that have another
 * effect. */
static void
add_variant(const Choices *choices, const Case *one, const CtVariant *variant, GPtrArray *lones)
{
    gint64 tuning[CT_MAX_TUNABLES];
    ct_tuning_defaults(variant, tuning);
    for (guint k = 0; k == 0 || find_tuning(variant, k - 1, tuning); k++) {
        g_autofree char *name = ct_tuning_name(variant, tuning);
        g_autoptr(GError) error = NULL;
        if (k > 0 && (!strchr(name, ':') || (choices->brief && k > 2)))
            continue;
        NodeTrial *trial = node_trial_of(choices, one, name, &error);
        if (!trial) {
            printf("  %-34s not run: %s\n", name, error->message);
            return;
        }
        if (k > 0 && !ct_tuning_differs(variant, trial->what.nodes, tuning))
            node_trial_free(trial);
        else
            g_ptr_array_add(lones, trial);
    }
}

static gboolean
measure_case(const Choices *choices, CopyMeter *copies, const Case *one, GError **error)
{
    const gboolean on_device = choices->device != NULL;
    g_autofree char *stage = g_strndup(one->stage, strcspn(one->stage, ","));
    g_autoptr(GPtrArray) lones = g_ptr_array_new_with_free_func((GDestroyNotify)node_trial_free);
    g_autoptr(GArray) copy_rates = g_array_new(FALSE, FALSE, sizeof(gdouble));
    const GPtrArray *variants = ct_registry_variants(choices->registry, stage);
    if (one->n_phases > 0)
        printf("%s of %u, [%s] -> [%s]\n", stage, one->n_phases, one->in, one->out);
    else
        printf("%s, [%s] -> [%s]\n", one->stage, one->in, one->out);
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = variants->pdata[i];
        if (variant->backend == (on_device ? CT_CUDA : CT_CPU) && variant->covers[1] == NULL &&
            !ct_registry_isa_refusal(choices->registry, variant->isa))
            add_variant(choices, one, variant, lones);
    }
    for (guint round = 0; round < choices->n_rounds; round++) {
        gdouble rate, seconds;
        if (!copy_meter_run(copies, choices->seconds, &rate, error))
            return FALSE;
        g_array_append_val(copy_rates, rate);
        for (guint i = 0; i < lones->len; i++) {
            NodeTrial *trial = lones->pdata[i];
            if (node_trial_measure(trial, choices, &seconds))
                g_array_append_val(trial->beside, rate);
        }
    }
    for (guint i = 0; i < lones->len; i++) {
        const NodeTrial *trial = lones->pdata[i];
        if (trial->failure) {
            printf("  %-34s not run: %s\n", trial->name, trial->failure);
            continue;
        }
        printf("  %-34s %8.1f GB/s %6.2f of copy\n", trial->name,
               trial->load.bytes / choices_median(trial->seconds) * 1e-9,
               trial->load.bytes * choices_share(trial->seconds, trial->beside));
    }
    printf("  %-34s %8.1f GB/s\n", "copy", choices_median(copy_rates) * 1e-9);
    fflush(stdout);
    return TRUE;
}

gboolean
transforms_measure(Choices *choices)
{
    g_autoptr(GError) error = NULL;
    const gsize bytes = choices->brief ? BRIEF_BYTES : choices->device ? DEVICE_BYTES : HOST_BYTES;
    choices->options.cache_bytes = choices->options.device_bytes = bytes;
    g_autoptr(CopyMeter) copies = copy_meter_new(choices->device, bytes, &error);
    printf("transforms: 64 stations, 2 polarisations, blocks of at most %.3g MiB\n",
           (gdouble)bytes / (1 << 20));
    for (guint i = 0; i < G_N_ELEMENTS(cases) && copies && !error; i++) {
        g_autofree char *name = g_strdup_printf("%s %u [%s] [%s]", cases[i].stage,
                                                cases[i].n_phases, cases[i].in, cases[i].out);
        if (choices_want(choices, name) && (!choices->brief || i % 4 == 0))
            measure_case(choices, copies, &cases[i], &error);
    }
    if (error)
        printf("transforms: %s\n", error->message);
    return !error;
}
