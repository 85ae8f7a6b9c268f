/* SPDX-License-Identifier: BSD-3-Clause */
/* Epilogues: the header that passes elements through the kernels of attached stages, and its
 * argument. */
#include "epilogue-private.h"
#include "fold-private.h"

#include <cornerturn/kit/epilogue-struct.h>
#include <string.h>

/* The members of the argument begin at multiples of it. */
enum { ALIGNMENT = 16 };
/* Uploads are rounded up to this. */
enum { UPLOAD_ALIGNMENT = 256 };

typedef struct {
    CtFormState form;
    gsize settings; /* the offset of its settings in the argument, and of the address of its counter
                     */
    gsize counter;
    guint n_before; /* counters of stages before it */
    gpointer table; /* on the device; its address comes behind that of the counter */
} Attached;

typedef struct {
    CtEpilogue epilogue; /* its text and its headers are owned */
    CtDevice *device;
    guint n;
    Attached *attached; /* [n] */
    guint8 *argument;   /* begins with the address of the validity, if it `checks` */
    gsize index;        /* the offset of that of elements in the argument, if a stage has a table */
    gboolean minds;     /* a stage counts or folds */
    CtFolded folded;    /* by the next firing */
    CtLayout order;     /* of the elements of a sample: that of the output */
    /* Steps of the output's axes, in the order of its layout, in its packed validity, but for the
     * factor of lanes, the number of samples, and in tables. The validity's of time is negative. */
    gint64 validity_steps[CT_MAX_AXES], element_steps[CT_MAX_AXES];
} Own;

/* ---- the stages ---- */

static gboolean
has_table(const CtFormState *form)
{
    return form->kernel && form->kernel->kind == CT_FORM_TABLE;
}

/* Chooses the kernel of a node; there may be none, for a conversion. */
static gboolean
choose(CtFormState *form, const CtForm *of, const CtNode *node, CtType made, gboolean folds,
       GError **error)
{
    form->form = of;
    form->boxes.in_type = made;
    form->boxes.out_type = node->outputs[0].type;
    const guint kinds = folds ? CT_FORM_FOLDS : 1u << CT_FORM_MAP | 1u << CT_FORM_TABLE;
    return ct_form_choose(of, node, &form->choice, error) &&
           ct_form_check(of, &form->choice, error) &&
           ((!form->choice.kernel && !folds) ||
            ct_form_bind(form, CT_ISA_BASELINE, kinds, error)) &&
           (!has_table(form) ||
            ct_form_check_own_table(form, &node->inputs[0], &node->outputs[0], error));
}

gboolean
ct_epilogue_takes(const CtForm *form, const CtNode *node, CtType made, gboolean tables)
{
    CtFormState state = {0};
    for (guint i = 1; i < node->n_inputs; i++)
        if (node->inputs[i].type != CT_TYPE_NONE)
            return FALSE;
    const gboolean good =
        choose(&state, form, node, made, FALSE, NULL) && (tables || !has_table(&state));
    ct_form_clear(&state);
    return good;
}

gsize
ct_epilogue_state_bytes(const CtForm *form, const CtNode *node, CtType made)
{
    CtFormState state = {0};
    const gboolean good = choose(&state, form, node, made, TRUE, NULL);
    const gsize bytes = good ? state.kernel->fold->state_bytes : 0;
    ct_form_clear(&state);
    return bytes;
}

/* ---- the text ---- */

/* Defines what the file of kernels is compiled with, and includes it. */
static void
add_kernels(GString *text, const CtFormState *form, guint k)
{
    g_autoptr(GPtrArray) defines = ct_form_defines(form, CT_DEVICE_MAP_THREADS, 1);
    for (guint i = 0; i < defines->len; i++) {
        g_auto(GStrv) parts = g_strsplit(defines->pdata[i], "=", 2);
        g_string_append_printf(text, "#define %s %s\n", parts[0], parts[1] ? parts[1] : "1");
    }
    g_string_append_printf(text,
                           "namespace ct_epilogue_%u {\n"
                           "#include <cornerturn/kit/types-kernel.h>\n"
                           "#include \"%s/%s\"\n"
                           "}\n",
                           k, form->form->plugin, form->kernel->file);
    for (guint i = 0; i < defines->len; i++)
        g_string_append_printf(text, "#undef %.*s\n", (int)strcspn(defines->pdata[i], "="),
                               (const char *)defines->pdata[i]);
}

