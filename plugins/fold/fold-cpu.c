/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles on the processor. Samples that follow one another in a bin are added to its sums
 * together. Elements that are side by side in memory make rows; of others, few are added at once,
 * whose sums stay in registers. */
#include "fold.h"

#define WIDE  32          /* elements whose sums stay in registers */
#define ROWS  8           /* that are read together */
#define FEW   8           /* elements that are added at once if they are not side by side */
#define CACHE (256 << 10) /* bytes of sums of a chunk, unless it has the least elements */
#define LEAST 64          /* elements of a chunk of rows */

/* Adds m samples of n elements to their sums. */
typedef struct {
    gdouble *sums;
    const guint8 *x;
    const gint64 *at; /* bytes from x to the elements; of rows, not used */
    gint64 n, m, step;
} Run;

typedef void (*AddRun)(const Run *run);

/* The functions of an element type: *wide* adds m samples of WIDE elements side by side, *few* of
 * FEW elements anywhere, *one* of one. */
#define DEFINE_ADD(Type, name)                                                                     \
    static void name##_wide(gdouble *to, const guint8 *x, gint64 step, gint64 m)                   \
    {                                                                                              \
        gdouble sums[WIDE];                                                                        \
        for (guint j = 0; j < WIDE; j++)                                                           \
            sums[j] = to[j];                                                                       \
        for (gint64 i = 0; i < m; i++)                                                             \
            for (guint j = 0; j < WIDE; j++)                                                       \
                sums[j] += (gdouble)((const Type *)(x + i * step))[j];                             \
        for (guint j = 0; j < WIDE; j++)                                                           \
            to[j] = sums[j];                                                                       \
    }                                                                                              \
    static void name##_few(gdouble *to, const guint8 *x, const gint64 *at, gint64 step, gint64 m)  \
    {                                                                                              \
        gdouble sums[FEW];                                                                         \
        for (guint j = 0; j < FEW; j++)                                                            \
            sums[j] = to[j];                                                                       \
        for (gint64 i = 0; i < m; i++)                                                             \
            for (guint j = 0; j < FEW; j++)                                                        \
                sums[j] += (gdouble) * (const Type *)(x + at[j] + i * step);                       \
        for (guint j = 0; j < FEW; j++)                                                            \
            to[j] = sums[j];                                                                       \
    }                                                                                              \
    static void name##_one(gdouble *to, const guint8 *x, gint64 step, gint64 m)                    \
    {                                                                                              \
        for (gint64 i = 0; i < m; i++)                                                             \
            *to += (gdouble) * (const Type *)(x + i * step);                                       \
    }                                                                                              \
    static void name##_rows(const Run *run)                                                        \
    {                                                                                              \
        for (gint64 r = 0; r < run->m; r += ROWS) {                                                \
            const guint8 *x = run->x + r * run->step;                                              \
            const gint64 m = MIN(ROWS, run->m - r), bytes = sizeof(Type);                          \
            gint64 e = 0;                                                                          \
            for (; e + WIDE <= run->n; e += WIDE)                                                  \
                name##_wide(run->sums + e, x + e * bytes, run->step, m);                           \
            for (; e < run->n; e++)                                                                \
                name##_one(run->sums + e, x + e * bytes, run->step, m);                            \
        }                                                                                          \
    }                                                                                              \
    static void name##_spread(const Run *run)                                                      \
    {                                                                                              \
        gint64 e = 0;                                                                              \
        for (; e + FEW <= run->n; e += FEW)                                                        \
            name##_few(run->sums + e, run->x, run->at + e, run->step, run->m);                     \
        for (; e < run->n; e++)                                                                    \
            name##_one(run->sums + e, run->x + run->at[e], run->step, run->m);                     \
    }
DEFINE_ADD(gfloat, add_floats)
DEFINE_ADD(gdouble, add_doubles)

static gboolean
is_row(const ProfileChunk *chunk)
{
    const gint64 bytes = (gint64)ct_type_info(chunk->work->inputs[0].type)->bytes;
    for (gint64 e = 1; e < chunk->n; e++)
        if (chunk->in[e] != chunk->in[0] + e * bytes)
            return FALSE;
    return TRUE;
}

static void
add(const ProfileChunk *chunk, gint64 t, gint64 m)
{
    static const AddRun kernels[2][2] = {{add_floats_spread, add_floats_rows},
                                         {add_doubles_spread, add_doubles_rows}};
    const CtBlock *in = &chunk->work->inputs[0];
    const gboolean in_rows = is_row(chunk);
    const AddRun kernel = kernels[in->type == CT_F64][in_rows];
    const guint32 *bins = chunk->profile->bins + t;
    const guint8 *x = in->data + t * chunk->in_time + (in_rows ? chunk->in[0] : 0);
    for (gint64 i = 0, end; i < m; i = end) {
        for (end = i + 1; end < m && bins[end] == bins[i];)
            end++;
        kernel(&(Run){
            .sums = chunk->sums + bins[i] * chunk->n,
            .x = x + i * chunk->in_time,
            .at = chunk->in,
            .n = chunk->n,
            .m = end - i,
            .step = chunk->in_time,
        });
    }
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Profile *self = *state = g_new0(Profile, 1);
    gint64 fast = 1; /* elements inside of time */
    if (!ct_profile_init(self, prepare, error))
        return FALSE;
    for (guint a = 0; a < self->n_axes; a++)
        fast *= self->axes[a].in > self->in_time ? self->axes[a].length : 1;
    if (fast < FEW)
        return ct_profile_cut(self, prepare, self->n_elements, FEW, error);
    const gint64 most = CACHE / (gint64)sizeof(gdouble) / self->n_bins / WIDE * WIDE;
    return ct_profile_cut(self, prepare, fast, CLAMP(most, LEAST, PROFILE_CHUNK), error);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    ct_profile_work(state, work, add);
    return TRUE;
}

static const CtRow rows[] = {
    {"any: f32|f64[time ...] -> f32|f64{time bin ...}, u32{time bin ...}", 0.3},
    {"any: f32|f64{time ...} -> f32|f64{time bin ...}, u32{time bin ...}", 0.2},
    {NULL},
};

const CtVariant CT_ISA(ct_profile_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"fold", NULL},
    .rows = rows,
    .split = "*",
    .prepare = prepare,
    .advance = ct_profile_advance,
    .work = work,
    .finish = ct_profile_finish,
};
