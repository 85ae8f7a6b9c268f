/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and runs FFTW's plans, and keeps its wisdom. */
#include "fft-plan.h"

#include <fftw3.h>

/* Seconds that FFTW may measure. It then takes the best plan that it has found. */
#define PLAN_SECONDS 10.0

struct FftPlan {
    gboolean wide;
    gboolean real;
    fftwf_plan single_plan;
    fftw_plan double_plan;
};

/* FFTW's planner, and the wisdom in it, belong to the process and must not be used by two threads
 * at a time. */
#define PLANNER "fftw"

static void *
make(const FftDesign *design, int n_batch, void *in, void *out, unsigned flags)
{
    int n = (int)design->length, m = (int)design->out_length;
    int sign = design->inverse ? FFTW_BACKWARD : FFTW_FORWARD;

    if (design->wide && design->real)
        return fftw_plan_many_dft_r2c(1, &n, n_batch, in, NULL, 1, n, out, NULL, 1, m, flags);
    if (design->wide)
        return fftw_plan_many_dft(1, &n, n_batch, in, NULL, 1, n, out, NULL, 1, m, sign, flags);
    if (design->real)
        return fftwf_plan_many_dft_r2c(1, &n, n_batch, in, NULL, 1, n, out, NULL, 1, m, flags);
    return fftwf_plan_many_dft(1, &n, n_batch, in, NULL, 1, n, out, NULL, 1, m, sign, flags);
}

/* The name has the machine's name in it, since wisdom is true for one machine and several may share
 * a home directory. */
static char *
wisdom_path(gboolean wide)
{
    g_autofree char *name =
        g_strdup_printf("fftw-%s-%s.wisdom", wide ? "double" : "single", g_get_host_name());

    g_autofree char *cache = ct_cache_folder();
    return g_build_filename(cache, name, NULL);
}

/* Adds the file's wisdom to FFTW's. A file that is missing or damaged adds nothing. */
static void
read_wisdom(gboolean wide)
{
    g_autofree char *path = wisdom_path(wide);
    g_autofree char *text = NULL;

    if (!g_file_get_contents(path, &text, NULL, NULL))
        return;
    if (wide)
        fftw_import_wisdom_from_string(text);
    else
        fftwf_import_wisdom_from_string(text);
}

/* Replaces the file by FFTW's wisdom and what other processes have added to the file meanwhile. A
 * failure is no error: the next run plans again. */
static void
write_wisdom(gboolean wide)
{
    g_autofree char *path = wisdom_path(wide);
    g_autofree char *folder = g_path_get_dirname(path);

    read_wisdom(wide);
    char *text = wide ? fftw_export_wisdom_to_string() : fftwf_export_wisdom_to_string();
    if (text != NULL && g_mkdir_with_parents(folder, 0700) == 0)
        g_file_set_contents(path, text, -1, NULL);
    free(text);
}

FftPlan *
ct_fft_plan_new(const FftDesign *design, gint64 n_batch, gboolean guess, GError **error)
{
    gsize part = design->wide ? sizeof(double) : sizeof(float);
    gsize in_bytes = (gsize)(n_batch * design->length) * part * (design->real ? 1 : 2);
    gsize out_bytes = (gsize)(n_batch * design->out_length) * part * 2;
    void *in = fftw_malloc(in_bytes), *out = fftw_malloc(out_bytes);
    void *made = NULL;

    if (in != NULL && out != NULL) {
        ct_library_lock(PLANNER);
        if (guess)
            made = make(design, (int)n_batch, in, out, FFTW_ESTIMATE);
        if (made == NULL)
            made = make(design, (int)n_batch, in, out, FFTW_MEASURE | FFTW_WISDOM_ONLY);
        if (made == NULL) {
            read_wisdom(design->wide);
            made = make(design, (int)n_batch, in, out, FFTW_MEASURE | FFTW_WISDOM_ONLY);
        }
        if (made == NULL) {
            fftw_set_timelimit(PLAN_SECONDS);
            fftwf_set_timelimit(PLAN_SECONDS);
            made = make(design, (int)n_batch, in, out, FFTW_MEASURE);
            write_wisdom(design->wide);
        }
        ct_library_unlock(PLANNER);
    }
    fftw_free(in);
    fftw_free(out);
    if (made == NULL) {
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "wants a plan and memory for %" G_GINT64_FORMAT
                    " transforms of %" G_GINT64_FORMAT " samples, but FFTW gives none",
                    n_batch, design->length);
        return NULL;
    }

    FftPlan *plan = g_new0(FftPlan, 1);
    plan->wide = design->wide;
    plan->real = design->real;
    if (design->wide)
        plan->double_plan = made;
    else
        plan->single_plan = made;
    return plan;
}

void
ct_fft_plan_free(FftPlan *plan)
{
    if (plan == NULL)
        return;
    ct_library_lock(PLANNER);
    if (plan->wide)
        fftw_destroy_plan(plan->double_plan);
    else
        fftwf_destroy_plan(plan->single_plan);
    ct_library_unlock(PLANNER);
    g_free(plan);
}

gboolean
ct_fft_plan_is_aligned(gsize address)
{
    return fftwf_alignment_of(GSIZE_TO_POINTER(address)) == 0 &&
           fftw_alignment_of(GSIZE_TO_POINTER(address)) == 0;
}

void
ct_fft_plan_execute(const FftPlan *plan, const void *in, void *out)
{
    /* FFTW takes no const; out of place and without FFTW_DESTROY_INPUT it does not write `in`. */
    if (plan->wide && plan->real)
        fftw_execute_dft_r2c(plan->double_plan, (double *)in, out);
    else if (plan->wide)
        fftw_execute_dft(plan->double_plan, (fftw_complex *)in, out);
    else if (plan->real)
        fftwf_execute_dft_r2c(plan->single_plan, (float *)in, out);
    else
        fftwf_execute_dft(plan->single_plan, (fftwf_complex *)in, out);
}