/* The struct that the kernel gets. */
static void
add_settings(GString *text, const Own *self)
{
    g_string_append(text, "struct CtEpilogueSettings {\n");
    if (self->epilogue.checks)
        g_string_append(text, "const CtEpilogueValidity *validity;\n");
    if (self->epilogue.has_tables)
        g_string_append_printf(text, "alignas(%d) CtEpilogueIndex index;\n", ALIGNMENT);
    for (guint k = 0; k < self->n; k++)
        if (self->attached[k].form.kernel)
            g_string_append_printf(text, "alignas(%d) ct_epilogue_%u::%s_epilogue stage%u;\n",
                                   ALIGNMENT, k, self->attached[k].form.kernel->name, k);
    g_string_append(text, "};\n");
}

/* The number of maps and conversions: a fold comes last. */
static guint
count_maps(const Own *self)
{
    return self->epilogue.hop > 0 ? self->n - 1 : self->n;
}

/* The statements that make element x1 of x0, x2 of x1, and so on. */
static void
add_statements(GString *text, const Own *self)
{
    g_string_append_printf(text, "[[maybe_unused]] uint32 now[%u] = {};\n", self->n);
    for (guint k = 0; k < count_maps(self); k++) {
        const CtFormState *form = &self->attached[k].form;
        const char *type = ct_kernel_type((gint)form->boxes.out_type);
        if (form->kernel)
            g_string_append_printf(text,
                                   "const auto x%u = settings.stage%u.make<%s>(x%u, now[%u]%s);\n",
                                   k + 1, k, type, k, k, has_table(form) ? ", at" : "");
        else
            g_string_append_printf(
                text, "const auto x%u = ct_convert<%s>(ct_epilogue_made(x%u));\n", k + 1, type, k);
    }
}

/* Adds up what the stages count of an element. */
static void
add_counts(GString *text, const Own *self)
{
    for (guint k = 0; k < self->n; k++)
        if (self->attached[k].form.kernel && self->attached[k].form.kernel->n_counters > 0)
            g_string_append_printf(text, "counts[%u] += now[%u];\n", k, k);
}

/* Numbers of elements, where tables have entries for them. */
static void
add_elements(GString *text, const Own *self)
{
    g_string_append_printf(
        text,
        "typedef %s Element;\n"
        "__device__ __forceinline__ Element element([[maybe_unused]] const void *to) const\n"
        "{\nreturn %s;\n}\n",
        self->epilogue.has_tables ? "uint32" : "CtNoElement",
        self->epilogue.has_tables ? "(uint32)ct_epilogue_index(settings.index, to)" : "{}");
}

/* Making elements as they are stored, and storing them. */
static void
add_store(GString *text, const Own *self, const char *stored)
{
    g_string_append_printf(text,
                           "template <typename Made>\n"
                           "__device__ __forceinline__ %s\n"
                           "make([[maybe_unused]] const void *to, Made x0,\n"
                           "[[maybe_unused]] Element at)\n"
                           "{\n",
                           stored);
    add_statements(text, self);
    if (self->epilogue.checks)
        g_string_append_printf(
            text, "if (!ct_epilogue_is_valid(settings.validity, to)) return x%u;\n", self->n);
    add_counts(text, self);
    g_string_append_printf(
        text,
        "return x%u;\n"
        "}\n"
        "template <typename Made>\n"
        "__device__ __forceinline__ %s make(const void *to, Made made)\n"
        "{\nreturn make(to, made, element(to));\n}\n"
        "template <typename Made>\n"
        "__device__ __forceinline__ void store(void *to, Made made, Element at)\n"
        "{\n*(%s *)to = make(to, made, at);\n}\n"
        "template <typename Made>\n"
        "__device__ __forceinline__ void store(void *to, Made made)\n"
        "{\nstore(to, made, element(to));\n}\n",
        self->n, stored, stored);
}

/* The lanes of a fold. If the epilogue checks, they know which samples of a hop are valid. */
static void
add_lanes(GString *text, const Own *self)
{
    static const char checking[] = "struct Lane { const uint8 *valid; };\n"
                                   "__device__ __forceinline__ Lane lane(const void *to) const\n"
                                   "{\n"
                                   "const int64 at =\n"
                                   "ct_epilogue_index(settings.validity->index, to);\n"
                                   "return {settings.validity->validity + at * CT_EPILOGUE_HOP};\n"
                                   "}\n";
    static const char plain[] = "struct Lane {};\n"
                                "__device__ __forceinline__ Lane lane(const void *) const\n"
                                "{\nreturn {};\n}\n";
    g_string_append(text, self->epilogue.checks ? checking : plain);
}

