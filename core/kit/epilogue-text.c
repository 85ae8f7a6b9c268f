/* SPDX-License-Identifier: BSD-3-Clause */
/* The header through which a kernel passes elements: the files of kernels of all stages, in
 * namespaces of their own, and a struct CtEpilogue or CtPrologue that calls them one after another.
 */
#include "epilogue-private.h"

/* Words of an epilogue that a prologue has otherwise. */
typedef struct {
    const char *space;  /* the namespace of a stage, before its number */
    const char *name;   /* of the struct */
    const char *memory; /* the template for the type of elements in memory */
} Words;

static const Words epilogue_words = {"ct_epilogue", "CtEpilogue", "CtStored"};
static const Words prologue_words = {"ct_prologue", "CtPrologue", "CtLoaded"};

static const Words *
words_of(const CtEpilogueState *self)
{
    return self->is_prologue ? &prologue_words : &epilogue_words;
}

static const char *
type_behind(const CtEpilogueState *self, guint k)
{
    return ct_kernel_type((gint)self->stages[k].form.boxes.out_type);
}

/* The elements of a group before stage k: one, but for those of a stage that makes groups. */
static guint
count_before(const CtEpilogueState *self, guint k)
{
    return self->group_stage == self->n ? 1
           : k <= self->group_stage     ? self->group.n_x
                                        : self->group.n_y;
}

/* Defines what the file of kernels is compiled with, and includes it. */
static void
add_kernels(GString *text, const CtEpilogueState *self, guint k)
{
    const CtFormState *form = &self->stages[k].form;
    g_autoptr(GPtrArray) defines = ct_form_defines(form, CT_DEVICE_MAP_THREADS, 1);
    for (guint i = 0; i < defines->len; i++) {
        g_auto(GStrv) parts = g_strsplit(defines->pdata[i], "=", 2);
        g_string_append_printf(text, "#define %s %s\n", parts[0], parts[1] ? parts[1] : "1");
    }
    g_string_append_printf(text,
                           "namespace %s_%u {\n"
                           "#include <cornerturn/kit/types-kernel.h>\n"
                           "#include \"%s/%s\"\n"
                           "}\n",
                           words_of(self)->space, k, form->form->plugin, form->kernel->file);
    for (guint i = 0; i < defines->len; i++)
        g_string_append_printf(text, "#undef %.*s\n", (int)strcspn(defines->pdata[i], "="),
                               (const char *)defines->pdata[i]);
}

/* The struct that the kernel gets. */
static void
add_settings(GString *text, const CtEpilogueState *self)
{
    const Words *words = words_of(self);
    g_string_append_printf(text, "struct %sSettings {\n", words->name);
    if (self->epilogue.checks)
        g_string_append(text, "const CtEpilogueValidity *validity;\n");
    if (self->epilogue.has_tables)
        g_string_append_printf(text, "alignas(%d) CtEpilogueIndex index;\n", CT_EPILOGUE_ALIGNMENT);
    if (ct_epilogue_group(&self->epilogue))
        g_string_append_printf(text, "alignas(%d) int64 x_stride;\nint64 y_stride;\n",
                               CT_EPILOGUE_ALIGNMENT);
    for (guint k = 0; k < self->n; k++)
        if (self->stages[k].form.kernel)
            g_string_append_printf(text, "alignas(%d) %s_%u::%s_epilogue stage%u;\n",
                                   CT_EPILOGUE_ALIGNMENT, words->space, k,
                                   self->stages[k].form.kernel->name, k);
    g_string_append(text, "};\n");
}

/* ---- the way of an element ---- */

/* The number of maps, groups and conversions: a fold comes last. */
static guint
count_maps(const CtEpilogueState *self)
{
    return self->epilogue.hop > 0 ? self->n - 1 : self->n;
}

/* The elements of a group behind all of them. */
static guint
count_behind(const CtEpilogueState *self)
{
    return count_before(self, count_maps(self));
}

