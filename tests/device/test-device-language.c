/* SPDX-License-Identifier: BSD-3-Clause */
/* The language of kernels does on this device, a GPU or the emulator, what its documentation
 * says. */
#include "device-test.h"

#include <math.h>

#define SOURCE "/cornerturn/tests/language.cu"

static const char *const no_defines[] = {NULL};

/* ---- launches ---- */

typedef struct {
    DeviceTest test;
    gpointer memory[8];
    guint n;
} Run;

static Run *
run_new(void)
{
    Run *run = g_new0(Run, 1);
    const CtPrepare prepare = {0};
    device_test_begin(&run->test, &prepare);
    return run;
}

static void
run_free(Run *run)
{
    for (guint m = 0; m < run->n; m++)
        ct_device_free(device_test_device(), run->memory[m]);
    device_test_end(&run->test);
    g_free(run);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Run, run_free)

/* Allocates memory of the device with these contents. */
static gpointer
send(Run *run, gconstpointer data, gsize bytes)
{
    gpointer memory = device_test_alloc(bytes);
    device_test_copy(memory, data, bytes);
    run->memory[run->n++] = memory;
    return memory;
}

static void
launch_of(Run *run, const char *source, const char *name, const char *const *defines,
          const CtLaunch *wanted, gpointer *arguments)
{
    g_autoptr(GError) error = NULL;
    const CtKernelSpec spec = {
        .name = name,
        .source = source,
        .defines = defines,
        .shared_bytes = wanted->shared_bytes,
    };
    CtKernel *kernel = ct_kernel_new(device_test_device(), &spec, &error);
    g_assert_no_error(error);
    ct_queue_launch(run->test.queue, kernel, wanted, arguments, &error);
    g_assert_no_error(error);
    device_test_wait(&run->test);
    ct_kernel_free(kernel);
}

static void
launch(Run *run, const char *name, const char *const *defines, const CtLaunch *wanted,
       gpointer *arguments)
{
    launch_of(run, SOURCE, name, defines, wanted, arguments);
}

static gboolean
can(void)
{
    const char *reason;
    if (ct_devices(NULL, &reason) > 0)
        return TRUE;
    g_test_skip(reason);
    return FALSE;
}

/* ---- matrices ---- */

static gint
number_of(guint8 byte, gboolean is_signed)
{
    return is_signed ? (gint8)byte : byte;
}

static void
products_of_bytes(const char *product, gboolean a_signed, gboolean b_signed)
{
    g_autofree char *define = g_strdup_printf("PRODUCT=%s", product);
    const char *const defines[] = {define, "SUM=int", "ELEMENT=int8", NULL};
    g_autoptr(Run) run = run_new();
    guint8 a[16][32], b[32][8];
    gint32 d[16][8], expected[16][8];
    for (guint i = 0; i < 512; i++)
        a[i / 32][i % 32] = (guint8)g_test_rand_int();
    for (guint i = 0; i < 256; i++)
        b[i / 8][i % 8] = (guint8)g_test_rand_int();
    for (guint i = 0; i < 128; i++) {
        const guint row = i / 8, column = i % 8;
        d[row][column] = i == 0 ? G_MAXINT32 : g_test_rand_int();
        guint32 sum = (guint32)d[row][column];
        for (guint k = 0; k < 32; k++)
            sum += (guint32)(number_of(a[row][k], a_signed) * number_of(b[k][column], b_signed));
        expected[row][column] = (gint32)sum;
    }
    gpointer there[] = {send(run, d, sizeof d), send(run, a, sizeof a), send(run, b, sizeof b)};
    gpointer arguments[] = {&there[0], &there[1], &there[2]};
    const CtLaunch wanted = {{1, 1, 1}, {32, 1, 1}, 0};
    launch(run, "product", defines, &wanted, arguments);
    device_test_copy(d, there[0], sizeof d);
    g_assert_cmpmem(d, sizeof d, expected, sizeof expected);
}

