/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms of many lengths against sums in double precision, at every alignment of the blocks.
 *
 * CORNERTURN_LENGTHS says how many random lengths are tried besides those that are always tried, or
 * which part of all (some 6,000) lengths is tried, in all types: 3/16 is the third of sixteen
 * parts. */
#include "../../tests/variant-test.h"

#include <complex.h>
#include <math.h>

enum { N_STATIONS = 2, N_SIGNALS = 2, N_DRAWN = 8, N_OTHERS = 100, LONGEST = 65536 };

static const CtType types[] = {CT_F32, CT_CF32, CT_F64, CT_CF64};

/* Lengths that are always tried; with some, a real transform has an odd number of channels, or a
 * complex one an odd length. */
static const gint64 usual_lengths[] = {1, 2, 5, 16, 135, 683, 1001, 2048, 2187, 2500, 4096, 8192};

/* Orders in which the samples of a transform are adjacent in both blocks, in one, or in none. */
static const char *const orders[][2] = {
    {"time station phase", "time station channel"},
    {"time station phase", "channel time station"},
    {"phase time station", "time station channel"},
    {"phase time station", "channel time station"},
};

/* Real signals of one length and their transforms. The samples of all problems are sums of
 * these. */
typedef struct {
    gint64 length;
    gdouble *x[N_SIGNALS];
    double complex *y[N_SIGNALS];
} Signals;

/* Transforms of one length: [time][station][sample], and [time][station][channel]. */
typedef struct {
    CtType type;
    gint64 length, out_length, n_times;
    double complex *x, *y;
} Problem;

/* ---- the sums ---- */

/* y[k] = Σ_j x[j · step] turns[j k N/n mod N], 0 ≤ j, k < n, by the factors of n. */
static void
sums(const double complex *x, gint64 step, double complex *y, gint64 n, const double complex *turns,
     gint64 n_turns)
{
    gint64 factor = 2;

    if (n == 1) {
        y[0] = x[0];
        return;
    }
    while (n % factor != 0)
        factor++;
    const gint64 m = n / factor;
    g_autofree double complex *parts = g_new(double complex, n);
    for (gint64 r = 0; r < factor; r++)
        sums(x + r * step, step * factor, parts + r * m, m, turns, n_turns);
    for (gint64 k = 0; k < n; k++) {
        const gint64 turn = n_turns / n * k;
        gint64 at = 0;
        y[k] = 0;
        for (gint64 r = 0; r < factor; r++) {
            y[k] += turns[at] * parts[r * m + k % m];
            at += turn;
            at -= at >= n_turns ? n_turns : 0;
        }
    }
}

static void
signals_init(Signals *signals, gint64 length, GRand *random)
{
    g_autofree double complex *turns = g_new(double complex, length);
    g_autofree double complex *x = g_new(double complex, length);

    signals->length = length;
    for (gint64 i = 0; i < length; i++)
        turns[i] = cexp(-2 * G_PI * I * (gdouble)i / (gdouble)length);
    for (guint s = 0; s < N_SIGNALS; s++) {
        signals->x[s] = g_new(gdouble, length);
        signals->y[s] = g_new(double complex, length);
        /* The values have sixteen bits, so that sums of a few are exact in single precision. */
        for (gint64 i = 0; i < length; i++)
            x[i] = signals->x[s][i] = g_rand_int_range(random, -0x8000, 0x8000) * 0x1p-16;
        sums(x, 1, signals->y[s], length, turns, length);
    }
}

static void
signals_clear(Signals *signals)
{
    for (guint s = 0; s < N_SIGNALS; s++) {
        g_free(signals->x[s]);
        g_free(signals->y[s]);
    }
}

/* A factor from ±1/8 to ±4/8; the sum of two signals times such factors is at most 0.5. */
static gdouble
factor_draw(GRand *random)
{
    const gdouble size = g_rand_int_range(random, 1, 5) / 8.0;

    return g_rand_boolean(random) ? size : -size;
}

/* Makes the samples of each transform a random sum of the signals; its expected output is then the
 * same sum of their transforms. */
static void
problem_init(Problem *problem, CtType type, const Signals *signals, GRand *random)
{
    const CtTypeInfo *info = ct_type_info(type);
    const gint64 length = signals->length;
    const gint64 out_length = info->is_complex ? length : length / 2 + 1;
    /* More than the transforms of a batch. */
    const gint64 n_times = 16384 / (length * (gint64)info->bytes) + 3;

    *problem = (Problem){type, length, out_length, MIN(n_times, 131), NULL, NULL};
    const gint64 n = problem->n_times * N_STATIONS;
    problem->x = g_new0(double complex, n *length);
    problem->y = g_new0(double complex, n *out_length);
    for (gint64 k = 0; k < n; k++)
        for (guint s = 0; s < N_SIGNALS; s++) {
            double complex factor = factor_draw(random);
            if (info->is_complex)
                factor += I * factor_draw(random);
            for (gint64 i = 0; i < length; i++)
                problem->x[k * length + i] += factor * signals->x[s][i];
            for (gint64 i = 0; i < out_length; i++)
                problem->y[k * out_length + i] += factor * signals->y[s][i];
        }
}