/* Element j of x(k+1) of that of xk. */
static void
add_map(GString *text, const CtEpilogueState *self, guint k, guint j)
{
    const CtFormState *form = &self->stages[k].form;
    const guint n = count_before(self, k);
    const gboolean has_table = ct_epilogue_is(form, CT_FORM_TABLE);
    g_string_append_printf(text, "const auto x%u_%u = ", k + 1, j);
    if (form->kernel)
        g_string_append_printf(text, "settings.stage%u.make<%s>(x%u_%u, now[%u]", k,
                               type_behind(self, k), k, j, k);
    else
        g_string_append_printf(text, "ct_convert<%s>(ct_epilogue_made(x%u_%u)",
                               type_behind(self, k), k, j);
    if (has_table && n > 1)
        g_string_append_printf(text, ", at * %u + %u", n, j);
    else if (has_table)
        g_string_append(text, ", at");
    g_string_append(text, ");\n");
}

/* All of x(k+1), a group, of xk. */
static void
add_group(GString *text, const CtEpilogueState *self, guint k)
{
    g_string_append_printf(text, "const decltype(x%u_0) from[] = {", k);
    for (guint j = 0; j < self->group.n_x; j++)
        g_string_append_printf(text, "%sx%u_%u", j ? ", " : "", k, j);
    g_string_append_printf(text, "};\n%s made[%u];\nsettings.stage%u.make(from, made);\n",
                           type_behind(self, k), self->group.n_y, k);
    for (guint j = 0; j < self->group.n_y; j++)
        g_string_append_printf(text, "const auto x%u_%u = made[%u];\n", k + 1, j, j);
}

/* The statements that make x1 of x0, x2 of x1, and so on, each of them one element or, before and
 * behind a stage of groups, some. */
static void
add_statements(GString *text, const CtEpilogueState *self)
{
    g_string_append_printf(text, "[[maybe_unused]] uint32 now[%u] = {};\n", self->n);
    for (guint j = 0; self->group_stage < self->n && j < self->group.n_x; j++)
        g_string_append_printf(text, "const auto x0_%u = x0.element[%u];\n", j, j);
    for (guint k = 0; k < count_maps(self); k++)
        if (k == self->group_stage)
            add_group(text, self, k);
        else
            for (guint j = 0; j < count_before(self, k); j++)
                add_map(text, self, k, j);
}

/* The parameter of the functions with the statements: x0. */
static const char *
parameter(const CtEpilogueState *self)
{
    return ct_epilogue_group(&self->epilogue) ? "const CtGiven<Made> &x0" : "Made x0_0";
}

/* Adds up what the stages count of an element. */
static void
add_counts(GString *text, const CtEpilogueState *self)
{
    for (guint k = 0; k < self->n; k++)
        if (ct_epilogue_counts(&self->stages[k].form))
            g_string_append_printf(text, "counts[%u] += now[%u];\n", k, k);
}

/* Numbers of elements, where tables have entries for them. */
static void
add_elements(GString *text, const CtEpilogueState *self)
{
    g_string_append_printf(
        text,
        "typedef %s Element;\n"
        "__device__ __forceinline__ Element element([[maybe_unused]] const void *at) const\n"
        "{\nreturn %s;\n}\n",
        self->epilogue.has_tables ? "uint32" : "CtNoElement",
        self->epilogue.has_tables ? "(uint32)ct_epilogue_index(settings.index, at)" : "{}");
}

/* ---- epilogues ---- */

/* Names the type of what a kernel gives at once: an element, or a group of elements. */
static void
add_given(GString *text, const CtEpilogueState *self)
{
    if (!ct_epilogue_group(&self->epilogue)) {
        g_string_append(text, "template <typename Made> using CtGiven = Made;\n");
        return;
    }
    g_string_append_printf(text,
                           "#define CT_EPILOGUE_GROUPS\n"
                           "#define CT_EPILOGUE_N_X %u\n"
                           "#define CT_EPILOGUE_N_Y %u\n"
                           "template <typename Made> using CtGiven = CtGroup<Made, %u>;\n",
                           self->group.n_x, self->group.n_y, self->group.n_x);
}

static void
add_read(GString *text, const CtEpilogueState *self)
{
    static const char one[] = "return *(const Made *)from;\n";
    static const char several[] =
        "CtGiven<Made> read;\n"
        "for (int j = 0; j < (int)(sizeof read.element / sizeof(Made)); j++)\n"
        "read.element[j] = *(const Made *)((const uint8 *)from + j * settings.x_stride);\n"
        "return read;\n";
    g_string_append_printf(text,
                           "template <typename Made>\n"
                           "__device__ __forceinline__ CtGiven<Made> read(const void *from) const\n"
                           "{\n%s}\n",
                           ct_epilogue_group(&self->epilogue) ? several : one);
}