static void
test_products_of_bytes(void)
{
    if (!can())
        return;
    products_of_bytes("ct_mma_s8", TRUE, TRUE);
    products_of_bytes("ct_mma_s8_u8", TRUE, FALSE);
    products_of_bytes("ct_mma_u8_s8", FALSE, TRUE);
    products_of_bytes("ct_mma_u8", FALSE, FALSE);
}

/* The elements are small integers: exact in half precision and in tf32, and so are their sums. */
static void
products_of_reals(const char *const *defines, guint depth)
{
    g_autoptr(Run) run = run_new();
    gint8 a[16][16], b[16][8];
    guint16 half_a[256], half_b[128];
    float real_a[256], real_b[128], d[128], expected[128];
    const gboolean half = depth == 16;
    /* The half-precision forms of small integers, as a table. */
    static const guint16 halves[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};
    for (guint i = 0; i < 16 * depth; i++) {
        const gint8 x = a[i / depth][i % depth] = (gint8)g_test_rand_int_range(-3, 4);
        half_a[i] = halves[x + 3];
        real_a[i] = x;
    }
    for (guint i = 0; i < depth * 8; i++) {
        const gint8 x = b[i / 8][i % 8] = (gint8)g_test_rand_int_range(-3, 4);
        half_b[i] = halves[x + 3];
        real_b[i] = x;
    }
    for (guint i = 0; i < 128; i++) {
        expected[i] = d[i] = (float)g_test_rand_int_range(-1000, 1000) / 8;
        for (guint k = 0; k < depth; k++)
            expected[i] += (float)(a[i / 8][k] * b[k][i % 8]);
    }
    gpointer there[] = {
        send(run, d, sizeof d),
        half ? send(run, half_a, 16 * depth * 2) : send(run, real_a, 16 * depth * 4),
        half ? send(run, half_b, 8 * depth * 2) : send(run, real_b, 8 * depth * 4),
    };
    gpointer arguments[] = {&there[0], &there[1], &there[2]};
    const CtLaunch wanted = {{1, 1, 1}, {32, 1, 1}, 0};
    launch(run, "product", defines, &wanted, arguments);
    device_test_copy(d, there[0], sizeof d);
    g_assert_cmpmem(d, sizeof d, expected, sizeof expected);
}

static void
test_product_f16(void)
{
    static const char *const defines[] = {"PRODUCT=ct_mma_f16", "SUM=float", "ELEMENT=uint16",
                                          NULL};
    if (can())
        products_of_reals(defines, 16);
}

static void
test_product_tf32(void)
{
    static const char *const defines[] = {"PRODUCT=ct_mma_tf32", "SUM=float", "ELEMENT=float",
                                          NULL};
    if (can())
        products_of_reals(defines, 8);
}

static void
test_fragments(void)
{
    if (!can())
        return;
    g_autoptr(Run) run = run_new();
    guint16 in[4][8][8];
    guint32 out[4][4][32], expected[4][4][32] = {0};
    for (guint i = 0; i < 256; i++)
        in[i / 64][i / 8 % 8][i % 8] = (guint16)i;
    for (guint f = 0; f < 4; f++)
        for (guint m = 0; m < (f % 2 ? 2 : 4); m++)
            for (guint lane = 0; lane < 32; lane++) {
                const guint i = lane / 4, j = lane % 4 * 2;
                expected[f][m][lane] = f < 2 ? in[m][i][j] | (guint32)in[m][i][j + 1] << 16
                                             : in[m][j][i] | (guint32)in[m][j + 1][i] << 16;
            }
    gpointer there[] = {send(run, out, sizeof out), send(run, in, sizeof in)};
    gpointer arguments[] = {&there[0], &there[1]};
    const CtLaunch wanted = {{1, 1, 1}, {32, 1, 1}, 0};
    launch(run, "fragments", no_defines, &wanted, arguments);
    device_test_copy(out, there[0], sizeof out);
    g_assert_cmpmem(out, sizeof out, expected, sizeof expected);
}

