/* SPDX-License-Identifier: BSD-3-Clause */
/* Other libraries on the same problems. */
#include "peers.h"

#include "bench-config.h"
#include "measure/moment.h"

#include <gio/gio.h>
#include <string.h>

#ifdef HAVE_LIQUID
#include <complex.h>
#include <liquid/liquid.h>
#endif

#define SLICE_NS 60000000

/* `n` random numbers between −1 and 1. */
G_GNUC_UNUSED static gfloat *
random_floats(gsize n)
{
    gfloat *values = g_new(gfloat, n);
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (gsize i = 0; i < n; i++)
        values[i] = (gfloat)g_rand_double_range(random, -1, 1);
    return values;
}

/* ---- OpenBLAS ---- */

#ifdef HAVE_OPENBLAS

/* The Fortran interface of BLAS. */
extern void cherk_(const char *triangle, const char *transpose, const int *n, const int *k,
                   const float *alpha, const float *a, const int *lda, const float *beta, float *c,
                   const int *ldc);
extern void openblas_set_num_threads(int n);
extern char *openblas_get_corename(void);

typedef struct {
    Contender base;
    guint n_inputs, n_channels, integration;
    gfloat *voltages;     /* [channel][integration][input] complex */
    gfloat *visibilities; /* [channel][input][input] complex */
} Cherk;

static gboolean
run_cherk(Contender *contender, Rates *rates, G_GNUC_UNUSED GError **error)
{
    Cherk *cherk = (Cherk *)contender;
    const int n = (int)cherk->n_inputs, k = (int)cherk->integration;
    const float one = 1, zero = 0;
    openblas_set_num_threads((int)contender->n_threads);
    guint64 n_done = 0;
    const CtMoment from = ct_moment_of_process();
    CtMoment to = from;
    for (; to.wall - from.wall < SLICE_NS; to = ct_moment_of_process(), n_done++)
        for (guint c = 0; c < cherk->n_channels; c++)
            cherk_("L", "N", &n, &k, &one, cherk->voltages + 2 * (gsize)c * n * k, &n, &zero,
                   cherk->visibilities + 2 * (gsize)c * n * n, &n);
    const gdouble seconds = (gdouble)ct_moments_between(&from, &to, contender->n_threads) * 1e-9;
    const gdouble spectra = (gdouble)n_done * cherk->n_channels * k;
    *rates = (Rates){
        .samples = spectra * n / seconds,
        .bytes =
            (spectra * n + (gdouble)n_done * cherk->n_channels * n * (n + 1) / 2) * 8 / seconds,
        .operations = spectra * 8 * n * (n + 1) / 2 / seconds,
        .processors = (gdouble)(to.processor - from.processor) * 1e-9 / seconds,
    };
    return TRUE;
}

static void
clear_cherk(Contender *contender)
{
    Cherk *cherk = (Cherk *)contender;
    g_free(cherk->voltages);
    g_free(cherk->visibilities);
}

Contender *
peer_cherk_new(guint n_stations, guint n_channels, guint integration, guint n_threads)
{
    Cherk *cherk = g_new0(Cherk, 1);
    g_autofree char *name = g_strdup_printf("OpenBLAS cherk %u stations", n_stations);
    contender_init(&cherk->base, "peer", name, n_threads);
    cherk->base.run = run_cherk;
    cherk->base.remark = g_strdup_printf("kernels for %s", openblas_get_corename());
    cherk->base.clear = clear_cherk;
    cherk->n_inputs = 2 * n_stations;
    cherk->n_channels = n_channels;
    cherk->integration = integration;
    cherk->voltages = random_floats(2 * (gsize)n_channels * integration * cherk->n_inputs);
    cherk->visibilities = g_new0(gfloat, 2 * (gsize)n_channels * cherk->n_inputs * cherk->n_inputs);
    return &cherk->base;
}

#else

Contender *
peer_cherk_new(G_GNUC_UNUSED guint n_stations, G_GNUC_UNUSED guint n_channels,
               G_GNUC_UNUSED guint integration, G_GNUC_UNUSED guint n_threads)
{
    return NULL;
}

#endif

/* ---- liquid ---- */

#ifdef HAVE_LIQUID

typedef struct {
    Contender base;
    firpfbch_crcf bank;
    guint n_channels, n_taps, n_spectra;
    gfloat *voltages; /* [spectrum][channel] complex */
    gfloat *spectra;  /* the same */
} Firpfbch;

