/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the elements of an axis. */
#include <cornerturn/observation.h>
#include <string.h>

struct CtLabels {
    gatomicrefcount references;
    gsize n;
    char **names;        /* [n]; NULL: pairs */
    CtLabels *of;        /* the names of the pairs */
    guint32 (*pairs)[2]; /* [n]; NULL: all pairs, row by row */
};

static CtLabels *
labels_new(gsize n)
{
    CtLabels *self = g_new0(CtLabels, 1);
    g_atomic_ref_count_init(&self->references);
    self->n = n;
    return self;
}

CtLabels *
ct_labels_new(const char *const *names, gsize n)
{
    CtLabels *self = labels_new(n);
    self->names = g_new(char *, n);
    for (gsize i = 0; i < n; i++)
        self->names[i] = names ? g_strdup(names[i]) : g_strdup_printf("%" G_GSIZE_FORMAT, i);
    return self;
}

CtLabels *
ct_labels_new_pairs(CtLabels *of, const guint32 (*pairs)[2], gsize n)
{
    g_return_val_if_fail(of->names, NULL);
    CtLabels *self = labels_new(pairs ? n : of->n * (of->n + 1) / 2);
    self->of = ct_labels_ref(of);
    self->pairs = g_memdup2(pairs, pairs ? n * sizeof *pairs : 0);
    return self;
}

CtLabels *
ct_labels_ref(CtLabels *labels)
{
    g_atomic_ref_count_inc(&labels->references);
    return labels;
}

void
ct_labels_unref(CtLabels *labels)
{
    if (!g_atomic_ref_count_dec(&labels->references))
        return;
    for (gsize i = 0; labels->names && i < labels->n; i++)
        g_free(labels->names[i]);
    g_free(labels->names);
    g_free(labels->pairs);
    g_clear_pointer(&labels->of, ct_labels_unref);
    g_free(labels);
}

gsize
ct_labels_count(const CtLabels *labels)
{
    return labels->n;
}

gboolean
ct_labels_are_pairs(const CtLabels *labels)
{
    return labels->of != NULL;
}

const CtLabels *
ct_labels_names(const CtLabels *labels)
{
    return labels->of ? labels->of : labels;
}

gboolean
ct_labels_are_all_pairs(const CtLabels *labels)
{
    return labels->of && !labels->pairs;
}

void
ct_labels_pair(const CtLabels *labels, gsize i, guint32 pair[2])
{
    if (labels->pairs) {
        memcpy(pair, labels->pairs[i], sizeof *labels->pairs);
        return;
    }
    /* Row r begins at element r (r + 1) / 2: the last one that is not after i, by bisection. */
    gsize row = 0, after = labels->of ? labels->of->n : 0;
    while (after > row + 1) {
        const gsize middle = row + (after - row) / 2;
        if (middle * (middle + 1) / 2 <= i)
            row = middle;
        else
            after = middle;
    }
    pair[0] = (guint32)row;
    pair[1] = (guint32)(i - row * (row + 1) / 2);
}

const char *
ct_labels_name(const CtLabels *labels, gsize i, guint k)
{
    if (labels->names)
        return labels->names[i];
    guint32 pair[2];
    ct_labels_pair(labels, i, pair);
    return labels->of->names[pair[k]];
}

CtLabels *
ct_labels_pick(CtLabels *labels, const gint64 *indices, gsize n)
{
    if (labels->names) {
        g_autofree const char **names = g_new(const char *, n);
        for (gsize i = 0; i < n; i++)
            names[i] = labels->names[indices[i]];
        return ct_labels_new(names, n);
    }
    g_autofree guint32(*pairs)[2] = g_malloc_n(n, sizeof *pairs);
    for (gsize i = 0; i < n; i++)
        ct_labels_pair(labels, (gsize)indices[i], pairs[i]);
    return ct_labels_new_pairs(labels->of, pairs, n);
}

CtLabels *
ct_labels_join(CtLabels *const *labels, gsize n)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize k = 0; k < n; k++)
        for (gsize i = 0; i < labels[k]->n; i++) {
            if (!labels[k]->names || !g_hash_table_add(seen, labels[k]->names[i]))
                return NULL;
            g_ptr_array_add(names, labels[k]->names[i]);
        }
    return ct_labels_new((const char *const *)names->pdata, names->len);
}

gint64
ct_labels_find(const CtLabels *labels, const char *name)
{
    for (gsize i = 0; labels->names && i < labels->n; i++)
        if (g_str_equal(labels->names[i], name))
            return (gint64)i;
    return -1;
}

gboolean
ct_labels_equal(const CtLabels *a, const CtLabels *b)
{
    if (a == b || !a || !b)
        return a == b;
    if (a->n != b->n || !a->names != !b->names)
        return FALSE;
    if (a->of && !ct_labels_equal(a->of, b->of))
        return FALSE;
    for (gsize i = 0; i < a->n; i++) {
        guint32 x[2], y[2];
        if (a->names) {
            if (!g_str_equal(a->names[i], b->names[i]))
                return FALSE;
            continue;
        }
        if (!a->pairs && !b->pairs)
            return TRUE;
        ct_labels_pair(a, i, x);
        ct_labels_pair(b, i, y);
        if (memcmp(x, y, sizeof x) != 0)
            return FALSE;
    }
    return TRUE;
}
