/* SPDX-License-Identifier: BSD-3-Clause */
/* delay, vectorised: rows of neighbouring samples, or one series along time. */
#include "delay-kernels.h"
#include "delay.h"

#include <string.h>

/* The longest row, and the number of times that a series is processed before the next one if time
 * is not the innermost axis. */
enum { MAX_ROW = 4096, TILE = 64 };

/* By rows: the contiguous axes inside time form one row; the other axes count rows. */
typedef struct {
    DelayState base;
    gboolean by_rows;
    guint first_of_row;      /* axis of the layout with which a row begins */
    gsize row;               /* elements of a row */
    gsize n_rows;            /* of a sample */
    gdouble *frequencies;    /* [row of n_rows][element] hertz, for changing delays */
    guint32 *series;         /* [row of n_rows][element] of the delay table, for changing delays */
    gfloat *cosines, *sines; /* [row of n_rows][element][2], for constant delays */
} Cpu;

/* Steps `index` over all axes but `skip` and those from `end` on; FALSE after the last. */
static gboolean
next_index(gint64 *index, const gint64 *length, guint end, gint skip)
{
    for (guint k = end; k-- > 0;) {
        if ((gint)k == skip)
            continue;
        if (++index[k] < length[k])
            return TRUE;
        index[k] = 0;
    }
    return FALSE;
}

static void
index_of(const DelayState *state, const gint64 *index, gint64 at[DELAY_N_AXES])
{
    for (guint k = 0; k < DELAY_N_AXES; k++)
        at[k] = state->place[k] < 0 ? 0 : index[state->place[k]];
}

/* Prepares the factors of every element of every row, or the values that they are computed from. */
static gboolean
prepare_rows(Cpu *cpu, const CtBinding *input, GError **error)
{
    const DelayTable *table = cpu->base.table;
    const gsize n = cpu->n_rows * cpu->row;
    if (!(cpu->frequencies = CT_TABLE(gdouble, n, "frequencies", error)) ||
        !(cpu->series = CT_TABLE(guint32, n, "lanes", error)))
        return FALSE;
    delay_state_elements(&cpu->base, input, cpu->frequencies, cpu->series);
    if (table->n_rows > 1)
        return TRUE;
    g_autofree gdouble *turns = CT_TABLE(gdouble, n, "phases", error);
    if (!turns || !(cpu->cosines = CT_TABLE(gfloat, 2 * n, "cosines", error)) ||
        !(cpu->sines = CT_TABLE(gfloat, 2 * n, "sines", error)))
        return FALSE;
    for (gsize i = 0; i < n; i++)
        turns[i] = cpu->frequencies[i] * table->seconds[cpu->series[i]];
    CT_ISA(delay_phasors)(cpu->cosines, cpu->sines, turns, n);
    return TRUE;
}

static gboolean
cpu_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Cpu *cpu = g_new0(Cpu, 1);
    *state = cpu;
    if (!delay_state_init(&cpu->base, prepare, error))
        return FALSE;
    const CtBinding *input = &prepare->inputs[0];
    guint n_axes = input->layout.n_axes;
    gint time = cpu->base.place[DELAY_TIME];
    cpu->by_rows = !cpu->base.shifts && time < (gint)n_axes - 1;
    if (!cpu->by_rows)
        return TRUE;

    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    ct_layout_strides(&input->layout, input->stream, 1, length, stride);
    cpu->row = length[n_axes - 1];
    cpu->first_of_row = n_axes - 1;
    while ((gint)cpu->first_of_row - 1 > time &&
           cpu->row * length[cpu->first_of_row - 1] <= MAX_ROW)
        cpu->row *= length[--cpu->first_of_row];
    cpu->n_rows = 1;
    for (guint k = 0; k < cpu->first_of_row; k++)
        cpu->n_rows *= (gint)k == time ? 1 : length[k];
    const DelayTable *table = cpu->base.table;
    prepare->scratch_bytes = cpu->row * (sizeof(gdouble) + 4 * sizeof(gfloat)) +
                             TILE * table->n_stations * table->n_pols * sizeof(gdouble);
    return prepare_rows(cpu, input, error);
}

static const guint8 *
address_of(const CtBlock *block, const gint64 *index)
{
    const guint8 *address = block->data;
    for (guint k = 0; k < block->n_axes; k++)
        address += index[k] * block->stride[k];
    return address;
}

/* Rotates a row at once if its elements are contiguous, else one element after another. */
static void
rotate_row(const Cpu *cpu, const CtBlock *in, const CtBlock *out, const gint64 *first,
           const gfloat *cosines, const gfloat *sines)
{
    gint64 packed = 2 * sizeof(gfloat);
    gboolean is_packed = TRUE;
    for (guint k = in->n_axes; k-- > cpu->first_of_row;) {
        is_packed = is_packed && in->stride[k] == packed && out->stride[k] == packed;
        packed *= in->length[k];
    }
    gint64 index[CT_MAX_AXES];
    memcpy(index, first, sizeof index);
    gsize step = is_packed ? cpu->row : 1;
    for (gsize i = 0; i < cpu->row; i += step) {
        CT_ISA(delay_rotate_row)
        ((gfloat *)address_of(out, index), (const gfloat *)address_of(in, index), cosines + 2 * i,
         sines + 2 * i, step);
        next_index(index, in->length, in->n_axes, cpu->base.place[DELAY_TIME]);
    }
}