static void
add_result(GString *text, const CtEpilogueState *self)
{
    const gboolean is_group = ct_epilogue_group(&self->epilogue) != NULL;
    g_string_append(text, is_group ? "return {{" : "return ");
    for (guint j = 0; j < count_behind(self); j++)
        g_string_append_printf(text, "%sx%u_%u", j ? ", " : "", self->n, j);
    g_string_append(text, is_group ? "}};\n" : ";\n");
}

/* Making elements as they are stored, and storing them. Groups are only made. */
static void
add_store(GString *text, const CtEpilogueState *self)
{
    const char *stored = type_behind(self, self->n - 1);
    const gboolean is_group = ct_epilogue_group(&self->epilogue) != NULL;
    g_autofree char *made =
        is_group ? g_strdup_printf("CtGroup<%s, %u>", stored, self->group.n_y) : g_strdup(stored);
    g_string_append_printf(text,
                           "template <typename Made>\n"
                           "__device__ __forceinline__ %s\n"
                           "make([[maybe_unused]] const void *to, %s,\n"
                           "[[maybe_unused]] Element at)\n"
                           "{\n",
                           made, parameter(self));
    add_statements(text, self);
    if (self->epilogue.checks)
        g_string_append(text, "if (ct_epilogue_is_valid(settings.validity, to)) {\n");
    add_counts(text, self);
    if (self->epilogue.checks)
        g_string_append(text, "}\n");
    add_result(text, self);
    g_string_append_printf(text,
                           "}\n"
                           "template <typename Made>\n"
                           "__device__ __forceinline__ %s make(const void *to, Made made)\n"
                           "{\nreturn make(to, made, element(to));\n}\n",
                           made);
    if (is_group)
        return;
    g_string_append_printf(
        text,
        "template <typename Made>\n"
        "__device__ __forceinline__ void store(void *to, Made made, Element at)\n"
        "{\n*(%s *)to = make(to, made, at);\n}\n"
        "template <typename Made>\n"
        "__device__ __forceinline__ void store(void *to, Made made)\n"
        "{\nstore(to, made, element(to));\n}\n",
        stored);
}

/* The lanes of a fold. If the epilogue checks, they know which samples of a hop are valid. */
static void
add_lanes(GString *text, const CtEpilogueState *self)
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

/* The state of a group is that of all its elements. */
static void
add_states(GString *text, const CtEpilogueState *self)
{
    const guint last = self->n - 1;
    g_string_append_printf(text,
                           "struct State {\nct_epilogue_%u::%s_epilogue::State of[%u];\n};\n"
                           "__device__ __forceinline__ void start(State &state) const\n"
                           "{\n",
                           last, self->stages[last].form.kernel->name, count_behind(self));
    for (guint j = 0; j < count_behind(self); j++)
        g_string_append_printf(text, "settings.stage%u.start(state.of[%u]);\n", last, j);
    g_string_append(
        text, "}\n"
              "__device__ __forceinline__ void merge(State &state, const State &other) const\n"
              "{\n");
    for (guint j = 0; j < count_behind(self); j++)
        g_string_append_printf(text, "settings.stage%u.merge(state.of[%u], other.of[%u]);\n", last,
                               j, j);
    g_string_append(text, "}\n");
}

static void
add_give(GString *text, const CtEpilogueState *self)
{
    const guint last = self->n - 1;
    const char *stored = type_behind(self, last);
    g_string_append_printf(text,
                           "__device__ __forceinline__ void\n"
                           "give(void *to, const State &state, uint32 n) const\n"
                           "{\n%s",
                           self->epilogue.checks
                               ? "n = settings.validity->counts[ct_epilogue_index("
                                 "settings.validity->index, to)];\n"
                               : "");
    g_string_append_printf(text, "*(%s *)to = settings.stage%u.give<%s>(state.of[0], n);\n", stored,
                           last, stored);
    for (guint j = 1; j < count_behind(self); j++)
        g_string_append_printf(text,
                               "*(%s *)((uint8 *)to + %u * settings.y_stride) =\n"
                               "settings.stage%u.give<%s>(state.of[%u], n);\n",
                               stored, j, last, stored, j);
    g_string_append(text, "}\n");
}