/* Folding elements. */
static void
add_fold(GString *text, const Own *self, const char *stored)
{
    const guint last = self->n - 1;
    add_lanes(text, self);
    g_string_append_printf(
        text,
        "typedef ct_epilogue_%u::%s_epilogue::State State;\n"
        "__device__ __forceinline__ void start(State &state) const\n"
        "{\nsettings.stage%u.start(state);\n}\n"
        "__device__ __forceinline__ void merge(State &state, const State &other) const\n"
        "{\nsettings.stage%u.merge(state, other);\n}\n"
        "template <typename Made>\n"
        "__device__ __forceinline__ void\n"
        "add(State &state, const Lane &lane, [[maybe_unused]] Element at, int32 t, Made x0)\n"
        "{\n%s",
        last, self->attached[last].form.kernel->name, last, last,
        self->epilogue.checks ? "if (!lane.valid[t]) return;\n" : "");
    add_statements(text, self);
    g_string_append_printf(text, "settings.stage%u.add(state, x%u);\n", last, last);
    add_counts(text, self);
    g_string_append_printf(text,
                           "}\n"
                           "__device__ __forceinline__ void\n"
                           "give(void *to, const State &state, uint32 n) const\n"
                           "{\n"
                           "%s"
                           "*(%s *)to = settings.stage%u.give<%s>(state, n);\n"
                           "}\n",
                           self->epilogue.checks
                               ? "n = settings.validity->counts[ct_epilogue_index("
                                 "settings.validity->index, to)];\n"
                               : "",
                           stored, last, stored);
}

static char *
write_text(const Own *self)
{
    GString *text = g_string_new("#pragma once\n"
                                 "#define CT_EPILOGUE_FILE\n"
                                 "#include <cornerturn/kit/kernel.h>\n");
    for (guint k = 0; k < self->n; k++)
        if (self->attached[k].form.kernel)
            add_kernels(text, &self->attached[k].form, k);
    if (self->epilogue.hop > 0)
        g_string_append_printf(text,
                               "#define CT_EPILOGUE_FOLDS\n"
                               "#define CT_EPILOGUE_HOP %" G_GINT64_FORMAT "LL\n",
                               self->epilogue.hop);
    add_settings(text, self);
    const char *stored = ct_kernel_type((gint)self->attached[self->n - 1].form.boxes.out_type);
    g_string_append_printf(text,
                           "template <typename Made> using CtStored = %s;\n"
                           "struct CtEpilogue {\n"
                           "const CtEpilogueSettings &settings;\n"
                           "uint32 counts[%u];\n"
                           "__device__ explicit CtEpilogue(const CtEpilogueSettings &own)\n"
                           ": settings(own), counts{} {}\n",
                           stored, self->n);
    add_elements(text, self);
    (self->epilogue.hop > 0 ? add_fold : add_store)(text, self, stored);
    g_string_append(text, "__device__ void end()\n{\n");
    for (guint k = 0; k < self->n; k++)
        if (self->attached[k].form.kernel && self->attached[k].form.kernel->n_counters > 0)
            g_string_append_printf(
                text, "ct_epilogue_count(settings.stage%u.ct_own_counter, counts[%u]);\n", k, k);
    g_string_append(text, "}\n};\n");
    return g_string_free(text, FALSE);
}

static char **
list_headers(const Own *self)
{
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint k = 0; k < self->n; k++) {
        const CtFormState *form = &self->attached[k].form;
        if (!form->kernel)
            continue;
        char *header =
            g_strdup_printf("/cornerturn/plugins/%s/%s", form->form->plugin, form->kernel->file);
        if (!g_hash_table_contains(known, header))
            g_strv_builder_add(builder, header);
        g_hash_table_add(known, header);
    }
    return g_strv_builder_end(builder);
}

/* ---- the argument ---- */

static gsize
round_up(gsize bytes, gsize to)
{
    return (bytes + to - 1) / to * to;
}