/* Samples begin … end − 1, at most TILE of them, of all rows. */
static void
work_rows(const Cpu *cpu, const CtBlock *in, const CtBlock *out, gint64 begin, gint64 end,
          guint8 *scratch)
{
    const DelayState *state = &cpu->base;
    const DelayTable *table = state->table;
    gint64 n_series = table->n_stations * table->n_pols;
    gdouble *seconds = (gdouble *)scratch; /* [time][series] */
    gdouble *turns = seconds + TILE * n_series;
    gfloat *cosines = (gfloat *)(turns + cpu->row), *sines = cosines + 2 * cpu->row;
    gboolean constant = table->n_rows == 1;
    for (gint64 t = begin; !constant && t < end; t++)
        for (gint64 series = 0; series < n_series; series++)
            seconds[(t - begin) * n_series + series] =
                delay_table_at(table, series, out->start + t * state->ticks_per_sample, NULL);

    gint time = state->place[DELAY_TIME];
    gint64 index[CT_MAX_AXES] = {0};
    gsize first = 0;
    do {
        for (index[time] = begin; index[time] < end; index[time]++) {
            if (constant) {
                rotate_row(cpu, in, out, index, cpu->cosines + 2 * first, cpu->sines + 2 * first);
                continue;
            }
            const gdouble *now = seconds + (index[time] - begin) * n_series;
            for (gsize i = 0; i < cpu->row; i++)
                turns[i] = cpu->frequencies[first + i] * now[cpu->series[first + i]];
            CT_ISA(delay_phasors)(cosines, sines, turns, cpu->row);
            rotate_row(cpu, in, out, index, cosines, sines);
        }
        index[time] = 0;
        first += cpu->row;
    } while (next_index(index, in->length, cpu->first_of_row, time));
}

static void
work_series(const DelayState *state, const CtBlock *in, const CtBlock *out, const gint64 *index,
            gint64 begin, gint64 end)
{
    gint64 at[DELAY_N_AXES];
    index_of(state, index, at);
    gint64 series = delay_table_series(state->table, at[DELAY_STATION], at[DELAY_POL]);
    gint64 in_stride = in->stride[state->place[DELAY_TIME]];
    gint64 out_stride = out->stride[state->place[DELAY_TIME]];
    gdouble frequency = delay_frequency(state, at);
    const guint8 *x = address_of(in, index);
    guint8 *y = (guint8 *)address_of(out, index);
    for (gint64 t = begin; t < end;) {
        DelayPiece piece;
        delay_piece_init(&piece, state, series, out->start + t * state->ticks_per_sample, end - t);
        const guint8 *from = x + (t + piece.shift) * in_stride;
        if (state->is_complex)
            CT_ISA(delay_rotate_series)
        (y + t * out_stride, out_stride, from, in_stride, piece.n, frequency * piece.seconds,
         frequency * piece.per_sample, piece.since);
        else CT_ISA(delay_copy_series)(y + t * out_stride, out_stride, from, in_stride, piece.n);
        t += piece.n;
    }
}

static gboolean
cpu_work(gpointer user_data, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Cpu *cpu = user_data;
    const DelayState *state = &cpu->base;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    if (!out->data)
        return TRUE;
    gint time = state->place[DELAY_TIME];
    gboolean along_time = time == (gint)in->n_axes - 1;
    gint64 tile = along_time ? MAX(work->end - work->begin, 1) : TILE;
    for (gint64 begin = work->begin; begin < work->end; begin += tile) {
        gint64 end = MIN(begin + tile, work->end);
        if (cpu->by_rows) {
            work_rows(cpu, in, out, begin, end, work->scratch);
            continue;
        }
        gint64 index[CT_MAX_AXES] = {0};
        do
            work_series(state, in, out, index, begin, end);
        while (next_index(index, in->length, in->n_axes, time));
    }
    return TRUE;
}

static void
cpu_finish(gpointer user_data)
{
    Cpu *cpu = user_data;
    if (!cpu)
        return;
    delay_state_clear(&cpu->base);
    g_free(cpu->frequencies);
    g_free(cpu->series);
    g_free(cpu->cosines);
    g_free(cpu->sines);
    g_free(cpu);
}

const CtVariant CT_ISA(delay_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"delay", NULL},
    .rows = (const CtRow[]){{"cf32[...] -> cf32[...]", 0.75},
                            {"f32[...] -> f32[...]", 0.75},
                            {NULL}},
    .split = "time",
    .prepare = cpu_prepare,
    .advance = delay_advance,
    .work = cpu_work,
    .finish = cpu_finish,
};