static void
problem_clear(Problem *problem)
{
    g_free(problem->x);
    g_free(problem->y);
}

/* ---- blocks ---- */

/* A block that begins `offset` bytes after a multiple of a cache line; *memory must be freed. */
static CtBlock
block_new(const CtStream *stream, const char *axes, gint64 n_times, gsize offset, guint8 **memory)
{
    CtBlock block = variant_test_block(stream, axes, n_times, 0, 0xff);
    const gsize bytes = ct_block_span(&block);

    g_aligned_free(block.data);
    *memory = g_aligned_alloc(bytes + 64, 1, 64);
    memset(*memory, 0xff, bytes + 64);
    block.data = *memory + offset;
    return block;
}

/* Steps along time, station and the axis of the transform. */
typedef struct {
    gint64 time, station, axis;
} Steps;

static Steps
block_steps(const CtBlock *block, const char *axes, const char *axis)
{
    const CtLayout layout = variant_test_layout(block->type, axes);

    return (Steps){block->stride[ct_layout_axis(&layout, "time")],
                   block->stride[ct_layout_axis(&layout, "station")],
                   block->stride[ct_layout_axis(&layout, axis)]};
}

static void
put(guint8 *at, CtType type, double complex value)
{
    const float single[2] = {(float)creal(value), (float)cimag(value)};
    const gdouble wide[2] = {creal(value), cimag(value)};

    if (ct_type_info(type)->part_bits == 64)
        memcpy(at, wide, ct_type_info(type)->bytes);
    else
        memcpy(at, single, ct_type_info(type)->bytes);
}

static double complex
get(const guint8 *at, CtType type)
{
    float single[2];
    gdouble wide[2];

    if (type == CT_CF64) {
        memcpy(wide, at, sizeof wide);
        return wide[0] + I * wide[1];
    }
    memcpy(single, at, sizeof single);
    return single[0] + I * (gdouble)single[1];
}

static void
fill(const Problem *problem, const CtBlock *in, const char *axes)
{
    const Steps steps = block_steps(in, axes, "phase");
    const double complex *x = problem->x;

    for (gint64 t = 0; t < problem->n_times; t++)
        for (gint64 s = 0; s < N_STATIONS; s++)
            for (gint64 i = 0; i < problem->length; i++)
                put(in->data + t * steps.time + s * steps.station + i * steps.axis, problem->type,
                    *x++);
}

/* The first difference from the expected output of which a part is above `most` or not a number; 0:
 * there is none. */
static gdouble
find_difference(const Problem *problem, const CtBlock *out, const char *axes, gdouble most)
{
    const Steps steps = block_steps(out, axes, "channel");
    const double complex *y = problem->y;

    for (gint64 t = 0; t < problem->n_times; t++)
        for (gint64 s = 0; s < N_STATIONS; s++)
            for (gint64 c = 0; c < problem->out_length; c++) {
                const guint8 *at = out->data + t * steps.time + s * steps.station + c * steps.axis;
                const double complex off = get(at, out->type) - *y++;
                if (!(fabs(creal(off)) <= most && fabs(cimag(off)) <= most))
                    return cabs(off);
            }
    return 0;
}

/* ---- the test ---- */

/* Compares all outputs of blocks that begin `in_offset` and `out_offset` bytes after a cache
 * line. */
static void
check_at(const VariantTest *test, const CtVariant *variant, const Problem *problem,
         const char *const order[2], gsize in_offset, gsize out_offset)
{
    const gdouble n = (gdouble)problem->length;
    /* The bound is as in test-fft.c: log2 n levels, each of which has an error of a few ulps of the
     * norm. */
    const gdouble unit = ct_type_info(test->out.type)->part_bits == 64 ? 0x1p-53 : 0x1p-24;
    const gdouble most = 4 * unit * (2 + 2 * log2(n)) * 0.5 * n;
    guint8 *in_memory, *out_memory;
    CtBlock in = block_new(&test->in, order[0], problem->n_times, in_offset, &in_memory);
    CtBlock out = block_new(&test->out, order[1], problem->n_times, out_offset, &out_memory);

    fill(problem, &in, order[0]);
    variant_test_run(test, variant, order[0], &in, order[1], &out, 1, &problem->n_times, 1);
    const gdouble off = find_difference(problem, &out, order[1], most);
    if (off != 0)
        g_error("%s of %" G_GINT64_FORMAT " samples of %s, [%s] -> [%s], %zu and %zu bytes behind "
                "a line: off by %g",
                variant->name, problem->length, ct_type_info(problem->type)->name, order[0],
                order[1], in_offset, out_offset, off);
    g_aligned_free(in_memory);
    g_aligned_free(out_memory);
}

