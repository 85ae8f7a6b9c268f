/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of cuFFT, opened at run time.
 *
 * A plan is for batches of one length, but a firing may have any length. So there is a plan for the
 * longest batch, and one for each power of two below. A full firing is one execution, and any other
 * firing a few. The last execution may begin among transforms that are already done and do some of
 * them again, which costs less than many short executions. */
#include "fft-cufft.h"

/* cuFFT's interface, as its documentation gives it; names of constants with FFT_ in front. */
typedef int CufftHandle;
typedef int CufftResult;
enum { FFT_CUFFT_SUCCESS = 0, FFT_CUFFT_ALLOC_FAILED = 2 };
enum {
    FFT_CUFFT_C2C = 0x29,
    FFT_CUFFT_R2C = 0x2a,
    FFT_CUFFT_Z2Z = 0x69,
    FFT_CUFFT_D2Z = 0x6a,
};
enum { FFT_CUFFT_FORWARD = -1, FFT_CUFFT_INVERSE = 1 };

#define FUNCTIONS(F)                                                                               \
    F(create, cufftCreate, (CufftHandle * plan))                                                   \
    F(destroy, cufftDestroy, (CufftHandle plan))                                                   \
    F(set_auto_allocation, cufftSetAutoAllocation, (CufftHandle plan, int automatic))              \
    F(make_plan, cufftMakePlanMany64,                                                              \
      (CufftHandle plan, int rank, long long *n, long long *in_embed, long long in_step,           \
       long long in_apart, long long *out_embed, long long out_step, long long out_apart,          \
       int type, long long batch, size_t *work_bytes))                                             \
    F(set_work_area, cufftSetWorkArea, (CufftHandle plan, void *work_area))                        \
    F(set_stream, cufftSetStream, (CufftHandle plan, void *stream))                                \
    F(c2c, cufftExecC2C, (CufftHandle plan, void *in, void *out, int direction))                   \
    F(z2z, cufftExecZ2Z, (CufftHandle plan, void *in, void *out, int direction))                   \
    F(r2c, cufftExecR2C, (CufftHandle plan, void *in, void *out))                                  \
    F(d2z, cufftExecD2Z, (CufftHandle plan, void *in, void *out))

#define MEMBER(name, symbol, arguments) CufftResult(*name) arguments;
#define SYMBOL(name, symbol, arguments) #symbol,

typedef struct {
    FUNCTIONS(MEMBER)
} Functions;

static const char *const symbols[] = {FUNCTIONS(SYMBOL)};

static const struct {
    CufftResult result;
    const char *words;
} messages[] = {
    {1, "the plan is invalid"},
    {2, "it could not allocate memory"},
    {3, "the type is not supported"},
    {4, "a value is invalid"},
    {5, "the driver or the library failed"},
    {6, "the transform could not be executed on the device"},
    {7, "the library could not be initialised"},
    {8, "the length is not supported"},
    {9, "the data are not aligned"},
    {11, "the device is not that of the plan"},
    {13, "there is no work area"},
    {14, "it is not implemented"},
    {16, "it is not supported"},
    {17, "another library is missing"},
    {18, "the run-time compiler failed"},
    {19, "the run-time linker failed"},
};

/* Powers of two up to 2⁶². */
#define MAX_PLANS 64

typedef struct {
    CufftHandle handle;
    gint64 n_units;
    gboolean uses_work_area;
} Plan;

struct FftCufft {
    Functions cufft;
    FftDesign design;
    FftSeries series;
    gsize in_bytes, out_bytes; /* of a unit's distance */
    Plan plans[MAX_PLANS];     /* the longest first */
    guint n_plans;
    gpointer stream, work_area;
    gboolean attached;
};

static gboolean
check(CufftResult result, GError **error, const char *doing, gint64 n_transforms, gint64 length)
{
    if (result == FFT_CUFFT_SUCCESS)
        return TRUE;
    const char *words = "it has no words for it";
    for (guint i = 0; i < G_N_ELEMENTS(messages); i++)
        if (messages[i].result == result)
            words = messages[i].words;
    g_set_error(error, CT_ERROR,
                result == FFT_CUFFT_ALLOC_FAILED ? CT_ERROR_MEMORY : CT_ERROR_DEVICE,
                "cuFFT fails %s %" G_GINT64_FORMAT " transforms of %" G_GINT64_FORMAT
                " samples: %s (error %d)",
                doing, n_transforms, length, words, result);
    return FALSE;
}

static int
transform_type(const FftDesign *design)
{
    if (design->real)
        return design->wide ? FFT_CUFFT_D2Z : FFT_CUFFT_R2C;
    return design->wide ? FFT_CUFFT_Z2Z : FFT_CUFFT_C2C;
}