/* ---- shared memory, barriers, warps ---- */

static void
test_ahead(void)
{
    if (!can())
        return;
    enum { N = 20, N_WHOLE = 17 };
    g_autoptr(Run) run = run_new();
    g_autofree gint32 *in = g_new(gint32, N * 256);
    gint32 out[N][64], expected[N][64] = {0};
    for (gint i = 0; i < N * 256; i++) {
        in[i] = g_test_rand_int_range(-1000, 1000);
        if (i < N_WHOLE * 256)
            expected[i / 256][63 - i % 256 / 4] += in[i];
    }
    gint n = N, n_whole = N_WHOLE;
    gpointer there[] = {send(run, out, sizeof out), send(run, in, N * 256 * 4)};
    gpointer arguments[] = {&there[0], &there[1], &n, &n_whole};
    const CtLaunch wanted = {{1, 1, 1}, {64, 1, 1}, (gsize)3 * 64 * 16};
    launch(run, "ahead", no_defines, &wanted, arguments);
    device_test_copy(out, there[0], sizeof out);
    g_assert_cmpmem(out, sizeof out, expected, sizeof expected);
}

static void
test_small_copies(void)
{
    if (!can())
        return;
    g_autoptr(Run) run = run_new();
    const gint32 in[4] = {10, 11, 12, 13};
    const gint32 expected[5][4] = {
        {-1, 11, -1, -1}, {-1, -1, 10, 11}, {10, 11, 12, 13}, {10, 0, -1, -1}, {-1, -1, -1, 0}};
    gint32 out[5][4];
    gpointer there[] = {send(run, out, sizeof out), send(run, in, sizeof in)};
    gpointer arguments[] = {&there[0], &there[1]};
    const CtLaunch wanted = {{1, 1, 1}, {1, 1, 1}, 0};
    launch(run, "small_copies", no_defines, &wanted, arguments);
    device_test_copy(out, there[0], sizeof out);
    g_assert_cmpmem(out, sizeof out, expected, sizeof expected);
}

enum { N_WARP_THREADS = 96 - 16 };

/* Folds, by f, the values of the warp to which thread t belongs. */
static gint32
fold(const gint32 *x, guint t, gint32 (*f)(gint32 sum, gint32 x, guint lane))
{
    const guint first = t / 32 * 32, n = MIN(N_WARP_THREADS - first, 32);
    gint32 sum = x[first];
    for (guint lane = 0; lane < n; lane++)
        sum = f(lane ? sum : 0, x[first + lane], lane);
    return sum;
}

static gint32
fold_votes(gint32 sum, gint32 x, guint lane)
{
    return (gint32)((guint32)sum | (guint32)(x & 1) << lane);
}

static gint32
fold_sum(gint32 sum, gint32 x, G_GNUC_UNUSED guint lane)
{
    return sum + x;
}

static gint32
fold_most(gint32 sum, gint32 x, guint lane)
{
    return lane ? MAX(sum, x) : x;
}

static gint32
fold_xor(gint32 sum, gint32 x, G_GNUC_UNUSED guint lane)
{
    return sum ^ x;
}

static gint32
fold_seven(gint32 sum, gint32 x, G_GNUC_UNUSED guint lane)
{
    return sum || x == 7;
}