static gboolean
run_firpfbch(Contender *contender, Rates *rates, G_GNUC_UNUSED GError **error)
{
    Firpfbch *peer = (Firpfbch *)contender;
    guint64 n_done = 0;
    const CtMoment from = ct_moment_of_process();
    CtMoment to = from;
    for (; to.wall - from.wall < SLICE_NS; to = ct_moment_of_process(), n_done++)
        for (guint t = 0; t < peer->n_spectra; t++) {
            const gsize at = 2 * (gsize)t * peer->n_channels;
            firpfbch_crcf_analyzer_execute(peer->bank, (float complex *)(peer->voltages + at),
                                           (float complex *)(peer->spectra + at));
        }
    const gdouble seconds = (gdouble)ct_moments_between(&from, &to, 1) * 1e-9;
    const gdouble samples = (gdouble)n_done * peer->n_spectra * peer->n_channels;
    guint log2 = 0;
    while (1u << log2 < peer->n_channels)
        log2++;
    *rates = (Rates){
        .samples = samples / seconds,
        .bytes = 16 * samples / seconds,
        .operations = samples * (4 * peer->n_taps + 5 * log2) / seconds,
        .processors = (gdouble)(to.processor - from.processor) * 1e-9 / seconds,
    };
    return TRUE;
}

static void
clear_firpfbch(Contender *contender)
{
    Firpfbch *peer = (Firpfbch *)contender;
    firpfbch_crcf_destroy(peer->bank);
    g_free(peer->voltages);
    g_free(peer->spectra);
}

Contender *
peer_firpfbch_new(guint n_channels, guint n_taps)
{
    Firpfbch *peer = g_new0(Firpfbch, 1);
    contender_init(&peer->base, "peer", "liquid firpfbch", 1);
    g_autofree gfloat *taps = random_floats((gsize)n_channels * n_taps);
    peer->base.run = run_firpfbch;
    peer->base.clear = clear_firpfbch;
    peer->n_channels = n_channels;
    peer->n_taps = n_taps;
    peer->n_spectra = 64;
    peer->bank = firpfbch_crcf_create(LIQUID_ANALYZER, n_channels, n_taps, taps);
    peer->voltages = random_floats(2 * (gsize)n_channels * peer->n_spectra);
    peer->spectra = random_floats(2 * (gsize)n_channels * peer->n_spectra);
    return &peer->base;
}

#else

Contender *
peer_firpfbch_new(G_GNUC_UNUSED guint n_channels, G_GNUC_UNUSED guint n_taps)
{
    return NULL;
}

#endif

/* ---- numpy ---- */

/* The script runs a slice for every line that it reads, and answers with complex samples, seconds,
 * and processor seconds. */
typedef struct {
    Contender base;
    GSubprocess *process;
    GDataInputStream *answers;
} Numpy;

static gboolean
run_numpy(Contender *contender, Rates *rates, GError **error)
{
    Numpy *peer = (Numpy *)contender;
    GOutputStream *questions = g_subprocess_get_stdin_pipe(peer->process);
    if (!g_output_stream_write_all(questions, "\n", 1, NULL, NULL, error) ||
        !g_output_stream_flush(questions, NULL, error))
        return FALSE;
    g_autofree char *answer = g_data_input_stream_read_line(peer->answers, NULL, NULL, error);
    char *rest;
    if (!answer) {
        if (error && !*error)
            g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, "numpy_fx.py has ended");
        return FALSE;
    }
    const gdouble samples = g_ascii_strtod(answer, &rest), seconds = g_ascii_strtod(rest, &rest);
    rates->samples = samples / seconds;
    rates->processors = g_ascii_strtod(rest, NULL) / seconds;
    return TRUE;
}

static void
clear_numpy(Contender *contender)
{
    Numpy *peer = (Numpy *)contender;
    g_output_stream_close(g_subprocess_get_stdin_pipe(peer->process), NULL, NULL);
    g_subprocess_wait(peer->process, NULL, NULL);
    g_object_unref(peer->answers);
    g_object_unref(peer->process);
}

Contender *
peer_numpy_new(guint n_threads)
{
    g_autofree char *threads = g_strdup_printf("%u", n_threads);
    g_autoptr(GSubprocess) process =
        g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL,
                         BENCH_PYTHON, BENCH_NUMPY_FX, threads, NULL);
    if (!process)
        return NULL;
    Numpy *peer = g_new0(Numpy, 1);
    contender_init(&peer->base, "peer", "numpy fx-correlator", n_threads);
    peer->base.run = run_numpy;
    peer->base.clear = clear_numpy;
    peer->answers = g_data_input_stream_new(g_subprocess_get_stdout_pipe(process));
    peer->process = g_steal_pointer(&process);
    /* The first slice is a warm-up. */
    Rates rates;
    g_autoptr(GError) error = NULL;
    if (!run_numpy(&peer->base, &rates, &error))
        peer->base.failure = g_strdup(error->message);
    return &peer->base;
}