/* Folding elements. */
static void
add_fold(GString *text, const CtEpilogueState *self)
{
    const guint last = self->n - 1;
    add_lanes(text, self);
    add_states(text, self);
    g_string_append_printf(text,
                           "template <typename Made>\n"
                           "__device__ __forceinline__ void\n"
                           "add(State &state, const Lane &lane, [[maybe_unused]] Element at,\n"
                           "int32 t, %s)\n"
                           "{\n%s",
                           parameter(self),
                           self->epilogue.checks ? "if (!lane.valid[t]) return;\n" : "");
    add_statements(text, self);
    for (guint j = 0; j < count_behind(self); j++)
        g_string_append_printf(text, "settings.stage%u.add(state.of[%u], x%u_%u);\n", last, j, last,
                               j);
    add_counts(text, self);
    g_string_append(text, "}\n");
    add_give(text, self);
}

static void
add_end(GString *text, const CtEpilogueState *self)
{
    g_string_append(text, "__device__ void end()\n{\n");
    for (guint k = 0; k < self->n; k++)
        if (ct_epilogue_counts(&self->stages[k].form))
            g_string_append_printf(
                text, "ct_epilogue_count(settings.stage%u.ct_own_counter, counts[%u]);\n", k, k);
    g_string_append(text, "}\n");
}

/* ---- prologues ---- */

static void
add_load(GString *text, const CtEpilogueState *self)
{
    const char *loaded = ct_kernel_type((gint)self->stages[0].form.boxes.in_type);
    g_string_append_printf(text,
                           "template <typename Wanted>\n"
                           "__device__ __forceinline__ Wanted\n"
                           "load(const void *from, [[maybe_unused]] Element at) const\n"
                           "{\nconst auto x0_0 = *(const %s *)from;\n",
                           loaded);
    add_statements(text, self);
    g_string_append_printf(text,
                           "return ct_epilogue_made(x%u_0);\n"
                           "}\n"
                           "template <typename Wanted>\n"
                           "__device__ __forceinline__ Wanted load(const void *from) const\n"
                           "{\nreturn load<Wanted>(from, element(from));\n}\n",
                           self->n);
}

/* ---- both ---- */

/* The struct with the functions of kernels. */
static void
add_struct(GString *text, const CtEpilogueState *self)
{
    const Words *words = words_of(self);
    const guint of_memory = self->is_prologue ? self->stages[0].form.boxes.in_type
                                              : self->stages[self->n - 1].form.boxes.out_type;
    g_string_append_printf(text,
                           "template <typename Made> using %s = %s;\n"
                           "struct %s {\n"
                           "const %sSettings &settings;\n"
                           "uint32 counts[%u];\n"
                           "__device__ explicit %s(const %sSettings &own)\n"
                           ": settings(own), counts{} {}\n",
                           words->memory, ct_kernel_type((gint)of_memory), words->name, words->name,
                           self->n, words->name, words->name);
    add_elements(text, self);
    if (self->is_prologue) {
        add_load(text, self);
    } else {
        add_read(text, self);
        (self->epilogue.hop > 0 ? add_fold : add_store)(text, self);
        add_end(text, self);
    }
    g_string_append(text, "};\n");
}

char *
ct_epilogue_write(const CtEpilogueState *self)
{
    GString *text = g_string_new("#pragma once\n"
                                 "#define CT_EPILOGUE_FILE\n"
                                 "#include <cornerturn/kit/kernel.h>\n");
    for (guint k = 0; k < self->n; k++)
        if (self->stages[k].form.kernel)
            add_kernels(text, self, k);
    if (self->epilogue.hop > 0)
        g_string_append_printf(text,
                               "#define CT_EPILOGUE_FOLDS\n"
                               "#define CT_EPILOGUE_HOP %" G_GINT64_FORMAT "LL\n",
                               self->epilogue.hop);
    if (!self->is_prologue)
        add_given(text, self);
    add_settings(text, self);
    add_struct(text, self);
    return g_string_free(text, FALSE);
}
