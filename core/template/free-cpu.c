/* @STAGE@ on the processor: runs along the last axis, in any order of axes. */
#include "@PLUGIN@.h"

#include <cornerturn/kit/walk.h>

typedef struct {
    const CtLayout *layout; /* of both blocks */
    float factor;
} State;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    State *self = *state = g_new(State, 1);
    self->layout = &prepare->outputs[0].layout;
    self->factor = (float)ct_params_real(prepare->nodes[0].params, "factor");
    return TRUE;
}

static void
multiply(guint8 *y, gint64 y_step, const guint8 *x, gint64 x_step, gint64 n, float factor)
{
    const gint64 bytes = sizeof(_Complex float);
    if (x_step == bytes && y_step == bytes)
        for (gint64 i = 0; i < 2 * n; i++) /* in vectors, of real and imaginary parts */
            ((float *)y)[i] = factor * ((const float *)x)[i];
    else
        for (gint64 i = 0; i < n; i++)
            *(_Complex float *)(y + i * y_step) =
                factor * *(const _Complex float *)(x + i * x_step);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const State *self = state;
    const guint last = self->layout->n_axes - 1;
    CtWalk walk;
    ct_walk_init(&walk, self->layout, &work->outputs[0]);
    ct_walk_add(&walk, self->layout, &work->inputs[0]);
    ct_walk_limit(&walk, "time", work->begin, work->end);
    const gint64 n = ct_walk_leave(&walk, last);
    while (ct_walk_next(&walk))
        multiply(walk.at[0], walk.stride[0][last], walk.at[1], walk.stride[1][last], n,
                 self->factor);
    return TRUE;
}

const CtVariant CT_ISA(times_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"@STAGE@", NULL},
    .rows = (const CtRow[]){{"cf32{time station pol} -> cf32{time station pol}", 0.8}, {0}},
    .split = "time",
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};
