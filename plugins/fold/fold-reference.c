/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles element by element, in double precision and in any layout. */
#include "../parts.h"
#include "fold.h"

static void
add(const ProfileChunk *chunk, gint64 t, gint64 m)
{
    const CtBlock *in = &chunk->work->inputs[0];
    const guint8 *x = in->data + chunk->in[0] + t * chunk->in_time;
    for (gint64 i = 0; i < m; i++)
        chunk->sums[chunk->profile->bins[t + i]] += part_read(x + i * chunk->in_time, in->type, 0);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Profile *self = *state = g_new0(Profile, 1);
    return ct_profile_init(self, prepare, error) &&
           ct_profile_cut(self, prepare, self->n_elements, 1, error);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    ct_profile_work(state, work, add);
    return TRUE;
}

const CtVariant ct_profile_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"fold", NULL},
    .rows = CT_REFERENCE_ROWS,
    .split = "*",
    .prepare = prepare,
    .advance = ct_profile_advance,
    .work = work,
    .finish = ct_profile_finish,
};