/* Lays out the argument as add_settings() does, and writes the settings. */
static void
lay_out(Own *self)
{
    self->index = self->epilogue.checks ? ALIGNMENT : 0;
    gsize bytes = self->index;
    if (self->epilogue.has_tables)
        bytes += round_up(sizeof(CtEpilogueIndex), ALIGNMENT);
    for (guint k = 0; k < self->n; k++) {
        Attached *attached = &self->attached[k];
        if (!attached->form.kernel)
            continue;
        attached->settings = bytes;
        attached->counter = bytes + round_up(attached->form.choice.settings_bytes, sizeof(guint64));
        bytes = attached->counter + sizeof(guint64);
        bytes = round_up(bytes + (attached->table ? sizeof(gpointer) : 0), ALIGNMENT);
    }
    self->argument = g_malloc0(MAX(bytes, ALIGNMENT));
    for (guint k = 0; k < self->n; k++) {
        const Attached *attached = &self->attached[k];
        if (!attached->form.kernel)
            continue;
        memcpy(self->argument + attached->settings, attached->form.choice.settings.bytes,
               attached->form.choice.settings_bytes);
        if (attached->table)
            memcpy(self->argument + attached->counter + sizeof(guint64), &attached->table,
                   sizeof attached->table);
    }
}

/* The order of the elements of a sample. */
static void
find_order(Own *self, const CtBinding *out)
{
    for (guint a = 0; a < out->layout.n_axes; a++) {
        const CtLayoutAxis *axis = &out->layout.axes[a];
        if (axis->count == 0 && axis->name != ct_axis_name("time") &&
            ct_stream_axis(out->stream, axis->name) >= 0)
            self->order.axes[self->order.n_axes++] = *axis;
    }
}

/* The step of an axis in the order of the elements; 0: it is not among them. */
static gint64
element_step(const CtLayout *order, const CtStream *stream, const char *name)
{
    gint64 step = 1;
    for (guint a = order->n_axes; a-- > 0; step *= ct_stream_length(stream, order->axes[a].name))
        if (order->axes[a].name == name)
            return step;
    return 0;
}

static void
find_steps(Own *self, const CtBinding *out)
{
    const CtLayout *layout = &out->layout;
    find_order(self, out);
    for (guint a = 0; a < layout->n_axes; a++) {
        const char *name = layout->axes[a].name;
        const gint inner = ct_layout_block_axis(layout, name);
        const gint64 count = inner >= 0 && inner != (gint)a ? layout->axes[inner].count : 1;
        const gboolean is_time = name == ct_axis_name("time");
        self->validity_steps[a] = count * (is_time ? -1 : ct_stream_lane_step(out->stream, name));
        self->element_steps[a] = count * element_step(&self->order, out->stream, name);
    }
}

/* Sends the tables, with an entry for each element of a sample. */
static gboolean
send_tables(Own *self, const CtBinding *out, GError **error)
{
    const CtBinding elements = {.stream = out->stream, .layout = self->order};
    const CtPrepare prepare = {.inputs = &elements};
    for (guint k = 0; k < self->n; k++) {
        Attached *attached = &self->attached[k];
        gint64 n;
        if (!has_table(&attached->form))
            continue;
        g_autofree guint8 *entries = ct_form_expand(&attached->form, &prepare, 1, &n, error);
        const gsize bytes = (gsize)ct_type_info(attached->form.kernel->w)->bytes;
        if (entries)
            attached->table = ct_device_alloc(self->device, (gsize)n * bytes,
                                              attached->form.choice.kernel, error);
        if (!attached->table ||
            !ct_device_upload(self->device, attached->table, entries, (gsize)n * bytes, error))
            return FALSE;
    }
    return TRUE;
}

/* Sends the validity of the samples that are folded, and their counts. */
static gboolean
send_folded(const Own *self, gint64 n_samples, CtEpilogueValidity *to, CtQueue *queue,
            GError **error)
{
    const gsize n = (gsize)(self->folded.n_lanes * n_samples);
    to->validity =
        ct_queue_upload(queue, self->folded.validity, n * (gsize)self->epilogue.hop, error);
    to->counts = to->validity
                     ? ct_queue_upload(queue, self->folded.counts, n * sizeof(guint32), error)
                     : NULL;
    return to->counts != NULL;
}

/* The index of this block's elements in an array in which the axes of the layout have these steps;
 * they are sorted by their strides. */
static void
find_index(CtEpilogueIndex *index, const CtBlock *out, const gint64 *steps)
{
    index->first = out->data;
    index->n_axes = out->n_axes;
    for (guint a = 0; a < out->n_axes; a++) {
        guint i = a;
        for (; i > 0 && index->axes[i - 1].stride < out->stride[a]; i--)
            index->axes[i] = index->axes[i - 1];
        index->axes[i].stride = out->stride[a];
        index->axes[i].inverse = 1 / (gdouble)out->stride[a];
        index->axes[i].step = steps[a];
    }
}