static void
test_warps(void)
{
    if (!can())
        return;
    g_autoptr(Run) run = run_new();
    gint32 x[96] = {0}, out[16][96], expected[16][96];
    memset(expected, 0xff, sizeof expected);
    for (guint t = 0; t < N_WARP_THREADS; t++)
        x[t] = g_test_rand_int_range(1, 12) + (t >= 64 ? 10 : 0);
    for (guint t = 0; t < N_WARP_THREADS; t++) {
        const guint w = t / 32 * 32, lane = t % 32;
        const gint32 values[] = {
            x[w + (lane & 16) + (lane + 5) % 16],
            lane < 3 ? x[t] : x[t - 3],
            lane % 8 < 3 ? x[t] : x[t - 3],
            t >= 64         ? 0
            : lane + 7 < 32 ? x[t + 7]
                            : x[t],
            lane % 4 + 2 < 4 ? x[t + 2] : x[t],
            x[w + (lane ^ 9)],
            (lane ^ 5) > (lane | 3) ? x[t] : x[w + (lane ^ 5)],
            fold(x, t, fold_votes),
            fold(x, t, fold_seven),
            TRUE,
            fold(x, t, fold_sum),
            fold(x, t, fold_most),
            fold(x, t, fold_xor),
            x[w + 3] / 2,
            x[w + 4],
            lane % 2 ? x[t] + x[w + (lane ^ 2)] + x[w + (lane ^ 4)] + x[w + (lane ^ 6)]
                     : x[t] - x[w + (lane ^ 2)],
        };
        for (guint i = 0; i < 16; i++)
            expected[i][t] = values[i];
    }
    memset(out, 0xff, sizeof out);
    gpointer there[] = {send(run, out, sizeof out), send(run, x, sizeof x)};
    gpointer arguments[] = {&there[0], &there[1]};
    const CtLaunch wanted = {{1, 1, 1}, {N_WARP_THREADS, 1, 1}, 0};
    launch(run, "warps", no_defines, &wanted, arguments);
    device_test_copy(out, there[0], sizeof out);
    for (guint i = 0; i < 16; i++)
        for (guint t = 0; t < N_WARP_THREADS; t++)
            g_assert_cmpint(out[i][t], ==, expected[i][t]);
}

static void
test_blocks(void)
{
    if (!can())
        return;
    enum { N = 240 };
    static const guint shapes[][3] = {{240, 1, 1}, {5, 48, 1}, {10, 6, 4}};
    for (guint s = 0; s < G_N_ELEMENTS(shapes); s++) {
        g_autoptr(Run) run = run_new();
        gint32 x[N], out[6][N], expected[6][N], odd = 0;
        for (guint t = 0; t < N; t++) {
            x[t] = g_test_rand_int_range(8, 100);
            odd += x[t] & 1;
        }
        for (guint t = 0; t < N; t++) {
            const gint32 values[] = {x[N - 1 - t], FALSE,          TRUE,
                                     odd,          x[(t + 1) % N], t % 3 ? x[t] + 1 : -1};
            for (guint i = 0; i < 6; i++)
                expected[i][t] = values[i];
        }
        memset(out, 0xff, sizeof out);
        gpointer there[] = {send(run, out, sizeof out), send(run, x, sizeof x)};
        gpointer arguments[] = {&there[0], &there[1]};
        const CtLaunch wanted = {{1, 1, 1}, {shapes[s][0], shapes[s][1], shapes[s][2]}, sizeof x};
        launch(run, "blocks", no_defines, &wanted, arguments);
        device_test_copy(out, there[0], sizeof out);
        for (guint t = 0; t < N; t++) {
            out[1][t] = out[1][t] != 0;
            out[2][t] = out[2][t] != 0;
        }
        g_assert_cmpmem(out, sizeof out, expected, sizeof expected);
    }
}