/* Checks one order, at all alignments if transforms are adjacent. */
static void
check_order(const VariantTest *test, const CtVariant *variant, const Problem *problem, guint o)
{
    const gsize part = ct_type_info(problem->type)->part_bits / 8;

    for (gsize i = 0; i < 16; i += part)
        for (gsize j = 0; j < 16; j += part)
            if (o == 0 || i == j)
                check_at(test, variant, problem, orders[o], i, j);
}

static void
check_type(CtType type, const Signals *signals, GRand *random)
{
    g_autofree char *axes = NULL;
    Problem problem;

    problem_init(&problem, type, signals, random);
    axes = g_strdup_printf("time:%" G_GINT64_FORMAT " station:%d phase:%" G_GINT64_FORMAT,
                           problem.n_times, N_STATIONS, signals->length);
    VariantTest *test = variant_test_new("fft", "{ axis: phase }", type, axes);
    const GPtrArray *variants = ct_registry_variants(test->registry, "fft");
    guint n_checked = 0;
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = variants->pdata[i];
        if (variant->backend != CT_CPU || variant->covers[1] != NULL ||
            ct_registry_isa_refusal(test->registry, variant->isa))
            continue;
        for (guint o = 0; o < G_N_ELEMENTS(orders); o++)
            check_order(test, variant, &problem, o);
        n_checked++;
    }
    g_assert_cmpuint(n_checked, >, 0);
    variant_test_free(test);
    problem_clear(&problem);
}

/* Checks one length in all types, or only in type `only` unless that is negative. */
static void
check_length(gint64 length, gint only, GRand *random)
{
    Signals signals;

    g_test_message("length %" G_GINT64_FORMAT, length);
    signals_init(&signals, length, random);
    for (guint t = 0; t < G_N_ELEMENTS(types); t++)
        if (only < 0 || t == (guint)only)
            check_type(types[t], &signals, random);
    signals_clear(&signals);
}

/* All lengths up to 4096; up to 8192 those for which a real transform has an odd number of
 * channels; products of 2, 3, 5 and 7; and some others. */
static GArray *
lengths_new(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    GArray *lengths = g_array_new(FALSE, FALSE, sizeof(gint64));

    for (gint64 n = 1; n <= LONGEST; n++) {
        gint64 rest = n;
        for (gint64 factor = 2; factor <= 7; factor++)
            while (rest % factor == 0)
                rest /= factor;
        if (n <= 4096 || (n <= 8192 && n % 4 <= 1) || rest == 1)
            g_array_append_val(lengths, n);
    }
    for (guint i = 0; i < N_OTHERS; i++) {
        const gint64 n = g_rand_int_range(random, 4097, LONGEST + 1);
        g_array_append_val(lengths, n);
    }
    return lengths;
}

static void
test_usual_lengths(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(6);

    for (guint i = 0; i < G_N_ELEMENTS(usual_lengths); i++)
        check_length(usual_lengths[i], -1, random);
}

static void
check_part(const GArray *lengths, guint part, guint n_parts, GRand *random)
{
    g_assert_true(0 < part && part <= n_parts);
    for (guint i = part - 1; i < lengths->len; i += n_parts)
        check_length(((const gint64 *)(gpointer)lengths->data)[i], -1, random);
}

static void
check_drawn(GArray *lengths, guint n_wanted, GRand *random)
{
    gint64 *all = (gint64 *)(gpointer)lengths->data;

    for (guint i = 0; i < MIN(n_wanted, lengths->len); i++) {
        const gint64 k = g_rand_int_range(random, (gint32)i, (gint32)lengths->len);
        const gint64 length = all[k];
        all[k] = all[i];
        check_length(length, (gint)(i % G_N_ELEMENTS(types)), random);
    }
}

static void
test_other_lengths(void)
{
    const char *wanted = g_getenv("CORNERTURN_LENGTHS");
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)g_test_rand_int());
    g_autoptr(GArray) lengths = lengths_new();
    guint number = N_DRAWN, n_parts = 0;

    if (wanted != NULL && sscanf(wanted, "%u/%u", &number, &n_parts) == 2)
        check_part(lengths, number, n_parts, random);
    else
        check_drawn(lengths, number, random);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fft-lengths/usual", test_usual_lengths);
    g_test_add_func("/fft-lengths/others", test_other_lengths);
    return g_test_run();
}
