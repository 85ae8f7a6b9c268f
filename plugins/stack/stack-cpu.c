/* SPDX-License-Identifier: BSD-3-Clause */
/* stack by runs of memory: it only moves bytes, so other instruction sets would not be faster. */
#include "stack.h"

#include <string.h>

/* The part of the output that one input fills, over a range of samples: axes of both in the
 * output's order, without those of length 1. */
typedef struct {
    guint n;
    gint64 length[CT_MAX_AXES], to[CT_MAX_AXES], from[CT_MAX_AXES];
    guint8 *out;
    const guint8 *in; /* NULL: zeros */
    gsize bytes;      /* of an element, or of a run of them */
} Part;

static gboolean
cpu_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    *state = g_new0(StackState, 1);
    return stack_state_init(*state, prepare, error);
}

static void
part_init(Part *part, const StackState *state, guint i, const CtWork *work)
{
    const StackInput *input = &state->inputs[i];
    const CtBlock *out = &work->outputs[0], *in = &work->inputs[i];
    gboolean missing = in->n_samples == 0;
    *part = (Part){
        .out = out->data + work->begin * out->stride[state->time] +
               input->offset * out->stride[state->axis],
        .in = missing ? NULL : in->data + work->begin * in->stride[input->place[state->time]],
        .bytes = ct_type_info(out->type)->bytes,
    };
    for (guint k = 0; k < out->n_axes; k++) {
        gint64 length = (gint)k == state->time ? work->end - work->begin
                        : k == state->axis     ? input->length
                                               : out->length[k];
        if (length == 1)
            continue;
        part->length[part->n] = length;
        part->to[part->n] = out->stride[k];
        part->from[part->n++] = missing || input->place[k] < 0 ? 0 : in->stride[input->place[k]];
    }
    while (part->n > 0 && part->to[part->n - 1] == (gint64)part->bytes &&
           (missing || part->from[part->n - 1] == (gint64)part->bytes))
        part->bytes *= part->length[--part->n];
}

/* Copies a line of elements of a constant size, which the compiler turns into moves. */
#define COPY_LINE(BYTES)                                                                           \
    case BYTES:                                                                                    \
        for (gint64 i = 0; i < n; i++)                                                             \
            memcpy(out + i * to, in + i * from, BYTES);                                            \
        break

static void
copy_line(guint8 *out, gint64 to, const guint8 *in, gint64 from, gint64 n, gsize bytes)
{
    if (!in) {
        for (gint64 i = 0; i < n; i++)
            memset(out + i * to, 0, bytes);
        return;
    }
    switch (bytes) {
        COPY_LINE(1);
        COPY_LINE(2);
        COPY_LINE(4);
        COPY_LINE(8);
        COPY_LINE(16);
    default:
        for (gint64 i = 0; i < n; i++)
            memcpy(out + i * to, in + i * from, bytes);
    }
}

static void
copy_part(const Part *part)
{
    guint line = part->n - 1;
    if (part->n == 0) {
        copy_line(part->out, 0, part->in, 0, 1, part->bytes);
        return;
    }
    gint64 index[CT_MAX_AXES] = {0};
    guint k;
    do {
        guint8 *out = part->out;
        const guint8 *in = part->in;
        for (k = 0; k < line; k++) {
            out += index[k] * part->to[k];
            in = in ? in + index[k] * part->from[k] : NULL;
        }
        copy_line(out, part->to[line], in, part->from[line], part->length[line], part->bytes);
        for (k = line; k > 0 && ++index[k - 1] == part->length[k - 1]; k--)
            index[k - 1] = 0;
    } while (k > 0);
}

static gboolean
cpu_work(gpointer user_data, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const StackState *state = user_data;
    if (!work->outputs[0].data || work->begin >= work->end)
        return TRUE;
    for (guint i = 0; i < state->n_inputs; i++) {
        Part part;
        part_init(&part, state, i, work);
        copy_part(&part);
    }
    return TRUE;
}

static void
cpu_finish(gpointer state)
{
    if (state)
        stack_state_clear(state);
    g_free(state);
}

const CtVariant stack_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"stack", NULL},
    .rows = (const CtRow[]){{"[...] -> [...]", 0.7}, {NULL}},
    .split = "time",
    .prepare = cpu_prepare,
    .advance = stack_advance,
    .work = cpu_work,
    .finish = cpu_finish,
};