static void
test_atomics(void)
{
    if (!can())
        return;
    enum { N = 7 * 96 };
    g_autoptr(Run) run = run_new();
    gint32 sums[7] = {0}, parity = 0;
    guint64 wide[2] = {0};
    float real = 0;
    double fine = 0;
    guint32 turns = 0;
    gpointer there[] = {send(run, sums, sizeof sums), send(run, wide, sizeof wide),
                        send(run, &real, sizeof real), send(run, &fine, sizeof fine),
                        send(run, &turns, sizeof turns)};
    gpointer arguments[] = {&there[0], &there[1], &there[2], &there[3], &there[4]};
    const CtLaunch wanted = {{7, 1, 1}, {96, 1, 1}, 0};
    launch(run, "atomics", no_defines, &wanted, arguments);
    device_test_copy(sums, there[0], sizeof sums);
    device_test_copy(wide, there[1], sizeof wide);
    device_test_copy(&real, there[2], sizeof real);
    device_test_copy(&fine, there[3], sizeof fine);
    device_test_copy(&turns, there[4], sizeof turns);
    for (gint i = 0; i < N; i++)
        parity ^= i;
    g_assert_cmpint(sums[0], ==, N * (N - 1) / 2);
    g_assert_cmpint(sums[1], ==, N - 1);
    g_assert_cmpint(sums[2], ==, 1 - N);
    g_assert_cmpint(sums[3], ==, G_MAXINT32);
    g_assert_cmpint(sums[4], ==, parity);
    g_assert_cmpint(sums[5], ==, -N);
    g_assert_cmpint(sums[6], ==, 2 * N);
    g_assert_cmpuint(wide[0], ==, (guint64)N << 33);
    g_assert_cmpuint(wide[1], ==, (guint64)(N - 1) << 34);
    g_assert_cmpfloat(real, ==, 0.5f * N);
    g_assert_cmpfloat(fine, ==, 0.25 * N);
    g_assert_cmpuint(turns, ==, N % 10);
}

/* ---- numbers ---- */

static guint32
reversed(guint32 x)
{
    guint32 y = 0;
    for (guint b = 0; b < 32; b++)
        y |= (x >> b & 1) << (31 - b);
    return y;
}

static guint32
permuted(guint32 x, guint32 y, guint32 selector)
{
    guint32 result = 0;
    for (guint b = 0; b < 4; b++) {
        const guint s = selector >> 4 * b & 15;
        const guint32 byte = (s & 7) < 4 ? x >> 8 * (s & 3) & 0xff : y >> 8 * (s & 3) & 0xff;
        result |= byte << 8 * b;
    }
    return result;
}

static guint32
dot(guint32 x, guint32 y, gboolean is_signed)
{
    guint32 sum = x;
    for (guint b = 0; b < 32; b += 8)
        sum += is_signed ? (guint32)((gint8)(x >> b) * (gint8)(y >> b))
                         : (x >> b & 0xff) * (y >> b & 0xff);
    return sum;
}

static void
test_integers(void)
{
    if (!can())
        return;
    guint32 n = 1000;
    g_autoptr(Run) run = run_new();
    g_autofree guint32 *in = g_new(guint32, 2 * n), *out = g_new(guint32, 16 * n);
    for (guint i = 0; i < 2 * n; i++)
        in[i] = i < 3 ? (guint32[]){0, G_MAXUINT32, 1U << 31}[i]
                      : (guint32)g_test_rand_int() >> g_test_rand_int_range(0, 32);
    gpointer there[] = {send(run, out, 16 * n * sizeof *out), send(run, in, 2 * n * sizeof *in)};
    gpointer arguments[] = {&there[0], &there[1], &n};
    const CtLaunch wanted = {{(n + 127) / 128, 1, 1}, {128, 1, 1}, 0};
    launch(run, "integers", no_defines, &wanted, arguments);
    device_test_copy(out, there[0], 16 * n * sizeof *out);
    for (guint i = 0; i < n; i++) {
        const guint32 x = in[i], y = in[n + i], shift = y & 31;
        const gint32 x24 = (gint32)(x << 8) >> 8, y24 = (gint32)(y << 8) >> 8;
        const gint64 distance = (gint64)(gint32)x - (gint32)y;
        const guint32 expected[16] = {
            (guint32)__builtin_popcount(x),
            x ? (guint32)__builtin_clz(x) : 32,
            reversed(x),
            (guint32)__builtin_ffs((gint32)x),
            permuted(x, y, y >> 8),
            (guint32)(((guint64)y << 32 | x) << shift >> 32),
            (guint32)(((guint64)y << 32 | x) >> shift),
            (y & 63) >= 32 ? x : (guint32)(((guint64)y << 32 | x) << shift >> 32),
            (guint32)((guint64)x * y >> 32),
            (guint32)((gint64)(gint32)x * (gint32)y >> 32),
            dot(x, y, TRUE),
            dot(x, y, FALSE),
            MIN(x, y) ^ (guint32)MAX((gint32)x, (gint32)y),
            reversed(y),
            (guint32)x24 * (guint32)y24,
            x + (guint32)ABS(distance),
        };
        for (guint k = 0; k < 16; k++)
            if (out[16 * i + k] != expected[k])
                g_error("integers %u of %08x and %08x: %08x, expected %08x", k, x, y,
                        out[16 * i + k], expected[k]);
    }
}