/* Sends the validity of this block. */
static gboolean
send_validity(const Own *self, const CtBlock *out, CtQueue *queue, GError **error)
{
    CtEpilogueValidity validity = {.validity = out->validity_on_device};
    if (self->epilogue.hop > 0 && !send_folded(self, out->n_samples, &validity, queue, error))
        return FALSE;
    find_index(&validity.index, out, self->validity_steps);
    for (guint a = 0; a < out->n_axes; a++) {
        const gint64 step = validity.index.axes[a].step;
        validity.index.axes[a].step = step < 0 ? -step : step * out->n_samples;
    }
    const gpointer sent = ct_queue_upload(queue, &validity, sizeof validity, error);
    memcpy(self->argument, &sent, sizeof sent);
    return sent != NULL;
}

gpointer
ct_epilogue_argument(CtEpilogue *epilogue, const CtWork *work, GError **error)
{
    static guint64 none;
    Own *self = (Own *)epilogue;
    if (!self)
        return &none;
    for (guint k = 0; k < self->n; k++) {
        const Attached *attached = &self->attached[k];
        const guint64 *counter = work->counters + attached->n_before;
        if (attached->form.kernel)
            memcpy(self->argument + attached->counter, &counter, sizeof counter);
    }
    if (self->epilogue.has_tables) {
        CtEpilogueIndex index = {0};
        find_index(&index, &work->outputs[0], self->element_steps);
        memcpy(self->argument + self->index, &index, sizeof index);
    }
    return !self->epilogue.checks || send_validity(self, &work->outputs[0], work->queue, error)
               ? self->argument
               : NULL;
}

gboolean
ct_epilogue_minds(const CtEpilogue *epilogue)
{
    return ((const Own *)epilogue)->minds;
}

void
ct_epilogue_set_folded(CtEpilogue *epilogue, const CtFolded *folded)
{
    ((Own *)epilogue)->folded = *folded;
}

gsize
ct_epilogue_upload(const CtEpilogue *epilogue, gint64 n_lanes, gint64 max_samples)
{
    const gsize n = (gsize)(n_lanes * max_samples);
    const gsize bytes = round_up(sizeof(CtEpilogueValidity), UPLOAD_ALIGNMENT);
    return epilogue->hop == 0 ? bytes
                              : bytes + round_up(n * (gsize)epilogue->hop, UPLOAD_ALIGNMENT) +
                                    round_up(n * sizeof(guint32), UPLOAD_ALIGNMENT);
}

/* ---- both ---- */

void
ct_epilogue_free(CtEpilogue *epilogue)
{
    Own *self = (Own *)epilogue;
    if (!self)
        return;
    for (guint k = 0; k < self->n; k++) {
        ct_form_clear(&self->attached[k].form);
        ct_device_free(self->device, self->attached[k].table);
    }
    g_free(self->attached);
    g_free(self->argument);
    g_free((char *)self->epilogue.text);
    g_strfreev((char **)self->epilogue.headers);
    g_free(self);
}

CtEpilogue *
ct_epilogue_new(const CtForm *const *forms, const CtNode *nodes, guint n_nodes, CtType made,
                guint n_counters, gboolean checks, gboolean folds, CtDevice *device,
                const CtBinding *out, GError **error)
{
    Own *self = g_new0(Own, 1);
    self->device = device;
    self->n = n_nodes;
    self->attached = g_new0(Attached, n_nodes);
    for (guint k = 0; k < n_nodes; k++) {
        const CtStage *stage = nodes[k].stage;
        CtFormState *form = &self->attached[k].form;
        const gboolean is_fold = folds && k + 1 == n_nodes;
        if (!choose(form, forms[k], &nodes[k], made, is_fold, error)) {
            ct_epilogue_free(&self->epilogue);
            return NULL;
        }
        self->epilogue.has_tables |= has_table(form);
        self->minds |= is_fold || (form->kernel && form->kernel->n_counters > 0);
        self->attached[k].n_before = n_counters;
        n_counters += stage->counters ? g_strv_length((char **)stage->counters) : 0;
        made = nodes[k].outputs[0].type;
    }
    if (folds) {
        const CtFormState *fold = &self->attached[n_nodes - 1].form;
        self->epilogue.hop = nodes[n_nodes - 1].footprint.hop;
        self->epilogue.state_bytes = fold->kernel->fold->state_bytes;
    }
    self->epilogue.checks = checks && self->minds;
    find_steps(self, out);
    if (!send_tables(self, out, error)) {
        ct_epilogue_free(&self->epilogue);
        return NULL;
    }
    lay_out(self);
    self->epilogue.text = write_text(self);
    self->epilogue.headers = (const char *const *)list_headers(self);
    return &self->epilogue;
}
