/* SPDX-License-Identifier: BSD-3-Clause */
/* The correlator on the processor: the kernels of one instruction set as a variant. */
#include "correlate-kernels.h"
#include "correlate-two.h"
#include "correlate.h"

#include <string.h>

/* What the kernels of the set read; how much faster they are than others are in vectors of the same
 * length; the share of this for each input; the usual cells. There are registers for eight rows of
 * sums if the processor has 32 of them, for four if it has 16. */
#if defined(__AMX_INT8__)
#define TYPES         "ci4|ci8"
#define WORTH         8
#define PER_INPUT     0.009
#define USUAL_COLUMNS 2
#define USUAL_SPECTRA 1024
#elif defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define TYPES         "ci4|ci8"
#define WORTH         4
#define PER_INPUT     0.016
#define USUAL_COLUMNS (CT_VECTOR_BYTES == 64 ? 2 : 1)
#define USUAL_SPECTRA 256
#else
#define TYPES         "ci4|ci8|ci16|cf32|cf64"
#define WORTH         1
#define PER_INPUT     0.045
#define USUAL_COLUMNS 1
#define USUAL_SPECTRA 128
#endif
#define USUAL_ROWS (CT_VECTOR_BYTES == 64 && USUAL_COLUMNS == 1 ? 8 : 4)
#define USUAL_FEW  8

/* Items of two inputs that are summed together. */
#define MOST_ITEMS 64

enum { ROWS, COLUMNS, SPECTRA, FEW };
static const CtTunable tunables[] = {
    [ROWS] = {"rows", CT_VALUES(2, 4, 8), USUAL_ROWS,
              "inputs along one side of the cells that are summed in registers"},
    [COLUMNS] = {"columns", CT_VALUES(1, 2), USUAL_COLUMNS,
                 "vectors of inputs along the other side"},
    [SPECTRA] =
        {"spectra", CT_VALUES(32, 64, 128, 256, 512, 1024), USUAL_SPECTRA,
         "spectra that the cells process at once; 128 at most in floating point, and more than "
         "256 only if they fit 1 MiB"},
    [FEW] = {"few", CT_VALUES(0, 4, 8, 16), USUAL_FEW,
             "the most inputs for which vector elements are times"},
    {NULL},
};

static void
accumulate(const Correlate *self, const guint8 *voltages, const CorrelateFrom *from, gint64 n,
           gint64 done, gpointer sums, gpointer scratch)
{
    CT_ISA(correlate_accumulate)
    (self->own, voltages, from->time, from->station, from->pol, (gsize)n, (gsize)done, sums,
     scratch);
}

static void
flush(const Correlate *self, gconstpointer sums, gint64 done, guint8 *visibilities,
      const CorrelateTo *to, gpointer scratch)
{
    CT_ISA(correlate_flush)
    (self->own, sums, (gsize)done, visibilities, to->baseline, to->p, to->q, scratch);
}

static void
accumulate_two(const Correlate *self, const guint8 *voltages, const CorrelateFrom *from, gint64 n,
               gint64 done, gpointer sums, G_GNUC_UNUSED gpointer scratch)
{
    const CorrelateItems items = {(gsize)from->n_items, from->item};
    CT_ISA(correlate_two_accumulate)
    (self->own, &items, voltages, from->time, from->station, from->pol, (gsize)n, (gsize)done,
     sums);
}

static void
flush_two(const Correlate *self, gconstpointer sums, gint64 done, guint8 *visibilities,
          const CorrelateTo *to, G_GNUC_UNUSED gpointer scratch)
{
    CT_ISA(correlate_two_flush)
    (self->own, sums, (gsize)done, visibilities, to->baseline, to->p, to->q);
}

static CorrelateTuning
tuning_of(const gint64 *values)
{
    return (CorrelateTuning){(gsize)values[ROWS], (gsize)values[COLUMNS], (gsize)values[SPECTRA],
                             (gsize)values[FEW]};
}

static gboolean
differs(const CtNode *nodes, const gint64 *values)
{
    const gint64 defaults[] = {tunables[ROWS].fallback, tunables[COLUMNS].fallback,
                               tunables[SPECTRA].fallback, tunables[FEW].fallback};
    const CorrelateTuning tuning = tuning_of(values), usual = tuning_of(defaults);
    const CorrelateTuning effect =
        CT_ISA(correlate_effect)(&tuning, &usual, nodes[0].inputs[0].type, nodes[0].outputs[0].type,
                                 (gsize)ct_correlate_n_inputs(nodes));
    return memcmp(&effect, &tuning, sizeof effect) == 0;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Correlate *self = *state = ct_correlate_new(prepare);
    CorrelateShape *shape = self->own = g_new0(CorrelateShape, 1);
    const CorrelateTuning tuning = tuning_of(prepare->tuning);
    if (!CT_ISA(correlate_shape)(shape, self->input, self->output, (gsize)self->n_stations,
                                 (gsize)self->n_pols, &tuning)) {
        g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT, "wants other types than %s to %s",
                    ct_type_info(self->input)->name, ct_type_info(self->output)->name);
        return FALSE;
    }
    const gboolean is_two = CT_ISA(correlate_two_shape)(shape);
    self->method = (CorrelateMethod){
        .sums_bytes = shape->sums_bytes,
        .scratch_bytes = shape->scratch_bytes,
        .most_items = is_two ? MOST_ITEMS : 1,
        .accumulate = is_two ? accumulate_two : accumulate,
        .flush = is_two ? flush_two : flush,
    };
    return ct_correlate_allocate(self, prepare, error);
}

/* Cells of few inputs are half empty. Polarisations that are not contiguous are read one by one. */
static gdouble
share(const CtNode *nodes, const CtLayout *inputs, G_GNUC_UNUSED const CtLayout *outputs)
{
    const CtStream *stream = &nodes[0].inputs[0];
    const char *innermost = inputs[0].axes[inputs[0].n_axes - 1].name;
    gdouble n = (gdouble)ct_correlate_n_inputs(nodes);
    if (ct_stream_axis(stream, "pol") >= 0 && !g_str_equal(innermost, "pol"))
        n /= (gdouble)ct_stream_length(stream, "pol");
    const gdouble least = 0.4 / WORTH;
    return n <= USUAL_FEW ? least : CLAMP(PER_INPUT * n, least, 1);
}

/* Visibilities are few; they are scattered from the sums into any order. */
#define ROW(voltages, efficiency)                                                                  \
    {                                                                                              \
        "any: " TYPES voltages " -> cf32|cf64|ci64{time baseline ...}, u32{time baseline ...}",    \
            efficiency                                                                             \
    }

const CtVariant CT_ISA(ct_correlate_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"correlate", NULL},
    .rows =
        (const CtRow[]){
            ROW("[... time station pol]", 0.65 * WORTH),
            ROW("[time ... station pol]", 0.65 * WORTH),
            ROW("[... time station]", 0.45 * WORTH),
            ROW("[time ... station]", 0.45 * WORTH),
            ROW("[... time beam pol]", 0.65 * WORTH),
            ROW("[time ... beam pol]", 0.65 * WORTH),
            ROW("[... time beam]", 0.45 * WORTH),
            ROW("[time ... beam]", 0.45 * WORTH),
            {NULL},
        },
    .share = share,
    .tunables = tunables,
    .differs = differs,
    .split = "*",
    .prepare = prepare,
    .work = ct_correlate_work,
    .finish = ct_correlate_finish,
};