/* A float rounded to half precision, to nearest even. */
static guint16
half_of(float x)
{
    const guint16 sign = signbit(x) ? 0x8000 : 0;
    const double size = fabs((double)x);
    if (isnan(x))
        return 0x7fff;
    int exponent = 0;
    frexp(size, &exponent);
    const double unit = ldexp(1, MAX(exponent - 11, -24)), rounded = nearbyint(size / unit) * unit;
    if (rounded >= 65536)
        return sign | 0x7c00;
    if (rounded < ldexp(1, -14))
        return (guint16)(sign | (guint16)(rounded * ldexp(1, 24)));
    frexp(rounded, &exponent);
    return (guint16)(sign | ((exponent + 14) << 10) |
                     ((guint16)(rounded * ldexp(1, 11 - exponent)) & 0x3ff));
}

static double
value_of_half(guint16 bits)
{
    const guint exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent     ? ldexp(1024 + fraction, (gint)exponent - 25)
                                       : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

static double
saturated(double x, double least, double most)
{
    return isnan(x) ? 0 : CLAMP(x, least, most);
}

static float
float_of(guint32 bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void
check_conversions(guint32 bits, const guint32 *out)
{
    const float x = float_of(bits);
    g_assert_cmphex(out[0], ==, half_of(x));
    const double of_half = value_of_half((guint16)bits);
    g_assert_true(isnan(of_half) ? isnan(float_of(out[1])) : of_half == float_of(out[1]));
    if (isfinite(x) && fabsf(x) < 0x1p127f) {
        int exponent = 0;
        frexp(x, &exponent);
        const double unit = ldexp(1, MAX(exponent - 11, -136));
        g_assert_cmpfloat(float_of(out[2]), ==, round(x / unit) * unit);
    }
    g_assert_cmpint((gint32)out[3], ==, (gint32)saturated(nearbyint(x), G_MININT32, G_MAXINT32));
    g_assert_cmpuint(out[4], ==, (guint32)saturated(trunc(x), 0, G_MAXUINT32));
    if (fabsf(x) < 0x1p62f)
        g_assert_cmpuint(out[5], ==, (guint32)((gint64)floor(x) >> 16));
    if (!isnan(x)) {
        g_assert_cmpfloat(float_of(out[6]), ==, nearbyint(x));
        g_assert_cmpint((gint32)out[7], ==,
                        (gint32)saturated(nearbyint(x * 0.5), G_MININT32, G_MAXINT32));
    }
}

static void
test_conversions(void)
{
    if (!can())
        return;
    guint32 n = 1 << 17;
    g_autoptr(Run) run = run_new();
    g_autofree guint32 *in = g_new(guint32, n), *out = g_new(guint32, 8 * n);
    /* All halves; and floats of similar size, including those half-way between halves. */
    for (guint i = 0; i < n; i++) {
        const guint32 exponent = (guint32)g_test_rand_int_range(90, 165) << 23;
        const guint32 bits = (guint32)g_test_rand_int();
        in[i] = i < 1 << 16  ? i | bits << 16
                : i % 4 == 0 ? bits
                : i % 4 == 1 ? exponent | (bits & 0x807fe000) | 0x1000
                             : exponent | (bits & 0x807fffff);
    }
    gpointer there[] = {send(run, out, 8 * n * sizeof *out), send(run, in, n * sizeof *in)};
    gpointer arguments[] = {&there[0], &there[1], &n};
    const CtLaunch wanted = {{n / 256, 1, 1}, {256, 1, 1}, 0};
    launch(run, "conversions", no_defines, &wanted, arguments);
    device_test_copy(out, there[0], 8 * n * sizeof *out);
    for (guint i = 0; i < n; i++)
        check_conversions(in[i], out + 8 * i);
}

static void
test_turns(void)
{
    if (!can())
        return;
    guint32 n = 4000;
    g_autoptr(Run) run = run_new();
    g_autofree float *in = g_new(float, n), *out = g_new(float, 2 * n);
    for (guint i = 0; i < n; i++)
        in[i] = i < 100 ? (float)i / 4 - 10 : (float)g_test_rand_double_range(-1e4, 1e4);
    gpointer there[] = {send(run, out, 2 * n * sizeof *out), send(run, in, n * sizeof *in)};
    gpointer arguments[] = {&there[0], &there[1], &n};
    const CtLaunch wanted = {{(n + 127) / 128, 1, 1}, {128, 1, 1}, 0};
    launch(run, "turns", no_defines, &wanted, arguments);
    device_test_copy(out, there[0], 2 * n * sizeof *out);
    for (guint i = 0; i < n; i++) {
        const double angle = G_PI * remainder(in[i], 2);
        g_assert_cmpfloat_with_epsilon(out[2 * i], sin(angle), 3e-7);
        g_assert_cmpfloat_with_epsilon(out[2 * i + 1], cos(angle), 3e-7);
    }
}

static void
test_declarations(void)
{
    if (!can())
        return;
    enum { N = 64 };
    static const char *const kernels[] = {"declarations", "in_block"};
    for (guint k = 0; k < G_N_ELEMENTS(kernels); k++) {
        g_autoptr(Run) run = run_new();
        float x[N], y[N];
        for (guint t = 0; t < N; t++)
            x[t] = (float)t;
        gpointer there[] = {send(run, y, sizeof y), send(run, x, sizeof x)};
        gpointer arguments[] = {&there[0], &there[1]};
        const CtLaunch wanted = {{1, 1, 1}, {N, 1, 1}, sizeof x};
        launch_of(run, "/cornerturn/tests/declarations.cu", kernels[k], no_defines, &wanted,
                  arguments);
        device_test_copy(y, there[0], sizeof y);
        for (guint t = 0; t < N; t++)
            g_assert_cmpfloat(y[t], ==, k == 0 ? x[t ^ 1] + 21 : x[t]);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/device-language/products-of-bytes", test_products_of_bytes);
    g_test_add_func("/device-language/product-f16", test_product_f16);
    g_test_add_func("/device-language/product-tf32", test_product_tf32);
    g_test_add_func("/device-language/fragments", test_fragments);
    g_test_add_func("/device-language/ahead", test_ahead);
    g_test_add_func("/device-language/small-copies", test_small_copies);
    g_test_add_func("/device-language/warps", test_warps);
    g_test_add_func("/device-language/blocks", test_blocks);
    g_test_add_func("/device-language/atomics", test_atomics);
    g_test_add_func("/device-language/integers", test_integers);
    g_test_add_func("/device-language/conversions", test_conversions);
    g_test_add_func("/device-language/turns", test_turns);
    g_test_add_func("/device-language/declarations", test_declarations);
    return g_test_run();
}