static gboolean
add_plan(FftCufft *self, gint64 n_units, gsize *work_bytes, GError **error)
{
    static const char doing[] = "planning";
    const FftSeries *series = &self->series;
    const gint64 batch = n_units * series->unit;
    long long n = self->design.length;
    /* The library looks at the steps only if it is given these. Their values mean nothing for
     * transforms of one dimension. */
    long long in_embed = n, out_embed = self->design.out_length;
    CufftHandle handle;
    size_t bytes = 0;

    if (!check(self->cufft.create(&handle), error, doing, batch, n))
        return FALSE;
    Plan *plan = &self->plans[self->n_plans++];
    *plan = (Plan){.handle = handle, .n_units = n_units};
    if (!check(self->cufft.set_auto_allocation(handle, 0), error, doing, batch, n) ||
        !check(self->cufft.make_plan(handle, 1, &n, &in_embed, series->step_in, series->apart_in,
                                     &out_embed, series->step_out, series->apart_out,
                                     transform_type(&self->design), batch, &bytes),
               error, doing, batch, n))
        return FALSE;
    plan->uses_work_area = bytes > 0;
    *work_bytes = MAX(*work_bytes, bytes);
    return TRUE;
}

FftCufft *
ct_fft_cufft_new(CtDevice *device, const FftDesign *design, const FftSeries *series,
                 gsize *work_bytes, GError **error)
{
    FftCufft *self = g_new0(FftCufft, 1);
    gsize bytes = 0;
    gint64 power = 1;

    self->design = *design;
    self->series = *series;
    const gsize part = design->wide ? sizeof(gdouble) : sizeof(float);
    self->in_bytes = (gsize)(series->apart_in * series->unit) * (design->real ? part : 2 * part);
    self->out_bytes = (gsize)(series->apart_out * series->unit) * 2 * part;

    gboolean good = ct_device_library(device, "cufft", symbols, G_N_ELEMENTS(symbols),
                                      (gpointer *)&self->cufft, error) &&
                    add_plan(self, series->most, &bytes, error);
    while (2 * power < series->most)
        power *= 2;
    for (; good && power > 0 && power < series->most; power /= 2)
        good = add_plan(self, power, &bytes, error);
    if (!good) {
        ct_fft_cufft_free(self);
        return NULL;
    }
    *work_bytes = bytes;
    return self;
}

void
ct_fft_cufft_free(FftCufft *self)
{
    if (self == NULL)
        return;
    for (guint i = 0; i < self->n_plans; i++)
        self->cufft.destroy(self->plans[i].handle);
    g_free(self);
}

gboolean
ct_fft_cufft_attach(FftCufft *self, gpointer stream, gpointer work_area, GError **error)
{
    static const char doing[] = "attaching";
    const gint64 unit = self->series.unit, length = self->design.length;
    const gboolean moves = !self->attached || self->stream != stream;
    const gboolean works = !self->attached || self->work_area != work_area;

    self->attached = FALSE;
    for (guint i = 0; i < self->n_plans; i++) {
        const Plan *plan = &self->plans[i];
        if (moves && !check(self->cufft.set_stream(plan->handle, stream), error, doing,
                            plan->n_units * unit, length))
            return FALSE;
        if (works && plan->uses_work_area &&
            !check(self->cufft.set_work_area(plan->handle, work_area), error, doing,
                   plan->n_units * unit, length))
            return FALSE;
    }
    self->stream = stream;
    self->work_area = work_area;
    self->attached = TRUE;
    return TRUE;
}

static CufftResult
execute(const FftCufft *self, const Plan *plan, void *in, void *out)
{
    const Functions *cufft = &self->cufft;
    const FftDesign *design = &self->design;
    const int direction = design->inverse ? FFT_CUFFT_INVERSE : FFT_CUFFT_FORWARD;

    if (design->real)
        return (design->wide ? cufft->d2z : cufft->r2c)(plan->handle, in, out);
    return (design->wide ? cufft->z2z : cufft->c2c)(plan->handle, in, out, direction);
}

/* The plan for the next of `n` units, of which `left` are left. It is the longest plan that does
 * not go beyond them. It is the shortest plan that does them all if that does few units again and
 * `again` allows it: units that are transformed in place cannot be done twice. */
static const Plan *
choose_plan(const FftCufft *self, gint64 n, gint64 left, gboolean again)
{
    guint i = 0;

    while (self->plans[i].n_units > left)
        i++;
    if (again && i > 0 && self->plans[i].n_units < left && self->plans[i - 1].n_units <= n) {
        const gint64 anew = self->plans[i - 1].n_units - left;
        if (anew <= left / 4 || anew <= n / 16)
            i--;
    }
    return &self->plans[i];
}

gboolean
ct_fft_cufft_execute(FftCufft *self, gconstpointer in, gpointer out, gint64 n_units, GError **error)
{
    for (gint64 left = n_units; left > 0;) {
        const Plan *plan = choose_plan(self, n_units, left, in != out);
        const gint64 first = MIN(n_units - left, n_units - plan->n_units);
        const guint8 *from = (const guint8 *)in + (gsize)first * self->in_bytes;
        guint8 *to = (guint8 *)out + (gsize)first * self->out_bytes;
        /* cuFFT takes no const. A forward or complex transform that is not in place only reads its
         * input. */
        if (!check(execute(self, plan, (void *)from, to), error, "executing",
                   plan->n_units * self->series.unit, self->design.length))
            return FALSE;
        left = n_units - first - plan->n_units;
    }
    return TRUE;
}
